/*
 * The descriptors a program starts with.  A program that is started with 0, 1 or 2 closed gives that number to the
 * next file or socket it opens, and then prints into it: with standard output closed, what a sandboxed command prints
 * would reach boxd as requests.  So each main calls one of these before it opens anything.
 *
 * They do not return when they fail: the program ends with status 1.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Programs of the daemon: whichever of 0, 1 and 2 is closed becomes /dev/null. */
void stdfds_open(void);

/*
 * boxctl: the same, but each opened the wrong way round, so that using a stream the caller closed still fails with EBADF
 * and output is never lost without an error.
 */
void stdfds_open_unusable(void);

/* Closes everything above 2 except keep[0..n).  Entries that are not above 2 are ignored. */
void stdfds_close_others(const int *keep, size_t n);

/* Marks everything above 2 close-on-exec: it is open here on purpose, but belongs to none of our children. */
void stdfds_keep_from_children(void);

/* The limit of descriptors is raised to the most that we may have: how many that is; 0 if it is not known. */
uint64_t stdfds_raise_limit(void);
