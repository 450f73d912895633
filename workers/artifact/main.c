/*
 * box-artifact: one verified copy of a digest-addressed mount, or the removal of old ones.
 *
 *	fd 3	SEQPACKET channel to the supervisor; the only descriptor it is born with
 *
 * The supervisor's first message says what to do.  Both paths of a copy are judged and opened as those of a mount are;
 * then it gives up its rights and reads.  It ends when it has reported the result.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/rmtree.h"
#include "confine.h"
#include "copy.h"
#include "host/hostpath.h"
#include "host/startup.h"
#include "wire/chan.h"
#include "wire/jsontext.h"

/* ---- the channel ------------------------------------------------------------------------------ */

static int
tell(enum msg_type t, const void *body, struct err *e)
{
	struct packet p = { 0 };
	int           r = msg_encode(&p, t, 0, 0, body, e);

	while (r == 0 && (r = chan_send(CHANNEL_FD, &p, e)) > 0)
		r = poll(&(struct pollfd){ .fd = CHANNEL_FD, .events = POLLOUT }, 1, r == 2 ? 10 : -1) == -1 &&
			    errno != EINTR
			? err_sys(e, "poll")
			: 0;
	packet_clear(&p);
	return r;
}

/* The next message; -1 also when boxd is gone. */
static int
await(struct chan_in *in, struct msg *m, struct err *e)
{
	int r;

	while ((r = chan_recv(CHANNEL_FD, in, m, FROM_SUPERVISOR, e)) == 1) {
		msg_clear(m);
		poll(&(struct pollfd){ .fd = CHANNEL_FD, .events = POLLIN }, 1, -1);
	}
	return r == 2 ? err_set(e, E_CRASH, "boxd is gone") : r;
}

/* ---- a copy ------------------------------------------------------------------------------------ */

struct places {
	int source, manifest; /* owned; -1: not there, see missing */
	int missing;          /* why there is no source */
};

/* The rules of mounts hold: what a session may not mount is not read for it either. */
static int
open_place(
    const struct msg_artifact_start *m, const char *field, const char *path, bool dir, int *missing, struct err *e)
{
	char                    name[LIM_NAME + 32];
	struct msg_worker_start rules = { .rules = { m->rules.n, m->rules.v } };
	struct hostpath_ask     ask = { name, path, false, false, dir, NULL, FIELD_NONE, 0 };
	struct hostpath         h;

	snprintf(name, sizeof(name), "%s.%s", m->field, field);
	if (hostpath_open(&h, &ask, &rules, e) == -1) {
		*missing = h.missing;
		return -1;
	}
	AUTO_FD int found = h.fd;
	char        link[64];
	if (!dir && S_ISDIR(h.st.st_mode))
		return copy_errno(e, EISDIR, path, "");
	snprintf(link, sizeof(link), "/proc/self/fd/%d", found);
	int fd = open(link, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC | (dir ? O_DIRECTORY : 0));
	return fd == -1 ? copy_errno(e, errno, path, "") : fd;
}

/* A missing source is reported with the first missing file, so after the manifest was read. */
static int
open_places(struct places *p, const struct msg_artifact_start *m, struct err *e)
{
	int missing = 0;

	p->manifest = open_place(m, "manifest_path", m->manifest, false, &missing, e);
	if (p->manifest == -1)
		return missing != 0 ? copy_errno(e, missing, m->manifest, "") : -1;
	p->source = open_place(m, "host_path", m->source, true, &p->missing, e);
	return p->source == -1 && p->missing == 0 ? -1 : 0;
}

static int
read_manifest(int fd, struct manifest *list, const char *digest, struct err *e)
{
	struct buf text = { 0 };
	ssize_t    n = 1;
	int        r;

	while (n > 0 && text.len <= LIM_ARTIFACT_MANIFEST && buf_reserve(&text, 64 * KIB) == 0)
		if ((n = read(fd, text.data + text.len, 64 * KIB)) > 0)
			text.len += (size_t)n;
	if (n == -1)
		r = err_sys(e, "read the manifest");
	else if (text.len > LIM_ARTIFACT_MANIFEST)
		r = err_set(e, E_ARTIFACT, "Artifact manifest is too large");
	else if (n > 0)
		r = err_set(e, E_SYS, "no memory for a manifest");
	else
		r = manifest_read(list, text.data != NULL ? text.data : "", text.len, e);
	buf_clear(&text);
	if (r == 0 && strcmp(list->digest, digest) != 0)
		r = err_set(e, E_ARTIFACT, "Artifact manifest does not match content_digest");
	return r;
}

/* Report its size before it is copied, so that old copies can make room. */
static int
ask_for_room(const struct manifest *list, struct chan_in *in, struct err *e)
{
	struct msg_artifact_found found = { .bytes = list->bytes, .entries = list->n + list->dirs };
	struct msg                m;

	if (tell(MSG_ARTIFACT_FOUND, &found, e) == -1)
		return -1;
	int r = await(in, &m, e);
	if (r == 0 && m.type != MSG_ARTIFACT_GO)
		r = err_set(e, E_PROTO, "expected artifact_go, got %s", msg_name(m.type));
	msg_clear(&m);
	return r;
}

static int
copy_list(const struct manifest *list, const struct places *p, const char *source, int staging, struct err *e)
{
	if (p->source == -1 && list->n > 0)
		return copy_errno(e, p->missing, source, list->v[0].path);
	if (mkdirat(staging, "package", 0755) == -1)
		return err_sys(e, "make a directory for the copy");
	AUTO_FD int to = openat(staging, "package", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return to == -1 ? err_sys(e, "open the directory of the copy") : copy_files(list, p->source, source, to, e);
}

static int
make_copy(struct msg *m, struct chan_in *in, struct err *e)
{
	const struct msg_artifact_start *start = m->body;
	struct places                    p = { .source = -1, .manifest = -1 };
	struct manifest                  list = { 0 };
	int                              r;

	r = open_places(&p, start, e) == -1 || confine(p.source, start->staging, e) == -1 ||
		    read_manifest(p.manifest, &list, start->digest, e) == -1
		? -1
		: 0;
	if (r == 0) {
		char *source = strdup(start->source);
		int   staging = msg_take_fd(m, start->staging);

		r = source == NULL                     ? err_set(e, E_SYS, "no memory")
		    : ask_for_room(&list, in, e) == -1 ? -1
		    : copy_list(&list, &p, source, staging, e) == -1
			? -1
			: tell(MSG_ARTIFACT_DONE, &(struct msg_artifact_done){}, e);
		free(source);
		fd_close(&staging);
	}
	manifest_clear(&list);
	fd_close(&p.source);
	fd_close(&p.manifest);
	return r;
}

/* ---- the removal -------------------------------------------------------------------------------- */

static int
empty(int trash, struct err *e)
{
	int            own = openat(trash, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *dir = own == -1 ? NULL : fdopendir(own);
	struct dirent *d;

	if (dir == NULL) {
		err_sys(e, "open the directory of dropped copies");
		fd_close(&own);
		return -1;
	}
	while ((d = readdir(dir)) != NULL) {
		struct rmtree t = { .stem = ".boxd-artifact" };

		if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0 && rmtree(&t, trash, d->d_name) == -1)
			log_warn("remove %s/%s: %s", d->d_name, t.failed, strerror(errno));
	}
	closedir(dir);
	return 0;
}

static int
sweep(const struct msg_artifact_sweep *m, struct err *e)
{
	if (confine(-1, m->trash, e) == -1 || empty(m->trash, e) == -1)
		return -1;
	return tell(MSG_ARTIFACT_DONE, &(struct msg_artifact_done){}, e);
}

static int
artifact_run(struct err *e)
{
	struct chan_in in = { 0 };
	struct msg     m;
	int            r = await(&in, &m, e);

	if (r == 0 && m.type == MSG_ARTIFACT_START)
		r = make_copy(&m, &in, e);
	else if (r == 0 && m.type == MSG_ARTIFACT_SWEEP)
		r = sweep(m.body, e);
	else if (r == 0)
		r = err_set(e, E_PROTO, "box-artifact takes no %s", msg_name(m.type));
	msg_clear(&m);
	chan_in_clear(&in);
	return r;
}

int
main(int argc, char **argv)
{
	struct err e = { 0 }, lost;

	startup("box-artifact", argc, argv);
	umask(0);
	signal(SIGXFSZ, SIG_IGN); /* a file that grows too large is an error, not an end */
	jsontext_prepare();
	if (sodium_init() == -1)
		err_set(&e, E_SYS, "no random numbers");
	else if (artifact_run(&e) == 0)
		return 0;
	struct msg_artifact_failed failed = { .code = err_wire_name(e.code), .reason = e.text };
	if (tell(MSG_ARTIFACT_FAILED, &failed, &lost) == -1)
		log_error("%s; and nobody can be told: %s", e.text, lost.text);
	return 1;
}
