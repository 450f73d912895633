/* A relay on a WebSocket of the test's: what it asks, sends, acknowledges and says at its end. */
#include "base/log.h"
#include "relayws.h"
#include "tap.h"

static struct ws w;

static void
begin(bool lines, uint64_t line_bytes)
{
	struct err e;

	must(relayws_open(&w, lines, line_bytes, &e) != -1, "relay_open: %s", e.text);
}

static const char *
text(size_t i)
{
	if (i >= w.n)
		return NULL;
	buf_append(&w.texts[i], "", 1);
	w.texts[i].len--;
	return w.texts[i].data;
}

static void
out(uint64_t offset, const char *bytes)
{
	relayws_output(&w, offset, bytes, strlen(bytes));
}

/* ---- how it begins ---- */

TEST(attach)
{
	begin(true, MIB);
	ok(w.attaches == 1 && w.attach.go_on && w.attach.again == 1, "lines: goes on, with the byte before");
	cmp_ok(w.attach.window, ">", MIB, "lines: a line of the limit fits the window");
	relayws_close(&w);
	begin(true, 1UL << 40);
	cmp_ok(w.attach.window, "<=", LIM_WINDOW, "lines: however large the limit");
	relayws_close(&w);
	begin(false, MIB);
	ok(w.attaches == 1 && w.attach.go_on && w.attach.again == 0, "pieces: goes on");
	relayws_close(&w);

	struct err e = { 0 };
	w.broken = true;
	cmp_ok(relayws_open(&w, true, MIB, &e), "==", -1, "without a supervisor there is no relay");
	is(e.text, "the channel is full", "and it says why");
	ok(w.ops == NULL, "nor a guest");
	relayws_close(&w);
}

/* ---- acknowledgements ---- */

TEST(acks)
{
	begin(true, MIB);
	out(0, "one\ntwo\nthr");
	ok(w.n == 2 && strcmp(text(0), "one") == 0 && strcmp(text(1), "two") == 0, "two lines are two messages");
	ok(w.acks == 1 && w.acked == 8, "acknowledged together, without the half line behind them");
	out(11, "ee\n\n\n");
	is(text(2), "three", "the third when it is whole");
	cmp_ok(w.acked, "==", 16, "and with it the empty lines behind it");
	out(16, "\n\n");
	ok(w.n == 3 && w.acked == 18, "empty lines alone are acknowledged too");

	w.full = true;
	out(18, "four\n");
	cmp_ok(w.acked, "==", 18, "a message the socket did not take is not acknowledged");
	out(23, "five\n");
	cmp_ok(w.acked, "==", 18, "nor one behind it");
	relayws_take(&w, 5);
	cmp_ok(w.acked, "==", 18, "all but its last byte changes nothing");
	relayws_take(&w, 1);
	cmp_ok(w.acked, "==", 23, "with that it is");
	relayws_take(&w, 3);
	out(28, "x");
	cmp_ok(w.acked, "==", 23, "half of the second changes nothing");
	relayws_take(&w, 0);
	cmp_ok(w.acked, "==", 28, "all taken, all whole ones acknowledged");
	relayws_close(&w);
}

TEST(offsets)
{
	begin(true, MIB);
	out(0, "one\ntw");
	out(2, "e\ntwo\nth");
	out(2, "e\n");
	out(10, "ree\n");
	ok(w.n == 3 && strcmp(text(1), "two") == 0 && strcmp(text(2), "three") == 0, "what is sent twice counts once");
	cmp_ok(w.acked, "==", 14, "by its offsets");
	out(100, "x\nfour\n");
	ok(w.finished && w.code == WS_INTERNAL && w.n == 3, "a hole is an error of ours");
	relayws_close(&w);

	begin(true, MIB);
	out(UINT64_MAX - 20, "\nlonger than what is left of all offsets");
	ok(w.n == 0 && w.acks == 0, "output at the end of all offsets is not taken");
	relayws_close(&w);
}

/* Little is handed to a socket that does not take it; what is not is there for whoever comes next. */
TEST(look_ahead)
{
	char   line[1000];
	size_t at = 0;

	memset(line, 'z', sizeof(line));
	line[999] = '\n';
	begin(true, MIB);
	w.full = true;
	for (int i = 0; i < 500; i++, at += sizeof(line))
		relayws_output(&w, at, line, sizeof(line));
	cmp_ok(w.queued_top, "<", 64 * 1024, "of 500 kB a socket that takes nothing is given little");
	cmp_ok(w.acked, "==", 0, "and nothing is acknowledged");
	while (w.queued > 0)
		relayws_take(&w, 700);
	ok(w.n == 500 && w.acked == at, "as it takes it, all of it goes");
	cmp_ok(w.queued_top, "<", 64 * 1024, "never much at a time");
	relayws_close(&w);

	begin(true, MIB);
	w.full = true;
	for (int i = 0; i < 500; i++)
		relayws_output(&w, (size_t)i * sizeof(line), line, sizeof(line));
	relayws_ended(&w, 0);
	ok(w.n == 500 && w.finished, "a process that ends: all is handed over before the close");
	relayws_close(&w);

	begin(true, MIB);
	w.full = true;
	for (int i = 0; i < 500; i++)
		relayws_output(&w, (size_t)i * sizeof(line), line, sizeof(line));
	relayws_fail(&w, 1, E_STATE, "somebody else attached to process mcp");
	ok(w.n < 100 && w.finished, "a take-over: it is left to the other");
	relayws_close(&w);
}

TEST(ack_marks)
{
	char line[32];

	begin(true, MIB);
	w.full = true;
	uint64_t at = 0, previous = 0;
	for (int i = 0; i < 2000; i++) {
		int n = snprintf(line, sizeof(line), "line %06d\n", i);

		relayws_output(&w, at, line, (size_t)n);
		at += (size_t)n;
	}
	ok(w.acks == 0, "2000 messages wait");
	bool right = true;
	while (w.queued > 0) {
		relayws_take(&w, 100);
		uint64_t left = (w.n * 13 - w.queued) / 13; /* messages, each a frame of 13 bytes for a line of 12 */
		right = right && w.acked >= previous && w.acked <= left * 12;
		previous = w.acked;
	}
	ok(right, "never more is acknowledged than has left, however many wait");
	cmp_ok(w.acked, "==", 2000 * 12, "and in the end all");
	relayws_close(&w);
}

TEST(batches)
{
	struct buf bytes = { 0 };

	begin(true, MIB);
	for (int i = 0; i < 50000; i++)
		buf_printf(&bytes, "{\"jsonrpc\":\"2.0\",\"id\":%d}\n", i);
	size_t notices = 0;
	for (size_t at = 0; at < bytes.len; notices++) {
		size_t n = bytes.len - at < LIM_BLOB_INLINE ? bytes.len - at : LIM_BLOB_INLINE;

		relayws_output(&w, at, bytes.data + at, n);
		at += n;
	}
	cmp_ok(w.n, "==", 50000, "50000 lines are 50000 messages");
	is(text(49999), "{\"jsonrpc\":\"2.0\",\"id\":49999}", "in their order");
	cmp_ok(w.acks, "<=", notices, "with one acknowledgement for what came together");
	cmp_ok(w.acked, "==", bytes.len, "and all are acknowledged");
	buf_clear(&bytes);
	relayws_close(&w);
}

/* A large piece comes in a descriptor. */
TEST(large)
{
	char *bytes = malloc(MIB + 1);

	memset(bytes, 'x', MIB);
	bytes[MIB] = '\n';
	begin(true, MIB);
	relayws_output(&w, 0, bytes, MIB + 1);
	ok(w.n == 1 && w.texts[0].len == MIB, "a line of 1 MiB is one message");
	relayws_close(&w);
	begin(false, MIB);
	relayws_output(&w, 0, bytes, MIB + 1);
	size_t sum = 0;
	for (size_t i = 0; i < w.n; i++)
		sum += w.texts[i].len;
	cmp_ok(sum, "==", MIB + 1, "in pieces nothing of it is lost");
	cmp_ok(w.acked, "==", MIB + 1, "and all acknowledged");
	relayws_close(&w);
	free(bytes);
}

/* ---- long lines ---- */

TEST(too_long)
{
	char long_line[2000];

	memset(long_line, 'x', sizeof(long_line));
	begin(true, 1024);
	out(0, "one\n");
	w.full = true;
	out(4, "two\n");
	relayws_output(&w, 8, long_line, sizeof(long_line));
	ok(!w.finished && w.acked == 4, "a long line waits until all before it is taken");
	relayws_take(&w, 0);
	ok(w.finished && w.code == WS_TOO_BIG, "then it is a close of 1009");
	like(w.reason, "longer than 1024 bytes", "which names the limit");
	ok(w.n == 2, "and no message");
	cmp_ok(w.acked, "==", 8 + sizeof(long_line),
	    "what came of it is acknowledged, or it would be in the way for ever");
	out(2008, "rest\nthree\n");
	cmp_ok(w.acked, "==", 2008, "nothing behind it is");
	relayws_close(&w);

	begin(true, 1024);
	out(2007, "xrest\nthree\n");
	ok(w.n == 1 && strcmp(text(0), "three") == 0, "the next relay goes on behind it");
	cmp_ok(w.acked, "==", 2019, "and acknowledges that");
	relayws_close(&w);

	begin(true, 1024);
	long_line[1998] = '\n';
	relayws_output(&w, 0, long_line, 1999);
	ok(w.finished && w.acked == 1999, "with its newline it is acknowledged as a whole");
	relayws_close(&w);
}

/* ---- ends ---- */

TEST(ends)
{
	static const struct {
		enum err_code code;
		const char   *text;
		unsigned      close;
		const char   *reason;
	} rows[] = {
		{ E_STATE, "somebody else attached to process mcp", WS_NORMAL,
		    "somebody else attached to process mcp" },
		{ E_STATE, "session ws-1-s is closed: deleted", WS_NORMAL, "session ws-1-s is closed: deleted" },
		{ E_NOTFOUND, "no session", WS_NORMAL, "no session" },
		{ E_NOTRUNNING, "has ended", WS_NORMAL, "has ended" },
		{ E_SHUTDOWN, "boxd is shutting down", WS_GOING_AWAY, "Box runtime shutting down" },
		{ E_DENIED, "no", WS_POLICY, "no" },
		{ E_CRASH, "died", WS_INTERNAL, "died" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		begin(true, MIB);
		out(0, "one\ntw");
		relayws_fail(&w, 1, rows[i].code, rows[i].text);
		ok(w.finished && w.code == rows[i].close, "%s: close %u", rows[i].text, rows[i].close);
		is(w.reason, rows[i].reason, "with its reason");
		cmp_ok(w.n, "==", 1, "and half a line is left for the next");
		relayws_close(&w);
	}

	begin(true, MIB);
	char long_text[400];
	memset(long_text, 'a', sizeof(long_text));
	memcpy(long_text + 121, "\xe2\x82\xac", 3);
	long_text[399] = '\0';
	relayws_fail(&w, 1, E_STATE, long_text);
	cmp_ok(strlen(w.reason), "==", 121, "a reason fits its frame and ends with a whole character");
	relayws_close(&w);
}

TEST(exit)
{
	begin(true, MIB);
	out(0, "one\nlast words");
	relayws_ended(&w, 3);
	is(text(1), "last words", "a process that ends: its last line comes without a newline");
	ok(w.finished && w.code == WS_NORMAL, "then close 1000");
	is(w.reason, "the process has ended: exit code 3", "with how it ended");
	relayws_text(&w, "too late");
	out(14, "more\n");
	ok(w.writes == 0 && w.n == 2, "behind that nothing goes either way");
	relayws_close(&w);

	begin(false, MIB);
	out(0, "ab\xf0\x9f");
	relayws_ended(&w, -1);
	ok(w.n == 2 && strcmp(text(1), "\xef\xbf\xbd") == 0, "pieces: half a character at the end is told as such");
	relayws_close(&w);

	begin(true, MIB);
	w.full = true;
	out(0, "one\ntwo\n");
	relayws_ended(&w, 0);
	ok(w.finished && w.n == 2, "what a slow client has not taken is before the close");
	relayws_close(&w);

	begin(true, MIB);
	relayws_ended(&w, 0);
	ok(w.finished && w.code == WS_NORMAL && w.n == 0, "one that ended without a word");
	relayws_close(&w);
}

/* ---- input ---- */

TEST(input)
{
	begin(true, MIB);
	relayws_text(&w, "one");
	relayws_text(&w, "two");
	w.ops->on_binary(w.guest);
	relayws_text(&w, "");
	cmp_ok(w.writes, "==", 1, "one write is on its way");
	relayws_written(&w);
	cmp_ok(w.writes, "==", 2, "the next takes all that came meanwhile");
	relayws_written(&w);
	cmp_ok(w.writes, "==", 2, "then there is none");
	ok(w.written.len == 9 && memcmp(w.written.data, "one\ntwo\n\n", 9) == 0,
	    "each message with a newline, in order; what is not text is not there");

	char *large = malloc(3 * MIB + 1);
	memset(large, 'y', 3 * MIB);
	large[3 * MIB] = '\0';
	relayws_text(&w, large);
	ok(w.held, "a client that sends more than is taken is not read");
	relayws_text(&w, "behind");
	while (w.write != 0)
		relayws_written(&w);
	ok(!w.held, "and read again when it is");
	cmp_ok(w.written.len, "==", 9 + 3 * MIB + 1 + 7, "a long message arrives whole");
	ok(memcmp(w.written.data + w.written.len - 9, "y\nbehind\n", 9) == 0, "with what came behind it");
	cmp_ok(w.most_written, "<=", LIM_WRITE, "in writes that are allowed");
	free(large);
	relayws_close(&w);
}

TEST(input_fails)
{
	begin(true, MIB);
	relayws_text(&w, "one");
	relayws_text(&w, "two");
	uint64_t id = w.write;
	w.write = 0;
	relayws_fail(&w, id, E_NOTRUNNING, "process mcp has ended");
	relayws_text(&w, "three");
	ok(!w.finished && w.writes == 1,
	    "a process that has ended is not written to, and the relay waits for its last output");
	out(0, "last\n");
	relayws_ended(&w, 0);
	ok(w.n == 1 && w.finished && w.code == WS_NORMAL, "which comes before the close");
	relayws_close(&w);

	begin(true, MIB);
	relayws_text(&w, "one");
	relayws_fail(&w, w.write, E_STATE, "process mcp: it has closed its standard input");
	ok(w.finished && w.code == WS_NORMAL, "one that closed its input");
	is(w.reason, "process mcp: it has closed its standard input", "is told as such");
	relayws_close(&w);

	begin(true, MIB);
	relayws_text(&w, "one");
	relayws_fail(&w, w.write, E_CRASH, "the session's worker died under the request");
	ok(w.finished && w.code == WS_INTERNAL, "input that may be lost is an error of ours");
	relayws_close(&w);

	begin(true, MIB);
	w.broken = true;
	relayws_text(&w, "one");
	ok(w.finished && w.code == WS_INTERNAL, "so is a supervisor that cannot be asked");
	relayws_close(&w);
}

int
main(void)
{
	log_init("relay", LOG_ERROR);
	run_tests();
	done_testing();
}
