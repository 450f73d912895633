/* LangBot's path through boxd, or through the runtime LangBot ships: WebSocket and JSON over TCP. */
#pragma once

#include "base/err.h"

struct langbot;

/* Connects and makes a session with a managed process that echoes; NULL and why. */
struct langbot *langbot_open(const char *address, const char *token, struct err *);
void            langbot_close(struct langbot **);

/* Each in microseconds; a failure ends the program. */
double langbot_exec(struct langbot *); /* box_exec of true in a warm session */
double langbot_echo(struct langbot *); /* one small message through the relay and back */

/* Megabytes per second through the relay and back, in lines of 64 KiB. */
double langbot_bulk(struct langbot *, unsigned megabytes);
