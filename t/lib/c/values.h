/*
 * Bodies for any message, made and compared by walking its table: a message
 * that is added to messages.def is tested without touching a test.
 */
#pragma once

#include "wire/msg.h"

enum fill {
	FILL_DEFAULT, /* as msg_defaults, but what is needed is there */
	FILL_LEAST,   /* each field at its minimum: smallest number, shortest text, empty list */
	FILL_MOST,    /* each field at its maximum (lists of messages: three) */
	FILL__COUNT
};

extern const char *const fill_names[FILL__COUNT];

/* What fill_body allocated and opened; one for any number of bodies. */
struct values {
	void **memory;
	size_t nmemory;
	int   *fds;
	size_t nfds;
};

/* A body on the heap, owned by the values. */
void *fill_body(struct values *, enum msg_type, enum fill);
void  values_clear(struct values *);

/* NULL when equal, else the name of the first field that differs. */
const char *body_differs(enum msg_type, const void *a, const void *b);
