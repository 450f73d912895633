/*
 * The relay against the real daemon, on a WebSocket of the test's whose socket takes bytes as it likes and is cut where it
 * likes, with workers that are killed meanwhile: no line is lost, and only what was not acknowledged comes twice.
 *
 * The test's ws is a native client: the requests are the same.
 */
#include "base/log.h"
#include "boxctl/client.h"
#include "check.h"
#include "tap.h"
#include "workers/gateway/relay/relay.h"

enum { LINES = 300000, LONG_AT = 150000, HEADER = 2, LOW_WATER = 64 * 1024 };

struct waiting {
	struct buf text;
	size_t     left; /* bytes of it, header included, that the socket has not taken */
};

struct ws {
	struct client            client;
	const struct ws_handler *ops;
	void                    *guest;
	struct waiting          *queue; /* owned; a ring of QUEUE */
	size_t                   first, n, queued;
	bool                     finished;
	unsigned                 code;
};

#define QUEUE (1UL << 18)

static struct {
	long     last, doubles, cuts, messages;
	bool     in_order, whole;
	unsigned code; /* of the last close */
	bool     bare; /* nothing came on this connection yet */
} seen = { .in_order = true, .whole = true };

/* ---- ws.h ---- */

void
ws_seat(struct ws *w, const struct ws_handler *ops, void *guest)
{
	w->ops = ops;
	w->guest = guest;
}

void
ws_send_text(struct ws *w, struct buf *text)
{
	must(w->n != QUEUE, "more is queued than a window lets");
	w->queue[(w->first + w->n++) % QUEUE] = (struct waiting){ *text, text->len + HEADER };
	w->queued += text->len + HEADER;
	*text = (struct buf){ 0 };
}

size_t
ws_queued(const struct ws *w)
{
	return w->queued;
}

void
ws_hold(struct ws *w)
{
}

void
ws_release(struct ws *w)
{
}

void
ws_finish(struct ws *w, unsigned code, const char *reason)
{
	w->finished = true;
	w->code = code;
}

int
ws_ask(struct ws *w, enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	if (id != 0 && id != w->client.next_id)
		return err_set(e, E_PROTO, "ids grow by one");
	return client_send(&w->client, t, body, NULL, e);
}

uint64_t
ws_conn(const struct ws *w)
{
	return 1;
}

/* ---- the client behind it ---- */

/* Only the first message after a cut may be one we had. */
static void
on_line(const struct buf *text)
{
	char *end;
	long  n;

	buf_append((struct buf *)text, "", 1);
	n = strtol(text->data, &end, 10);
	seen.whole = seen.whole && *end == '\0' && n > 0;
	if (seen.bare && n <= seen.last) {
		seen.doubles += seen.last - n + 1;
		seen.last = n - 1;
	}
	seen.bare = false;
	seen.in_order = seen.in_order && n == seen.last + 1;
	seen.last = n;
	seen.messages++;
}

static void
take(struct ws *w, size_t n)
{
	while (n > 0 && w->n > 0) {
		struct waiting *first = &w->queue[w->first];
		size_t          part = n < first->left ? n : first->left;

		first->left -= part;
		w->queued -= part;
		n -= part;
		if (first->left > 0)
			break;
		on_line(&first->text);
		buf_clear(&first->text);
		w->first = (w->first + 1) % QUEUE;
		w->n--;
	}
	if (w->queued <= LOW_WATER && !w->finished)
		w->ops->on_drained(w->guest);
}

/* What is queued is lost with the connection. */
static void
cut(struct ws *w)
{
	w->ops->on_gone(w->guest);
	client_close(&w->client);
	for (size_t i = 0; i < w->n; i++)
		buf_clear(&w->queue[(w->first + i) % QUEUE].text);
	seen.cuts++;
	seen.bare = true;
}

static bool
hear(struct ws *w, int ms)
{
	struct pollfd p = { .fd = w->client.fd, .events = POLLIN };
	struct msg    m;
	struct err    e;
	int           r;

	if (poll(&p, 1, ms) <= 0)
		return true;
	if (client_fill(&w->client, &e) == -1)
		return false;
	while (!w->finished && (r = client_take(&w->client, &m, &e)) == 0) {
		w->ops->on_msg(w->guest, &m);
		msg_clear(&m);
	}
	return true;
}

/* One connection, for so many steps. */
static void
connect_for(const char *socket, struct waiting *queue, long steps)
{
	const struct relay_plan plan = { "s", "lines", true, MIB };
	struct ws               w = { .queue = queue };
	struct err              e;

	must(client_open(&w.client, socket, &e) != -1 && relay_open(&w, &plan, &e) != -1, "%s", e.text);
	for (; steps > 0 && seen.last < LINES && hear(&w, 20); steps--) {
		take(&w, rnd() % (rnd() % 4 == 0 ? 40000 : 3000));
		if (w.finished && w.n == 0)
			break;
	}
	if (w.finished)
		seen.code = w.code;
	cut(&w);
}

/* ---- the house ---- */

static char  dir[64], socket_path[128];
static pid_t boxd;

static int
sh(const char *format, ...)
{
	struct buf command = { 0 };
	char       text[1024];
	va_list    ap;

	va_start(ap, format);
	vsnprintf(text, sizeof(text), format, ap);
	va_end(ap);
	buf_printf(&command, "box() { %s/boxctl --socket %s \"$@\"; }; %s", getenv("BUILD"), socket_path, text);
	buf_append(&command, "", 1);
	int r = system(command.data);
	buf_clear(&command);
	return r;
}

static void
start(void)
{
	const char *build = getenv("BUILD");
	char        program[512];

	snprintf(dir, sizeof(dir), "/tmp/boxd-relay.XXXXXX");
	must(build != NULL && mkdtemp(dir) != NULL, "no BUILD, or no directory");
	snprintf(socket_path, sizeof(socket_path), "%s/run/boxd.sock", dir);
	snprintf(program, sizeof(program), "%s/boxd", build);
	must(sh("chmod 755 %s; echo 'worker_restarts = 200' >%s/conf; echo 'uid_base = %ld' >>%s/conf", dir, dir,
		 524288L + (150 + getpid() % 50) * 128 * 65536, dir) == 0,
	    "no configuration");
	boxd = fork();
	if (boxd == 0) {
		char state[128], run[128], conf[128], log[128];

		snprintf(state, sizeof(state), "%s/state", dir);
		snprintf(run, sizeof(run), "%s/run", dir);
		snprintf(conf, sizeof(conf), "%s/conf", dir);
		snprintf(log, sizeof(log), "%s/log", dir);
		if (freopen(log, "w", stderr) == NULL || freopen("/dev/null", "w", stdout) == NULL)
			_exit(1);
		execl(program, "boxd", "--state-dir", state, "--runtime-dir", run, "-c", conf, (char *)NULL);
		_exit(127);
	}
}

static void
begin(void)
{
	must(sh("for i in $(seq 600); do box ping >/dev/null 2>&1 && break; sleep 0.1; done; "
		"box create --name s --memory 256 >/dev/null") == 0,
	    "no session");
	must(sh("box process start s lines --ring 4194304 -- sh -c 'seq 1 %d; head -c 1500000 /dev/zero | "
		"tr \"\\0\" x; echo; seq %d %d; sleep 98765' >/dev/null",
		 LONG_AT, LONG_AT + 1, LINES) == 0,
	    "no process");
}

/* Between two lives its pid is 0. */
static void
kill_worker(void)
{
	(void)sh("pid=$(box inspect s -o json | sed -n 's/.*\"worker_pid\": \\([0-9]*\\).*/\\1/p'); "
		 "[ \"${pid:-0}\" -le 1 ] || kill -9 $pid");
}

/* Also when the test gives up. */
static void
stop(void)
{
	if (boxd > 0)
		kill(boxd, SIGTERM);
}

int
main(void)
{
	struct waiting *queue = calloc(QUEUE, sizeof(*queue));
	bool            long_line = false;

	log_init("relay", LOG_ERROR);
	start();
	atexit(stop);
	begin();
	seen.bare = true;
	for (int i = 0; seen.last < LINES && i < 5000; i++) {
		connect_for(socket_path, queue, (long)(rnd() % 20) + 1);
		if (seen.code == WS_TOO_BIG)
			long_line = true;
		if (i % 20 == 10)
			kill_worker();
	}
	cmp_ok(seen.last, "==", LINES, "the last line has come, over %ld connections", seen.cuts);
	ok(seen.in_order, "every line before it too, in order");
	ok(seen.whole, "no message was half a line, or two");
	ok(long_line, "one line was too long, and the relay was closed for it with 1009");
	cmp_ok(seen.cuts, ">", 10, "the connection was cut many times");
	cmp_ok(seen.doubles, "<", seen.cuts * 2000, "and what came twice was little (%ld of %ld)", seen.doubles,
	    seen.messages);
	stop();
	int status;
	waitpid(boxd, &status, 0);
	boxd = 0;
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "boxd stops");
	ok(sh("! grep -aE 'AddressSanitizer|LeakSanitizer|runtime error:|Assertion' %s/log", dir) == 0,
	    "with nothing to say");
	(void)sh("rm -rf %s", dir);
	free(queue);
	done_testing();
}
