#include "core/notify.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

static int      notify_fd = -1;
static ev_timer watchdog_timer;

static void
on_watchdog(struct ev_loop *loop, ev_timer *t, int revents)
{
	notify("WATCHDOG=1");
}

static void
open_socket(const char *name)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	size_t             n = strlen(name);

	if (n == 0 || n >= sizeof(at.sun_path))
		return;
	memcpy(at.sun_path, name, n);
	if (*name == '@')
		at.sun_path[0] = '\0'; /* an abstract name */
	notify_fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (notify_fd >= 0 &&
	    connect(notify_fd, (struct sockaddr *)&at, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) == -1)
		fd_close(&notify_fd);
}

void
notify_open(struct ev_loop *loop)
{
	const char *name = getenv("NOTIFY_SOCKET");
	const char *usec = getenv("WATCHDOG_USEC");

	if (name != NULL)
		open_socket(name);
	if (notify_fd >= 0 && usec != NULL && strtod(usec, NULL) > 0) {
		double half = strtod(usec, NULL) / 2e6;

		ev_timer_init(&watchdog_timer, on_watchdog, half, half);
		ev_timer_start(loop, &watchdog_timer);
	}
}

void
notify(const char *fmt, ...)
{
	char    text[512];
	va_list ap;

	if (notify_fd == -1)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n > 0)
		(void)!send(notify_fd, text, (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1, MSG_NOSIGNAL);
}

void
notify_close(struct ev_loop *loop)
{
	ev_timer_stop(loop, &watchdog_timer);
	fd_close(&notify_fd);
}
