#include "auth/handover.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"

#define HANDOVER_ENV "BOXD_DOOR" /* older boxds hand over by this name, too */

static bool
is_whole(const struct handover *h)
{
	return memchr(h->instance, '\0', sizeof(h->instance)) != NULL &&
	       (*h->instance == '\0' || instance_is_valid(h->instance));
}

/* Is it a memfd of the size of one handover? */
static bool
is_memfd(int fd)
{
	struct stat st;

	return fcntl(fd, F_GET_SEALS) != -1 && fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink == 0 &&
	       st.st_size == sizeof(struct handover);
}

static bool
is_listener(int fd)
{
	int       listens = 0;
	socklen_t len = sizeof(listens);

	return fd > STDERR_FILENO && getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == 0 && listens != 0;
}

/* The memfd that the environment names, or -1. */
static int
inherited(void)
{
	const char *number = getenv(HANDOVER_ENV);
	char       *end;
	long        fd = number == NULL ? -1 : strtol(number, &end, 10);

	return fd > STDERR_FILENO && fd <= INT_MAX && *end == '\0' && is_memfd((int)fd) ? (int)fd : -1;
}

/* A descriptor that is not a listener is left out. */
static int
read_from(int memfd, struct handover *h)
{
	if (pread(memfd, h, sizeof(*h), 0) != sizeof(*h) || !is_whole(h)) {
		*h = (struct handover){ .listener = -1 };
		return -1;
	}
	if (h->listener == memfd || !is_listener(h->listener))
		h->listener = -1;
	return 0;
}

size_t
handover_descriptors(int fds[HANDOVER_FDS])
{
	struct handover h;
	int             memfd = inherited();

	if (memfd == -1)
		return 0;
	fds[0] = memfd;
	fds[1] = read_from(memfd, &h) == 0 ? h.listener : -1;
	sodium_memzero(&h, sizeof(h));
	return HANDOVER_FDS;
}

void
handover_take(struct handover *h)
{
	bool        was_told = getenv(HANDOVER_ENV) != NULL;
	AUTO_FD int from = inherited();

	*h = (struct handover){ .listener = -1 };
	unsetenv(HANDOVER_ENV);
	if (was_told && (from == -1 || read_from(from, h) == -1))
		log_warn("what the previous boxd left for LangBot's door cannot be used");
	if (h->listener != -1 && fcntl(h->listener, F_SETFD, FD_CLOEXEC) == -1)
		h->listener = -1;
}

int
handover_give(const struct handover *h, struct err *e)
{
	AUTO_FD int to = memfd_create("boxd-handover", 0);
	char        number[16];

	if (to == -1 || write(to, h, sizeof(*h)) != sizeof(*h))
		return err_sys(e, "memfd for the next boxd");
	if (h->listener != -1 && fcntl(h->listener, F_SETFD, 0) == -1)
		return err_sys(e, "keep the listener");
	snprintf(number, sizeof(number), "%d", to);
	if (setenv(HANDOVER_ENV, number, 1) == -1)
		return err_sys(e, "setenv");
	fd_take(&to);
	return 0;
}

void
handover_clear(struct handover *h)
{
	fd_close(&h->listener);
	sodium_memzero(h, sizeof(*h));
	h->listener = -1;
}
