/*
 * MessagePack at the edges of msgpack-c: a scanner that finds where a value ends
 * and refuses what msgpack-c would believe (depth, counts larger than the bytes
 * that are there), and a packer that writes into a buf.
 */
#pragma once

#include <msgpack.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bounds.h"
#include "base/buf.h"

/* Finds the end of one value in bytes that arrive piecemeal.  Zero it to start. */
struct mp_scan {
	size_t   pos;             /* bytes understood so far */
	size_t   depth;           /* open arrays and maps */
	uint64_t left[LIM_DEPTH]; /* values each of them still wants */
	uint64_t values;          /* promised so far by all of them */
};

enum mp_verdict {
	MP_MORE,  /* not whole yet */
	MP_WHOLE, /* scan->pos is its length */
	MP_BAD,   /* not MessagePack, or nested deeper than LIM_DEPTH */
	MP_HUGE,  /* would be longer than most, or hold more than LIM_VALUES */
};

/* Look at bytes[0..n); every call sees the same bytes again, and more behind them. */
enum mp_verdict mp_scan(struct mp_scan *, const void *bytes, size_t n, size_t most);

/* A packer that appends to the buf. */
void mp_writer(msgpack_packer *, struct buf *);

void mp_cstr(msgpack_packer *, const char *);
