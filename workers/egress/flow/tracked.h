/*
 * The host's own table of tracked connections.  Where the host filters or translates packets, each connection that leaves
 * for a session takes a place there for minutes, and when the table is full the kernel drops whatever is new: the host's
 * own connections too.  So sessions slow down when it is half full, and get nothing of the last eighth.
 */
#pragma once

#include <stdbool.h>

enum tracked_room { TRACKED_ENOUGH, TRACKED_SCARCE, TRACKED_NONE };

struct tracked {
	int               count, most; /* owned; -1: nothing is tracked here */
	double            looked;      /* when */
	double            warned;      /* when the log was told */
	enum tracked_room room;        /* as it was then */
};

#define TRACKED_DIR "/proc/sys/net/netfilter"
#define TRACKED_CLOSED ((struct tracked){ -1, -1, 0., 0., TRACKED_ENOUGH })

/* Before the confinement. */
void tracked_open(struct tracked *, const char *dir);
void tracked_close(struct tracked *);

/* now: in seconds, not behind what it was. */
enum tracked_room tracked_look(struct tracked *, double now);

/* What one session may begin while it is scarce; begins as zeros. */
struct trickle {
	double left, at;
};

bool trickle_take(struct trickle *, double now);
