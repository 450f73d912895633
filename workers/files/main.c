/*
 * box-files: the file requests of one session, done inside its sandbox as one of its
 * own commands would do them.  Init starts it when the first request comes.
 *
 *	box-files WORKSPACE SESSION sync|plain
 *		the workspace's path inside; the session's number, for temporary names;
 *		whether a committed file is on the disk before it is called done
 *
 *	fd 0  the channel to the session's worker
 *
 * One request at a time, in the order they come, so a client need not wait for the
 * answer to one before it sends the next.  A disk that blocks blocks only this
 * process.  When the worker goes, it goes.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <time.h>

#include "base/fd.h"
#include "base/stdfds.h"
#include "box.h"
#include "entry.h"
#include "handles.h"
#include "list.h"
#include "measure.h"
#include "remove.h"
#include "wire/chan.h"

enum { CHANNEL = 0, OLD_SEC = 3600 };

#define STEM ".boxd-put."

struct boxd {
	struct box      box;
	struct handles *handles; /* owned */
	struct chan_in  in;
};

/* ---- answering ----------------------------------------------------------------------- */

/* Until the worker takes it: there is nothing else to do. */
static int
push(struct packet *p, struct err *e)
{
	int r;

	while ((r = chan_send(CHANNEL, p, e)) > 0)
		if (poll(&(struct pollfd){ .fd = CHANNEL, .events = POLLOUT }, 1, r == 2 ? 10 : -1) == -1 &&
		    errno != EINTR)
			return err_sys(e, "poll");
	return r;
}

static int
reply_send(enum msg_type t, uint64_t id, const void *body, struct err *e)
{
	struct packet p = { 0 };
	int           r = msg_encode_reply(&p, t, id, 0, body, e);

	if (r == 0 && push(&p, e) == -1)
		exit(0); /* nobody is there any more */
	packet_clear(&p);
	return r;
}

static void
request_refuse(uint64_t id, const struct err *why)
{
	struct packet p = { 0 };
	struct err    e;

	if (msg_encode_error(&p, id, 0, why, &e) == -1 || push(&p, &e) == -1)
		exit(1);
	packet_clear(&p);
}

/* ---- what is asked ------------------------------------------------------------------- */

static int
done(const struct msg *m, int r, struct err *e)
{
	return r == 0 ? reply_send(MSG_DONE, m->id, &(struct msg_done){}, e) : -1;
}

static int
on_stat(struct boxd *h, const struct msg *m, struct err *e)
{
	struct entry en;
	int          r = entry_stat(&h->box, ((const struct msg_file_stat *)m->body)->path, &en, e);

	if (r == 0)
		r = reply_send(MSG_FILE_INFO, m->id, &en.info, e);
	entry_clear(&en);
	return r;
}

static int
on_list(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_files files;
	struct page      p;
	int              r = list_page(&h->box, m->body, &p, e);

	msg_defaults(MSG_FILES, &files);
	files.entries.n = p.n;
	files.entries.v = p.infos;
	if (p.next != NULL)
		files.next = blob_of(p.next, strlen(p.next));
	if (r == 0)
		r = reply_send(MSG_FILES, m->id, &files, e);
	page_clear(&p);
	return r;
}

static int
on_mkdir(struct boxd *h, const struct msg *m, struct err *e)
{
	return done(m, entry_mkdir(&h->box, m->body, e), e);
}

static int
on_symlink(struct boxd *h, const struct msg *m, struct err *e)
{
	return done(m, entry_symlink(&h->box, m->body, e), e);
}

static int
on_remove(struct boxd *h, const struct msg *m, struct err *e)
{
	return done(m, remove_path(&h->box, m->body, e), e);
}

static int
on_open(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_file_handle made;
	struct entry           en;

	msg_defaults(MSG_FILE_HANDLE, &made);
	int r = handles_begin(h->handles, m->body, &made.handle, &en, e);
	made.file = en.info;
	if (r == 0)
		r = reply_send(MSG_FILE_HANDLE, m->id, &made, e);
	entry_clear(&en);
	return r;
}

static int
on_read(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_file_data data;

	msg_defaults(MSG_FILE_DATA, &data);
	if (handles_read(h->handles, m->body, &data, e) == -1)
		return -1;
	return reply_send(MSG_FILE_DATA, m->id, &data, e);
}

static int
on_write(struct boxd *h, const struct msg *m, struct err *e)
{
	return done(m, handles_write(h->handles, m->body, e), e);
}

static int
on_close(struct boxd *h, const struct msg *m, struct err *e)
{
	return done(m, handles_end(h->handles, m->body, e), e);
}

static int
on_usage(struct boxd *h, const struct msg *m, struct err *e)
{
	struct msg_amount  v[MEASURED];
	struct msg_amounts all;

	msg_defaults(MSG_AMOUNTS, &all);
	if (measure(v, e) == -1)
		return -1;
	all.amounts.n = MEASURED;
	all.amounts.v = v;
	return reply_send(MSG_AMOUNTS, m->id, &all, e);
}

static int (*const on[MSG__COUNT])(struct boxd *, const struct msg *, struct err *) = {
	[MSG_FILE_STAT] = on_stat,
	[MSG_FILE_LIST] = on_list,
	[MSG_FILE_MKDIR] = on_mkdir,
	[MSG_FILE_SYMLINK] = on_symlink,
	[MSG_FILE_REMOVE] = on_remove,
	[MSG_FILE_OPEN] = on_open,
	[MSG_FILE_READ] = on_read,
	[MSG_FILE_WRITE] = on_write,
	[MSG_FILE_CLOSE] = on_close,
	[MSG_FILE_USAGE] = on_usage,
};

static void
dispatch(struct boxd *h, const struct msg *m)
{
	struct err e = { 0 };
	int        r;

	if (m->envelope != ENV_REQUEST)
		return;
	if (on[m->type] == NULL)
		r = err_set(&e, E_PROTO, "box-files takes no %s", msg_name(m->type));
	else
		r = on[m->type](h, m, &e);
	if (r == -1)
		request_refuse(m->id, &e);
}

static void
files_run(struct boxd *h)
{
	struct msg m;
	struct err e = { 0 };

	for (;;) {
		int r = chan_recv(CHANNEL, &h->in, &m, FROM_WORKER, &e);

		if (r == 0)
			dispatch(h, &m);
		else if (r == -1 && m.whole && m.envelope == ENV_REQUEST)
			request_refuse(m.id, &e);
		else if (r != 1 && !m.whole)
			return;
		msg_clear(&m);
		int wait_ms = handles_expire(h->handles);
		if (r == 1)
			poll(&(struct pollfd){ .fd = CHANNEL, .events = POLLIN }, 1, wait_ms);
	}
}

/* ---- coming and going ---------------------------------------------------------------- */

/*
 * A crash in the wrong moment can leave a temporary name.  Ours are nobody's when we
 * start; those of other sessions, which may share a workspace of the host, when they are old.
 */
static void
sweep(const struct box *b)
{
	AUTO_FD int    fd = openat(b->root, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *d = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *one;
	struct stat    st;
	size_t         ours = strlen(b->stem);

	if (d == NULL)
		return;
	fd_take(&fd);
	while ((one = readdir(d)) != NULL) {
		if (strncmp(one->d_name, STEM, strlen(STEM)) != 0)
			continue;
		bool is_ours = strncmp(one->d_name, b->stem, ours) == 0 && one->d_name[ours] == '.';
		if (fstatat(b->root, one->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !S_ISDIR(st.st_mode) &&
		    (is_ours || st.st_mtim.tv_sec + OLD_SEC < time(NULL)))
			unlinkat(b->root, one->d_name, 0);
	}
	closedir(d);
}

static int
open_workspace(struct box *b, struct err *e)
{
	AUTO_FD int top = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char        clean[LIM_PATH + 1];

	if (top == -1)
		return err_sys(e, "open /");
	if (path_clean("/", b->path, clean, e) == -1)
		return -1;
	b->root = path_open_dir(top, clean, e);
	return b->root == -1 ? -1 : 0;
}

static int
build(struct boxd *h, char **argv, struct err *e)
{
	h->box = (struct box){ .path = argv[1], .root = -1, .sync = strcmp(argv[3], "sync") == 0 };
	snprintf(h->box.stem, sizeof(h->box.stem), STEM "%.32s", argv[2]);
	if (open_workspace(&h->box, e) == -1)
		return -1;
	if ((h->handles = handles_open(&h->box)) == NULL)
		return err_set(e, E_SYS, "no memory");
	sweep(&h->box);
	return 0;
}

int
main(int argc, char **argv)
{
	struct boxd h = { 0 };
	struct err  e = { 0 };

	stdfds_open(); /* init closes the rest */
	/* as the memfd we are executed from may not be read we are this already; elsewhere we are not */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	prctl(PR_SET_NAME, "box-files", 0, 0, 0);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* told by EFBIG */
	umask(0);                 /* modes are the client's to choose */
	if (argc != 4) {
		fprintf(stderr, "box-files: a part of boxd, which starts it; see boxd(8)\n");
		return 2;
	}
	if (build(&h, argv, &e) == -1) {
		fprintf(stderr, "%s\n", e.text);
		return 1;
	}
	files_run(&h);
	handles_close(&h.handles);
	chan_in_clear(&h.in);
	return 0;
}
