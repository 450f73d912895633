/* What encode.c and decode.c must agree on, and nobody else needs. */
#pragma once

enum {
	EXT_BLOB = 1, /* u8 descriptor index, u64 offset, u64 length, big endian */
	EXT_FD = 2,   /* u8 descriptor index */
	EXT_BLOB_SIZE = 17,
};
