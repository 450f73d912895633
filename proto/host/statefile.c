#include "host/statefile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"

int
statefile_write(int dir, const struct msg_session_state *s, struct err *e)
{
	struct packet p = { 0 };
	int           r = -1;
	AUTO_FD int   fd = openat(dir, STATE_NEW, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd == -1)
		return err_sys(e, "create the session's state file");
	if (msg_encode(&p, MSG_SESSION_STATE, 0, 0, s, e) == -1)
		r = -1;
	else if (write(fd, p.bytes.data, p.bytes.len) != (ssize_t)p.bytes.len)
		err_sys(e, "write the session's state file");
	else if (renameat(dir, STATE_NEW, dir, STATE_FILE) == -1)
		err_sys(e, "move the session's state file into place");
	else
		r = 0;
	packet_clear(&p);
	return r;
}

static int
read_all(int fd, struct buf *b, struct err *e)
{
	for (;;) {
		if (b->len > LIM_STATE || buf_reserve(b, 4096) == -1)
			return err_set(e, E_PROTO, "state file too large");
		ssize_t n = read(fd, b->data + b->len, 4096);
		if (n == -1)
			return err_sys(e, "read the state file");
		if (n == 0)
			return 0;
		b->len += (size_t)n;
	}
}

int
statefile_read(int dir, struct buf *bytes, struct msg *m, struct err *e)
{
	AUTO_FD int fd = openat(dir, STATE_FILE, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	*m = (struct msg){ 0 };
	if (fd == -1)
		return errno == ENOENT ? 1 : err_sys(e, "open the state file");
	if (read_all(fd, bytes, e) == -1)
		return -1;
	if (msg_decode(m, bytes->data, bytes->len, NULL, 0, FROM_FILE, e) == -1)
		return err_prefix(e, "state file");
	return 0;
}

uint64_t
process_start(pid_t pid)
{
	char path[32], text[1024];

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t     n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n <= 0)
		return 0;
	text[n] = '\0';
	char *p = strrchr(text, ')'); /* the name may have blanks and brackets in it */
	for (int field = 2; p != NULL && field < 22; field++)
		p = strchr(p + 1, ' ');
	return p == NULL ? 0 : strtoull(p, NULL, 10);
}
