#include "authbox.h"

#include <regex.h>
#include <sys/un.h>

#include "base/fd.h"
#include "tap.h"

enum { LINK_FD = 3, HANG_SEC = 300 /* no measure of speed: a test that hangs should end one day */ };

char            authbox_dir[] = "/tmp/boxd-t-auth-XXXXXX";
int             authbox_http = -1, authbox_control = -1, authbox_chan = -1;
uint64_t        authbox_next;
static pid_t    boxd;
static int      passing = -1; /* the place where gateways hand over their channel */
static int      passer = -1;  /* the present one: lives until we close it */
static uint64_t next_request = 1;

static struct chan_in in;

static const char *
in_dir(const char *name)
{
	static char path[4][128];
	static int  i;

	i = (i + 1) % 4;
	snprintf(path[i], sizeof(path[i]), "%s/%s", authbox_dir, name);
	return path[i];
}

static struct sockaddr_un
unix_address(const char *path)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	snprintf(a.sun_path, sizeof(a.sun_path), "%.100s", path);
	return a;
}

/* ---- as box-gateway ---- */

static void
hand_over(int to)
{
	char             control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec     byte = { "", 1 };
	struct msghdr    h = { .msg_iov = &byte, .msg_iovlen = 1, .msg_control = control };
	static const int fd = LINK_FD;

	h.msg_controllen = sizeof(control);
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(fd));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(to, &h, 0) != 1)
		_exit(1);
	close(LINK_FD);
}

void
authbox_main(char **argv)
{
	char  path[256];
	char *slash = strrchr(argv[0], '/');
	char  byte;

	if (slash == NULL || strcmp(slash, "/box-gateway") != 0)
		return;
	snprintf(path, sizeof(path), "%.*s/../pass.sock", (int)(slash - argv[0]), argv[0]);
	struct sockaddr_un a = unix_address(path);
	int                s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (s == -1 || connect(s, (struct sockaddr *)&a, sizeof(a)) == -1)
		_exit(1);
	hand_over(s);
	while (read(s, &byte, 1) == -1 && errno == EINTR)
		;
	_exit(0);
}

/* ---- the channel ---- */

static void
send_packet(struct packet *p)
{
	struct err e;
	int        r;

	while ((r = chan_send(authbox_chan, p, &e)) == 1)
		poll(&(struct pollfd){ .fd = authbox_chan, .events = POLLOUT }, 1, -1);
	must(r != -1, "send to boxd: %s", e.text);
	packet_clear(p);
}

static void
say(enum msg_type t, uint64_t id, uint64_t conn, const void *body)
{
	struct packet p = { 0 };
	struct err    e;

	must(msg_encode(&p, t, id, conn, body, &e) != -1, "%s: %s", msg_name(t), e.text);
	send_packet(&p);
}

void
hear(struct msg *m)
{
	struct err e;
	int        r;

	while ((r = chan_recv(authbox_chan, &in, m, FROM_SUPERVISOR, &e)) == 1)
		poll(&(struct pollfd){ .fd = authbox_chan, .events = POLLIN }, 1, -1);
	must(r == 0, "from boxd: %s", r == 2 ? "it closed the channel" : e.text);
}

void
say_open(uint64_t conn, int peer, enum speaks speaks)
{
	struct msg_conn_open open = { .peer = peer, .speaks = speaks };

	say(MSG_CONN_OPEN, 0, conn, &open);
}

void
say_gone(uint64_t conn)
{
	struct msg_conn_gone gone;

	say(MSG_CONN_GONE, 0, conn, &gone);
}

uint64_t
say_request(uint64_t conn, enum msg_type t, const void *body)
{
	say(t, next_request, conn, body);
	return next_request++;
}

/* The reply, of whatever type; others are dropped. */
static void
hear_reply(uint64_t id, struct msg *m)
{
	for (;;) {
		hear(m);
		if (m->envelope == ENV_REPLY && m->id == id)
			return;
		msg_clear(m);
	}
}

const char *
answer(uint64_t id)
{
	static char text[ERR_TEXT + 64];
	struct msg  m;

	hear_reply(id, &m);
	text[0] = '\0';
	if (m.failed)
		snprintf(text, sizeof(text), "%s: %s", err_wire_name(m.error.code), m.error.text);
	msg_clear(&m);
	return text;
}

const char *
request(uint64_t conn, enum msg_type t, const void *body)
{
	return answer(say_request(conn, t, body));
}

const char *
try_rpc(uint64_t conn, const char *token, const char *instance)
{
	struct msg_http_auth auth;

	msg_defaults(MSG_HTTP_AUTH, &auth);
	auth.use = HTTP_USE_RPC;
	auth.token = token;
	auth.instance = instance;
	return request(conn, MSG_HTTP_AUTH, &auth);
}

/* ---- clients ---- */

static uint64_t
announce(int listener, int client, enum speaks speaks)
{
	AUTO_FD int peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	while (peer == -1 && errno == EAGAIN) {
		poll(&(struct pollfd){ .fd = listener, .events = POLLIN }, 1, -1);
		peer = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	}
	must(client != -1 && peer != -1, "a client: %s", strerror(errno));
	say_open(authbox_next, peer, speaks);
	return authbox_next++;
}

uint64_t
by_http(void)
{
	struct sockaddr_storage at;
	socklen_t               len = sizeof(at);

	getsockname(authbox_http, (struct sockaddr *)&at, &len);
	int client = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(connect(client, (struct sockaddr *)&at, len) != -1, "connect to LangBot's door: %s", strerror(errno));
	return announce(authbox_http, client, SPEAKS_HTTP);
}

uint64_t
by_control(enum speaks speaks)
{
	struct sockaddr_un a = unix_address(in_dir("run/boxd.sock"));
	int                client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	must(connect(client, (struct sockaddr *)&a, sizeof(a)) != -1, "connect to %s: %s", a.sun_path, strerror(errno));
	return announce(authbox_control, client, speaks);
}

/* ---- what boxd tells of itself ---- */

static const void *
status_field(const char *name, struct msg *m)
{
	struct msg_status none;
	struct err        e;

	hear_reply(say_request(by_control(SPEAKS_NATIVE), MSG_STATUS, &none), m);
	must(
	    !m->failed && msg_expect(m, MSG_STATUS_RESULT, &e) != -1, "status: %s", m->failed ? m->error.text : e.text);
	for (const struct field *f = msg_def(MSG_STATUS_RESULT)->fields; f->name != NULL; f++)
		if (strcmp(f->name, name) == 0)
			return (const char *)m->body + f->offset;
	BAIL_OUT("status has no %s", name);
}

uint64_t
status_number(const char *name)
{
	struct msg m;
	uint64_t   n = *(const uint64_t *)status_field(name, &m);

	msg_clear(&m);
	return n;
}

const char *
status_text(const char *name)
{
	static char text[LIM_PATH];
	struct msg  m;

	snprintf(text, sizeof(text), "%s", *(const char *const *)status_field(name, &m));
	msg_clear(&m);
	return text;
}

int
log_lines(const char *regex)
{
	char   *line = NULL;
	size_t  size = 0;
	int     found = 0;
	regex_t r;
	FILE   *f = fopen(in_dir("log"), "re");

	must(f != NULL && regcomp(&r, regex, REG_EXTENDED | REG_NOSUB) == 0, "log: %s", strerror(errno));
	while (getline(&line, &size, f) != -1)
		found += regexec(&r, line, 0, NULL, 0) == 0;
	regfree(&r);
	free(line);
	fclose(f);
	return found;
}

/* ---- the whole ---- */

static int
take_channel(void)
{
	char          control[CMSG_SPACE(sizeof(int))], byte;
	struct iovec  iov = { &byte, 1 };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control };
	int           fd;

	h.msg_controllen = sizeof(control);
	while (poll(&(struct pollfd){ .fd = passing, .events = POLLIN }, 1, 100) != 1)
		if (waitpid(boxd, NULL, WNOHANG) == boxd)
			BAIL_OUT("boxd ended; see %s/log", authbox_dir);
	passer = accept4(passing, NULL, NULL, SOCK_CLOEXEC);
	must(passer != -1 && recvmsg(passer, &h, MSG_CMSG_CLOEXEC) == 1 && CMSG_FIRSTHDR(&h) != NULL,
	    "the gateway's channel: %s", strerror(errno));
	memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&h)), sizeof(fd));
	return fd;
}

static void
be_gateway(void)
{
	struct msg_gateway_ready ready;
	struct msg               m;

	authbox_chan = take_channel();
	hear(&m);
	must(m.type == MSG_GATEWAY_START, "a %s came first", msg_name(m.type));
	const struct msg_gateway_start *s = m.body;
	authbox_next = s->next_conn;
	authbox_control = msg_take_fd(&m, s->listener);
	authbox_http = msg_take_fd(&m, s->http);
	msg_clear(&m);
	say(MSG_GATEWAY_READY, 0, 0, &ready);
}

void
authbox_gateway_dies(void)
{
	fd_close(&authbox_chan);
	fd_close(&passer);
	fd_close(&authbox_http);
	fd_close(&authbox_control);
	be_gateway();
}

/* A directory of programs in which box-gateway is this one.  boxd looks beside its own file: a copy. */
static void
make_programs(void)
{
	const char *build = getenv("BUILD");
	char        command[2048], self[512] = "";

	must(readlink("/proc/self/exe", self, sizeof(self) - 1) != -1, "/proc/self/exe: %s", strerror(errno));
	if (build == NULL)
		build = "build";
	snprintf(command, sizeof(command),
	    "b=$(realpath '%s') && mkdir -p '%s/bin' && cd '%s/bin' && cp \"$b/boxd\" . && ln -s \"$b\"/box-* . && "
	    "ln -sf '%s' box-gateway",
	    build, authbox_dir, authbox_dir, self);
	must(system(command) == 0, "no directory of programs");
}

static void
write_conf(const char *conf)
{
	FILE *f = fopen(in_dir("boxd.conf"), "we");

	must(f != NULL &&
		 fprintf(f, "uid_base = %d\nspare_sandboxes = 0\nlisten = 127.0.0.1:0\ntoken_file = %s/token\n%s\n",
		     524288 + (150 + getpid() % 50) * 128 * 65536, authbox_dir, conf) >= 0 &&
		 fclose(f) == 0,
	    "boxd.conf: %s", strerror(errno));
	f = fopen(in_dir("token"), "we");
	must(f != NULL && fputs(TEST_TOKEN "\n", f) != EOF && fclose(f) == 0 && chmod(in_dir("token"), 0600) != -1,
	    "token: %s", strerror(errno));
}

static void
start_boxd(void)
{
	char program[128], state[128], run[128], conf[128];
	int  log = open(in_dir("log"), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);

	snprintf(program, sizeof(program), "%s", in_dir("bin/boxd"));
	snprintf(state, sizeof(state), "%s", in_dir("state"));
	snprintf(run, sizeof(run), "%s", in_dir("run"));
	snprintf(conf, sizeof(conf), "%s", in_dir("boxd.conf"));
	boxd = fork();
	if (boxd == 0) {
		dup2(log, STDOUT_FILENO);
		dup2(log, STDERR_FILENO);
		execl(program, program, "-c", conf, "--state-dir", state, "--runtime-dir", run, (char *)NULL);
		_exit(127);
	}
	close(log);
}

void
authbox_open(const char *conf)
{
	struct sockaddr_un a;

	alarm(HANG_SEC);
	signal(SIGPIPE, SIG_IGN);
	memcpy(authbox_dir + strlen(authbox_dir) - 6, "XXXXXX", 6);
	must(mkdtemp(authbox_dir) != NULL && chmod(authbox_dir, 0755) != -1, "%s: %s", authbox_dir, strerror(errno));
	make_programs();
	write_conf(conf);
	a = unix_address(in_dir("pass.sock"));
	passing = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	must(bind(passing, (struct sockaddr *)&a, sizeof(a)) != -1 && listen(passing, 8) != -1, "%s: %s", a.sun_path,
	    strerror(errno));
	start_boxd();
	be_gateway();
}

void
authbox_close(void)
{
	char command[128];
	int  status = -1;

	kill(boxd, SIGTERM);
	while (waitpid(boxd, &status, 0) == -1 && errno == EINTR)
		;
	ok(WIFEXITED(status) && WEXITSTATUS(status) == 0, "boxd ends well");
	ok(log_lines("Sanitizer|runtime error|Assertion") == 0, "and has nothing to complain about");
	fd_close(&authbox_chan);
	fd_close(&passer);
	fd_close(&passing);
	fd_close(&authbox_http);
	fd_close(&authbox_control);
	chan_in_clear(&in);
	snprintf(command, sizeof(command), "rm -rf --one-file-system '%s'", authbox_dir);
	if (system(command) != 0)
		diag("%s is left", authbox_dir);
}
