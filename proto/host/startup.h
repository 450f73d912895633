/* How a worker of boxd begins that has nothing but a channel to it. */
#pragma once

#include <stdbool.h>

enum { CHANNEL_FD = 3 };

/*
 * What a worker does before anything else: 0, 1 and 2 are open, the channel does not pass to its children, and nothing
 * else is open.  False: it was started without a channel.
 */
bool startup_descriptors(void);

/*
 * Does that first.  Takes --version and --help and no other argument, for everything else comes by message.  From then on
 * there is a log, the channel is there and nothing else is open, and signals from a terminal are ignored.  Exits when a
 * person has started it.
 */
void startup(const char *program, int argc, char **argv);
