#include "door_handover.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fd.h"
#include "log.h"

#define HANDOVER_ENV "BOXD_DOOR"

static bool
is_whole(const struct handover *h)
{
	return memchr(h->instance, '\0', sizeof(h->instance)) != NULL &&
	       (*h->instance == '\0' || instance_is_valid(h->instance));
}

/* An open descriptor of that number, or -1. */
static int
inherited(const char *number)
{
	char *end;
	long  fd = strtol(number, &end, 10);

	return *end == '\0' && fd > STDERR_FILENO && fcntl((int)fd, F_SETFD, FD_CLOEXEC) == 0 ? (int)fd : -1;
}

void
handover_take(struct handover *h)
{
	const char *number = getenv(HANDOVER_ENV);
	AUTO_FD int from = number == NULL ? -1 : inherited(number);

	*h = (struct handover){ .listener = -1 };
	unsetenv(HANDOVER_ENV);
	if (from == -1)
		return;
	if (pread(from, h, sizeof(*h), 0) != sizeof(*h) || !is_whole(h)) {
		log_warn("what the boxd before left of LangBot's door cannot be used");
		*h = (struct handover){ .listener = -1 };
		return;
	}
	if (h->listener <= STDERR_FILENO || fcntl(h->listener, F_SETFD, FD_CLOEXEC) == -1)
		h->listener = -1;
}

int
handover_give(const struct handover *h, struct err *e)
{
	AUTO_FD int to = memfd_create("boxd-door", 0);
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
