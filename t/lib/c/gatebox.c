#include "gatebox.h"

#include <dirent.h>
#include <sys/un.h>

#include "base/fd.h"
#include "tap.h"

char            gate_dir[] = "/tmp/boxd-t-gateway-XXXXXX";
char            gate_path[64], gate_jail[64];
pid_t           gate_pid;
int             gate_chan = -1;
struct chan_in  gate_in;
bool            gate_quiet;
static uint64_t gate_gone[1024];
size_t          gate_ngone;
const char     *gate_program;

/* ---- the supervisor's part -------------------------------------------------------- */

static int
listen_at(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", path);
	unlink(path);
	must(fd != -1 && bind(fd, (struct sockaddr *)&a, sizeof(a)) != -1 && listen(fd, 64) != -1, "listen at %s: %s",
	    path, strerror(errno));
	return fd;
}

static void
sup_send(struct packet *p)
{
	struct err e;
	int        r;

	while ((r = chan_send(gate_chan, p, &e)) == 1)
		poll(&(struct pollfd){ .fd = gate_chan, .events = POLLOUT }, 1, -1);
	must(r != -1, "send to the gateway: %s", e.text);
	packet_clear(p);
}

void
sup_notice(enum msg_type t, uint64_t conn, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	must(msg_encode(&p, t, 0, conn, body, &e) != -1, "encode %s: %s", msg_name(t), e.text);
	sup_send(&p);
}

void
sup_reply(enum msg_type t, uint64_t id, uint64_t conn, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	must(msg_encode_reply(&p, t, id, conn, body, &e) != -1, "encode %s: %s", msg_name(t), e.text);
	sup_send(&p);
}

void
sup_fail(uint64_t id, uint64_t conn, enum err_code code, const char *text)
{
	struct packet p = { 0 };
	struct err    why, e;

	err_set(&why, code, "%s", text);
	must(msg_encode_error(&p, id, conn, &why, &e) != -1, "encode an error: %s", e.text);
	sup_send(&p);
}

static void
sup_recv(struct msg *m)
{
	struct err e;
	int        r;

	while ((r = chan_recv(gate_chan, &gate_in, m, FROM_GATEWAY | FROM_CLIENT, &e)) == 1)
		poll(&(struct pollfd){ .fd = gate_chan, .events = POLLIN }, 1, -1);
	must(r != 2, "the gateway is gone");
	must(r != -1, "from the gateway: %s", e.text);
	if (m->type == MSG_CONN_GONE && gate_ngone < sizeof(gate_gone) / sizeof(gate_gone[0]))
		gate_gone[gate_ngone++] = m->conn;
}

void
sup_until(enum msg_type t, struct msg *m)
{
	for (;;) {
		sup_recv(m);
		if (m->type == t)
			return;
		msg_clear(m);
	}
}

bool
is_gone(uint64_t conn)
{
	for (size_t i = 0; i < gate_ngone; i++)
		if (gate_gone[i] == conn)
			return true;
	return false;
}

void
sup_until_gone(uint64_t conn)
{
	struct msg m;

	while (!is_gone(conn)) {
		sup_recv(&m);
		msg_clear(&m);
	}
}

void
spawn(void)
{
	const char *program = gate_program != NULL ? gate_program : getenv("BOX_GATEWAY");
	int         ends[2];
	struct err  e;

	if (program == NULL)
		program = "build/box-gateway";
	must(chan_pair(ends, &e) != -1, "%s", e.text);
	gate_pid = fork();
	if (gate_pid == 0) {
		setenv("BOX_LOG", "error", 0);
		if (gate_quiet && freopen("/dev/null", "w", stderr) == NULL)
			_exit(126);
		dup2(ends[1], 9); /* 3 itself may be one of them, and would stay close-on-exec */
		dup2(9, 3);
		execl(program, "box-gateway", (char *)NULL);
		fprintf(stderr, "# %s: %s\n", program, strerror(errno));
		_exit(127);
	}
	close(ends[1]);
	gate_chan = ends[0];
}

void
start_with(struct msg_gateway_start *s)
{
	AUTO_FD int listener = listen_at(gate_path);

	s->listener = listener;
	s->next_conn = FIRST_CONN;
	spawn();
	sup_notice(MSG_GATEWAY_START, 0, s);
}

void
start(const char *root, uint64_t uid, uint64_t most)
{
	struct msg_gateway_start s;

	msg_defaults(MSG_GATEWAY_START, &s);
	s.max_connections = most;
	s.uid = uid;
	s.chroot = root;
	start_with(&s);
}

int
exit_of_gateway(void)
{
	int status;

	fd_close(&gate_chan);
	if (waitpid(gate_pid, &status, 0) == -1)
		return -1;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

/* ---- a client's part ---------------------------------------------------------------- */

int
dial(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s", gate_path);
	must(fd != -1 && connect(fd, (struct sockaddr *)&a, sizeof(a)) != -1, "connect to %s: %s", gate_path,
	    strerror(errno));
	return fd;
}

struct client
client_open(void)
{
	struct client c = { .fd = dial() };
	struct msg    m;

	sup_until(MSG_CONN_OPEN, &m);
	c.conn = m.conn;
	msg_clear(&m);
	return c;
}

void
client_close(struct client *c)
{
	fd_close(&c->fd);
	buf_clear(&c->in);
	c->used = 0;
	if (c->conn != 0 && gate_chan != -1)
		sup_until_gone(c->conn);
}

void
say(struct client *c, const void *bytes, size_t n)
{
	if (send(c->fd, bytes, n, MSG_NOSIGNAL) != (ssize_t)n)
		diag("conn=%lu send: %s", c->conn, strerror(errno));
}

void
say_buf(struct client *c, struct buf *b)
{
	say(c, b->data, b->len);
	buf_clear(b);
}

bool
client_read(struct client *c)
{
	static char bytes[256 * 1024];
	ssize_t     n = recv(c->fd, bytes, sizeof(bytes), 0);

	if (n <= 0)
		return false;
	buf_append(&c->in, bytes, (size_t)n);
	return true;
}

bool
hear(struct client *c, struct msg *m)
{
	struct mp_scan  s = { 0 };
	struct err      e;
	enum mp_verdict v;

	*m = (struct msg){ 0 };
	buf_drop(&c->in, c->used);
	c->used = 0;
	while ((v = mp_scan(&s, c->in.data, c->in.len, SIZE_MAX)) == MP_MORE)
		if (!client_read(c))
			return false;
	c->used = s.pos;
	must(v == MP_WHOLE && msg_decode(m, c->in.data, s.pos, &(int){ -1 }, 0, FROM_SUPERVISOR, &e) != -1,
	    "a frame from the gateway is broken (%d): %s", v, e.text);
	return true;
}

bool
at_end(struct client *c)
{
	struct msg m;
	bool       more = hear(c, &m);

	msg_clear(&m);
	return !more;
}

void
begin(struct client *c, struct buf *b, msgpack_packer *pk, const char *method)
{
	*b = (struct buf){ 0 };
	mp_writer(pk, b);
	msgpack_pack_array(pk, 4);
	msgpack_pack_int(pk, 0);
	msgpack_pack_uint64(pk, ++c->id);
	mp_cstr(pk, method);
}

void
call(struct client *c, enum msg_type t, const void *body)
{
	struct packet p = { .stream = true };
	struct err    e;

	must(msg_encode(&p, t, ++c->id, 0, body, &e) != -1, "%s", e.text);
	say_buf(c, &p.bytes);
}

void
call_ping(struct client *c)
{
	struct msg_ping none;

	call(c, MSG_PING, &none);
}

void
answer_ping(void)
{
	struct msg_pong pong = { .version = "test", .uptime_ms = 7 };
	struct msg      m;

	sup_until(MSG_PING, &m);
	sup_reply(MSG_PONG, m.id, m.conn, &pong);
	msg_clear(&m);
}

bool
alive(struct client *c)
{
	struct msg m;

	call_ping(c);
	answer_ping();
	bool ok = hear(c, &m) && m.envelope == ENV_REPLY && m.id == c->id && !m.failed;
	msg_clear(&m);
	return ok;
}

const char *
refusal(struct client *c, const char *code)
{
	static char text[ERR_TEXT];
	struct msg  m;

	if (!hear(c, &m))
		snprintf(text, sizeof(text), "the stream ended");
	else if (m.envelope != ENV_REPLY || !m.failed || m.id != c->id)
		snprintf(text, sizeof(text), "no error reply to %lu", c->id);
	else if (strcmp(err_wire_name(m.error.code), code) != 0)
		snprintf(text, sizeof(text), "code %s", err_wire_name(m.error.code));
	else
		snprintf(text, sizeof(text), "%s", m.error.text);
	msg_clear(&m);
	return text;
}

const char *
last_words(struct client *c, const char *code)
{
	static char text[LIM_TEXT];
	struct msg  m;

	if (!hear(c, &m))
		snprintf(text, sizeof(text), "the stream ended without a word");
	else if (m.type != MSG_CLOSING)
		snprintf(text, sizeof(text), "a %s", msg_name(m.type));
	else {
		const struct msg_closing *bye = m.body;
		bool                      right = strcmp(bye->code, code) == 0;
		snprintf(text, sizeof(text), "%s", right ? bye->reason : bye->code);
	}
	msg_clear(&m);
	if (!at_end(c))
		snprintf(text, sizeof(text), "the stream goes on");
	return text;
}

void
closes(const void *bytes, size_t n, const char *regex, const char *name)
{
	struct client c = client_open();

	say(&c, bytes, n);
	like(last_words(&c, "protocol"), regex, "%s", name);
	client_close(&c);
}

/* ---- what /proc says of the gateway -------------------------------------------------- */

const char *
proc_status(const char *key)
{
	static char line[256];
	char        path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", gate_pid);
	FILE *f = fopen(path, "r");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (strncmp(line, key, strlen(key)) != 0 || line[strlen(key)] != ':')
			continue;
		fclose(f);
		line[strcspn(line, "\n")] = '\0';
		return line + strlen(key) + 1 + strspn(line + strlen(key) + 1, "\t ");
	}
	if (f != NULL)
		fclose(f);
	return "";
}

long
proc_kib(const char *key)
{
	return atol(proc_status(key));
}

int
proc_fds(void)
{
	char path[64];
	int  n = 0;

	snprintf(path, sizeof(path), "/proc/%d/fd", gate_pid);
	DIR *d = opendir(path);
	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n - 2;
}

int
proc_fds_settled(int most)
{
	for (int i = 0; i < 60 * 100 && proc_fds() > most; i++)
		poll(NULL, 0, 10);
	return proc_fds();
}

/* ---- the whole ---------------------------------------------------------------------- */

enum { HANG_SEC = 300 }; /* no measure of speed: a test that hangs should end one day */

void
gate_dirs(void)
{
	alarm(HANG_SEC);
	must(mkdtemp(gate_dir) != NULL, "%s: %s", gate_dir, strerror(errno));
	snprintf(gate_path, sizeof(gate_path), "%s/sock", gate_dir);
	snprintf(gate_jail, sizeof(gate_jail), "%s/jail", gate_dir);
	must(mkdir(gate_jail, 0755) != -1, "%s: %s", gate_jail, strerror(errno));
}

void
gate_open(void)
{
	gate_dirs();
	start(gate_jail, GATEWAY_UID, MAX_CONNECTIONS);
}

void
gate_close(void)
{
	chan_in_clear(&gate_in);
	unlink(gate_path);
	rmdir(gate_jail);
	rmdir(gate_dir);
}
