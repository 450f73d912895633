/* Who serves what a client may send, and when: the ROUTEs and ACTIONs of messages.def. */
#pragma once

#include "wire/msg.h"

enum served_by {
	ROOM_NONE,    /* nobody: it is not for clients */
	ROOM_BOXD,    /* boxd itself: router.c has its handler */
	ROOM_AUTH,    /* the same, of strangers */
	ROOM_LANGBOT, /* supervisor/langbot: its handler is in its ACTION */
	ROOM_POOL,
	ROOM_EGRESS,
	ROOM_SESSION, /* the session it names: session.c has its handler */
	ROOM_WORKER,  /* and that passes it to its worker: worker.c has it */
	ROOM_FILES,   /* and that to its box-files: main.c there has it */
};

enum {
	MAKES_WORK = 1 << 0,    /* refused while boxd is stopping */
	NEEDS_AWAKE = 1 << 1,   /* refused while its session is paused */
	WHILE_CLOSING = 1 << 2, /* welcome while its session is being deleted */
	FOR_RELAYS = 1 << 3,    /* a relay may send it, too */
};

struct route {
	enum served_by room;
	unsigned       when; /* of the above */
};

const struct route *msg_route(enum msg_type);
