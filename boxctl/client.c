#include "client.h"

#include <errno.h>
#include <grp.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define SYSTEM_SOCKET "/run/boxd/boxd.sock"

enum {
	READ_BYTES = 256 * 1024,
	INTERRUPTED_MS = 10000, /* after a signal: for the daemon to answer, before we leave without */
	ANSWER_MS = 60000,      /* for an answer that takes no command's time */
};

/* Two streams of kept output are the longest message there is. */
#define LONGEST (2 * LIM_KEEP + MIB)

/* ---- opening ---- */

const char *
client_default_path(char path[CLIENT_PATH])
{
	const char *told = getenv("BOXD_SOCKET"), *runtime = getenv("XDG_RUNTIME_DIR");

	if (told != NULL && told[0] != '\0')
		return told;
	if (geteuid() == 0)
		return SYSTEM_SOCKET;
	if (runtime != NULL && runtime[0] != '\0')
		snprintf(path, CLIENT_PATH, "%s/boxd/boxd.sock", runtime);
	else /* where an ordinary user's boxd goes then */
		snprintf(path, CLIENT_PATH, "%s/.local/state/boxd/run/boxd.sock", getenv("HOME") ? getenv("HOME") : "");
	return access(path, F_OK) == 0 ? path : SYSTEM_SOCKET;
}

/* Whose the socket is, so that the reader knows whom to become or to ask. */
static void
say_owner(char *out, size_t size, const char *path)
{
	struct stat st;

	if (stat(path, &st) == -1) {
		snprintf(out, size,
		    "its directory is closed to uid %u: run boxctl as root or as the user who runs boxd",
		    (unsigned)geteuid());
		return;
	}
	struct group *g = getgrgid(st.st_gid);
	snprintf(out, size,
	    "it belongs to uid %u and group %s (%u), mode %04o, and you are uid %u: "
	    "join that group, or run boxctl as that user",
	    (unsigned)st.st_uid, g != NULL ? g->gr_name : "?", (unsigned)st.st_gid, (unsigned)st.st_mode & 07777U,
	    (unsigned)geteuid());
}

static int
unreachable(const char *path, struct err *e)
{
	int  reason = errno;
	char remedy[512] = "is boxd running? Start it with 'systemctl start boxd', or 'make run' in its source tree; "
			   "another socket is named by --socket or $BOXD_SOCKET";

	if (reason == EACCES || reason == EPERM)
		say_owner(remedy, sizeof(remedy), path);
	return err_set(e, E_SYS, "cannot reach boxd at %s: %s\n  %s", path, strerror(reason), remedy);
}

int
client_open(struct client *c, const char *path, struct err *e)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	size_t             n = strlen(path);

	*c = (struct client){ .fd = -1, .next_id = 1, .broken = true, .patience = 2 };
	if (n == 0 || n >= sizeof(to.sun_path))
		return err_set(e, E_INVALID, "socket path '%s': %s", path, n == 0 ? "is empty" : "is too long");
	memcpy(to.sun_path, path, n + 1);
	AUTO_FD int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd == -1)
		return err_sys(e, "socket");
	if (connect(fd, (struct sockaddr *)&to, sizeof(to)) == -1)
		return unreachable(path, e);
	c->fd = fd_take(&fd);
	c->broken = false;
	return 0;
}

void
client_close(struct client *c)
{
	fd_close(&c->fd);
	buf_clear(&c->in);
}

/* ---- receiving ---- */

static int
lost(struct client *c, struct err *e, const char *why)
{
	c->broken = true;
	return err_set(e, E_CRASH, "connection to boxd lost: %s", why);
}

int
client_fill(struct client *c, struct err *e)
{
	buf_drop(&c->in, c->at);
	c->at = 0;
	if (buf_reserve(&c->in, READ_BYTES) == -1)
		return lost(c, e, "no memory for its message");
	ssize_t n = recv(c->fd, c->in.data + c->in.len, READ_BYTES, MSG_DONTWAIT);
	if (n > 0)
		c->in.len += (size_t)n;
	else if (n == 0)
		return lost(c, e, "it was closed");
	else if (errno != EAGAIN && errno != EINTR)
		return lost(c, e, strerror(errno));
	return 0;
}

/* boxd says why before it hangs up. */
static int
closing(struct client *c, struct msg *m, struct err *e)
{
	const struct msg_closing *why = m->body;

	c->broken = true;
	enum err_code code = err_from_wire(why->code, strlen(why->code));
	err_set(e, code == E__COUNT ? E_SYS : code, "boxd closed the connection: %s", why->reason);
	msg_clear(m);
	return -1;
}

int
client_take(struct client *c, struct msg *m, struct err *e)
{
	const char     *bytes = c->in.data + c->at;
	enum mp_verdict v = mp_scan(&c->scan, bytes, c->in.len - c->at, LONGEST);

	if (v == MP_MORE)
		return 1;
	if (v != MP_WHOLE)
		return lost(c, e, "the server is not boxd (no MessagePack)");
	size_t n = c->scan.pos;
	c->at += n;
	c->scan = (struct mp_scan){ 0 };
	if (msg_decode(m, bytes, n, NULL, 0, FROM_SUPERVISOR, e) == -1) {
		msg_clear(m);
		c->broken = true;
		return err_prefix(e, "boxd sent what this boxctl does not understand");
	}
	if (m->type == MSG_CLOSING)
		return closing(c, m, e);
	return 0;
}

/* ---- sending ---- */

/* Wait until the socket is ready; -1 after that many signals, or when nothing comes. */
static int
wait_for(struct client *c, short events, unsigned signals, struct err *e)
{
	struct pollfd p[] = {
		{ .fd = c->fd, .events = events },
		{ .fd = c->interrupt != NULL ? c->interrupt->fd : -1, .events = POLLIN },
	};

	for (;;) {
		if (c->interrupt != NULL)
			interrupt_read(c->interrupt);
		if (c->interrupt != NULL && c->interrupt->count >= signals)
			return err_set(e, E_STATE, "interrupted");
		bool hurried = c->interrupt != NULL && c->interrupt->count > 0;
		int  n = poll(p, 2, hurried ? INTERRUPTED_MS : ANSWER_MS);
		if (n == -1 && errno != EINTR)
			return err_sys(e, "poll");
		if (n == 0) {
			c->broken = true;
			return err_set(e, E_CRASH, "boxd does not answer");
		}
		if (p[0].revents != 0)
			return 0;
	}
}

/* The daemon hung up while we were talking: its last words, if it left any. */
static int
last_words(struct client *c, struct err *e)
{
	struct msg m;

	lost(c, e, strerror(errno));
	for (;;) {
		int r = client_take(c, &m, e);

		if (r == 0)
			msg_clear(&m);
		else if (r == -1 || client_fill(c, e) == -1)
			return -1;
		else if (wait_for(c, POLLIN, 1, e) == -1)
			return -1;
	}
}

/* Half a request is worse than none: a signal on the way ends the connection. */
static int
send_all(struct client *c, const char *p, size_t n, struct err *e)
{
	unsigned one_more = c->interrupt != NULL ? c->interrupt->count + 1 : 1;

	while (n > 0) {
		ssize_t sent = send(c->fd, p, n, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (sent > 0) {
			p += sent;
			n -= (size_t)sent;
		} else if (errno == EAGAIN) {
			if (wait_for(c, POLLOUT, one_more, e) == -1) {
				c->broken = true;
				return -1;
			}
		} else if (errno != EINTR)
			return last_words(c, e);
	}
	return 0;
}

int
client_send(struct client *c, enum msg_type t, const void *body, uint64_t *id, struct err *e)
{
	struct packet p = { .stream = true };
	uint64_t      mine = msg_def(t)->envelope == ENV_REQUEST ? c->next_id++ : 0;
	int           r = msg_encode(&p, t, mine, 0, body, e);

	if (r == 0 && p.bytes.len > LIM_MESSAGE)
		r = err_set(
		    e, E_INVALID, "the request is %zu bytes long, over the maximum %lu", p.bytes.len, LIM_MESSAGE);
	if (r == 0)
		r = send_all(c, p.bytes.data, p.bytes.len, e);
	packet_clear(&p);
	if (id != NULL)
		*id = mine;
	return r;
}

/* Replies to others (a cancel nobody waited for) are passed over. */
static int
await(struct client *c, uint64_t id, struct msg *m, struct err *e)
{
	for (;;) {
		int r = client_take(c, m, e);

		if (r == -1)
			return -1;
		if (r == 0 && m->envelope == ENV_REPLY && m->id == id)
			return 0;
		if (r == 0)
			msg_clear(m);
		else if (wait_for(c, POLLIN, c->patience, e) == -1 || client_fill(c, e) == -1)
			return -1;
	}
}

int
client_call(struct client *c, enum msg_type t, const void *body, struct msg *m, struct err *e)
{
	uint64_t id;

	if (client_send(c, t, body, &id, e) == -1 || await(c, id, m, e) == -1)
		return -1;
	if (m->failed)
		*e = m->error;
	if (!m->failed && msg_expect(m, msg_def(t)->result, e) == 0)
		return 0;
	msg_clear(m);
	return -1;
}
