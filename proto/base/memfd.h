/*
 * Sealed memory files: bytes that can be handed on and mapped without trusting
 * whoever made them, because nobody can change or shrink them any more.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* An empty file that can be written, and sealed later; -1 and the reason. */
int memfd_new(const char *name, struct err *);

/* A sealed file with these bytes, read position 0; -1 and the reason. */
int memfd_of(const char *name, const void *bytes, size_t n, struct err *);

/* The size of a file that is really sealed against change; -1 and the reason if it is not. */
int64_t memfd_sealed_size(int fd, struct err *);

/* Seal what has been written to it. */
int memfd_seal(int fd, struct err *);

/* A copy of a regular file in a sealed, executable memfd; -1 and the reason. */
int memfd_copy_program(const char *path, struct err *);
