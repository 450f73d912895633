/* systemd's notification protocol; silent where there is no systemd. */
#pragma once

#include <ev.h>

/* Opens $NOTIFY_SOCKET, and feeds the watchdog while the loop turns. */
void notify_open(struct ev_loop *);
void notify(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void notify_close(struct ev_loop *);
