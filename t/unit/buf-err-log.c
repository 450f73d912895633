/*
 * The floor: buffers grow and remember a failure, errors say what and where,
 * the log escapes what strangers wrote and never waits for its reader.
 */
#include "base/buf.h"
#include "base/err.h"
#include "base/fd.h"
#include "base/log.h"
#include "tap.h"

/* Memory that cannot be had is what we test: AddressSanitizer is to say no, not to stop. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

/* ---- buf ---- */

TEST(buf_grows)
{
	struct buf b = { 0 };
	bool       same = true;

	buf_append(&b, NULL, 0);
	ok(b.data == NULL && b.len == 0 && !b.failed, "nothing appended is nothing");
	for (int i = 0; i < 100000; i++)
		buf_append(&b, &(char){ (char)i }, 1);
	for (int i = 0; i < 100000; i++)
		same &= b.data[i] == (char)i;
	ok(same && b.len == 100000 && b.cap >= b.len && !b.failed, "a buffer grows a byte at a time");
	buf_drop(&b, 99998);
	ok(b.len == 2 && b.data[0] == (char)99998 && b.data[1] == (char)99999, "dropping keeps the rest");
	buf_drop(&b, 3);
	cmp_ok(b.len, "==", 0, "dropping more than there is leaves nothing");
	buf_append(&b, "again", 5);
	cmp_mem(b.data, "again", 5, "and it can be filled again");
	buf_clear(&b);
	ok(b.data == NULL && b.len == 0 && b.cap == 0, "cleared");
	buf_append(&b, "x", 1);
	ok(b.len == 1 && b.data[0] == 'x', "and usable after it");
	buf_clear(&b);
	ok(buf_reserve(&b, 5000) == 0 && b.cap >= 5000 && b.len == 0, "room can be had beforehand");
	memset(b.data, 0, 5000);
	buf_clear(&b);
}

TEST(buf_prints)
{
	struct buf b = { 0 };
	char       want[2001];

	memset(want, 'y', 2000);
	want[2000] = '\0';
	buf_printf(&b, "%s", "");
	cmp_ok(b.len, "==", 0, "printing nothing");
	buf_printf(&b, "%d-%s", 42, want);
	cmp_ok(b.len, "==", 2003, "printing much");
	cmp_mem(b.data, "42-yyy", 6, "begins right");
	cmp_mem(b.data + 3, want, 2000, "ends right");
	buf_clear(&b);
}

static void
buf_fails(size_t n, const char *what)
{
	struct buf b = { 0 };

	buf_append(&b, "kept", 4);
	cmp_ok(buf_reserve(&b, n), "==", -1, "%s cannot be had", what);
	ok(b.failed, "the buffer remembers");
	buf_append(&b, "x", 1);
	buf_printf(&b, "%d", 5);
	cmp_ok(buf_reserve(&b, 1), "==", -1, "later requests fail too, even small ones");
	ok(b.len == 4 && memcmp(b.data, "kept", 4) == 0, "what was there is untouched");
	buf_clear(&b);
	ok(!b.failed, "clearing forgets");
}

/* ---- err ---- */

TEST(buf_fails)
{
	buf_fails(SIZE_MAX / 8, "more than any machine has");
	buf_fails(SIZE_MAX / 2, "half of all");
	buf_fails(SIZE_MAX - 2, "all");
}

TEST(errors_say)
{
	struct err e;

	cmp_ok(err_set(&e, E_CONFLICT, "no %s", "way"), "==", -1, "setting an error is failing");
	cmp_ok(e.code, "==", E_CONFLICT, "it has its code");
	is(e.text, "no way", "and its text");
	cmp_ok(err_prefix(&e, "in %d", 7), "==", -1, "so is prefixing");
	is(e.text, "in 7: no way", "context stands before");
	cmp_ok(e.code, "==", E_CONFLICT, "the code stays");
	errno = ENOENT;
	cmp_ok(err_sys(&e, "open %s", "x"), "==", -1, "a system error");
	is(e.text, "open x: No such file or directory", "says what the kernel said");
	ok(e.code == E_SYS && errno == ENOENT, "with its code, and errno kept");
}

TEST(errors_end)
{
	struct err e;
	char       longest[2 * ERR_TEXT];

	memset(longest, 'z', sizeof(longest) - 1);
	longest[sizeof(longest) - 1] = '\0';
	err_set(&e, E_SYS, "%s", longest);
	cmp_ok(strlen(e.text), "==", ERR_TEXT - 1, "a text that is too long ends");
	like(e.text, "z\\.\\.\\.$", "visibly");
	err_prefix(&e, "ctx");
	like(e.text, "^ctx: z+\\.\\.\\.$", "context before it cuts it visibly");
	err_prefix(&e, "%s", longest);
	like(e.text, "^z+\\.\\.\\.$", "a long context too");
	errno = EPERM;
	err_sys(&e, "%s", longest);
	like(e.text, "^z+\\.\\.\\.$", "a long system error too");
	err_set(&e, E_SYS, "%.*s", ERR_TEXT - 1, longest);
	ok(strlen(e.text) == ERR_TEXT - 1 && strchr(e.text, '.') == NULL, "a text that just fits is left whole");
	err_set(&e, E_SYS, "%.*s", ERR_TEXT, longest);
	like(e.text, "z\\.\\.\\.$", "one character more is not");
}

TEST(error_names)
{
	for (enum err_code c = 0; c < E__COUNT; c++) {
		const char *name = err_wire_name(c);

		ok(name != NULL && err_from_wire(name, strlen(name)) == c, "code %d is '%s' both ways", c, name);
	}
	cmp_ok(err_from_wire("bus", 3), "==", E__COUNT, "a part of a name is none");
	cmp_ok(err_from_wire("busyness", 8), "==", E__COUNT, "nor is more");
	cmp_ok(err_from_wire("", 0), "==", E__COUNT, "nor is nothing");
	cmp_ok(err_from_wire("busyXX", 4), "==", E_BUSY, "the length counts, not a NUL");
	is(err_wire_name(E__COUNT), "unknown", "no code has no name");
}

/* ---- log ---- */

TEST(escapes)
{
	char        all[256], plain[300];
	const char *s;

	is(log_escape("plain text", 10), "plain text", "plain text stays");
	is(log_escape("", 0), "", "nothing stays nothing");
	is(log_escape("a\nb\r\x1b[2J\0z", 10), "a\\x0ab\\x0d\\x1b[2J\\x00z", "control bytes and NUL are written out");
	is(log_escape("\\\"\x7f\x80\xff", 5), "\\x5c\\x22\\x7f\\x80\\xff", "so are quotes, backslash and high bytes");
	for (int i = 0; i < 256; i++)
		all[i] = (char)i;
	bool printable = true;
	for (int i = 0; i < 256; i++)
		for (s = log_escape(&all[i], 1); *s != '\0'; s++)
			printable &= *s >= ' ' && *s < 0x7f;
	ok(printable, "every byte alone becomes printable");
	s = log_escape(all, sizeof(all));
	ok(strlen(s) < 256 && strcmp(s + strlen(s) - 3, "...") == 0, "long ones are cut, visibly");
	memset(plain, 'p', sizeof(plain));
	s = log_escape(plain, sizeof(plain));
	like(s, "^p{200,252}\\.\\.\\.$", "plain ones too");
	const char *first = log_escape("one", 3);
	log_escape("two", 3), log_escape("three", 5), log_escape("four", 4);
	is(first, "one", "a result lives through three more calls");
}

/*
 * stderr is a pipe of ours for a while.  Nothing may be reported meanwhile: the
 * diagnostics would go there too.
 */
static int saved = -1, pipe_in = -1;

static void
capture(void)
{
	int ends[2];

	must(pipe2(ends, O_CLOEXEC) != -1 && fcntl(ends[1], F_SETPIPE_SZ, 16384) != -1, "pipe");
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	saved = dup(STDERR_FILENO);
	dup2(ends[1], STDERR_FILENO);
	close(ends[1]);
	pipe_in = ends[0];
}

/* What stands in the pipe. */
static size_t
drain(char *out, size_t room)
{
	size_t  n = 0;
	ssize_t r;

	while (n < room - 1 && (r = read(pipe_in, out + n, room - 1 - n)) > 0)
		n += (size_t)r;
	out[n] = '\0';
	return n;
}

static void
release(void)
{
	dup2(saved, STDERR_FILENO);
	fd_close(&saved);
	fd_close(&pipe_in);
}

TEST(log_lines)
{
	char out[8192];

	log_init("tester", LOG_INFO);
	capture();
	errno = EBADF;
	log_info("session=%d gone", 41);
	int kept = errno;
	log_debug("not said");
	drain(out, sizeof(out));
	release();
	like(out, "^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\\.[0-9]{3}Z tester info: session=41 gone\n$",
	    "one line, stamped");
	unlike(out, "not said", "below the threshold nothing is said");
	cmp_ok(kept, "==", EBADF, "errno is kept");
	cmp_ok(log_threshold(), "==", LOG_INFO, "the threshold can be asked for");

	capture();
	setenv("JOURNAL_STREAM", "1:1", 1);
	log_error("x");
	unsetenv("JOURNAL_STREAM");
	drain(out, sizeof(out));
	release();
	is(out, "<3>tester: x\n", "the journal gets the level and stamps itself");
	is(log_level_name(LOG_WARN), "warn", "levels have names");
	is(log_level_name(LOG__COUNT), "?", "no level has none");
}

TEST(log_long_line)
{
	char out[8192], text[4000];

	memset(text, 'l', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	capture();
	log_info("%s", text);
	size_t n = drain(out, sizeof(out));
	release();
	ok(n > 1000 && n <= 2048 && strchr(out, '\n') == out + n - 1, "a long line is still one line");
	ok(n > 4 && strcmp(out + n - 4, "...\n") == 0, "visibly cut");
}

TEST(log_full_pipe)
{
	char out[32768], after[8192];
	int  lines = 0;

	capture();
	alarm(30); /* a log that blocks would stand here for ever */
	for (int i = 0; i < 500; i++)
		log_info("line %04d of many that nobody reads, and long enough to fill a pipe of 16 KiB soon", i);
	drain(out, sizeof(out));
	log_info("after");
	log_info("later");
	drain(after, sizeof(after));
	alarm(0);
	release();
	for (char *p = out; (p = strchr(p, '\n')) != NULL; p++)
		lines++;
	pass("a full pipe does not stop the log");
	ok(lines > 0 && lines < 500 && strstr(out, "line 0000") != NULL, "%d of 500 lines went in", lines);
	const char *told = strstr(after, "log_lines_dropped=");
	cmp_ok(told ? atoi(told + strlen("log_lines_dropped=")) : -1, "==", 500 - lines,
	    "the next line tells how many did not");
	ok(told != NULL && strstr(told + 18, "dropped=") == NULL, "once");
	like(after, "after\n.*later\n$", "and is there itself");
}

/* In a child: what is tested is that it lives. */
TEST(log_without_reader)
{
	int   status;
	pid_t pid = fork();

	if (pid == 0) {
		signal(SIGPIPE, SIG_DFL);
		capture();
		fd_close(&pipe_in);
		log_info("to nobody");
		close(STDERR_FILENO);
		log_info("to nothing");
		_exit(0);
	}
	waitpid(pid, &status, 0);
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a log without a reader, or without stderr, harms nobody");
}

int
main(void)
{
	unsetenv("JOURNAL_STREAM");
	run_tests();
	done_testing();
}
