/* Small things several tests ask for. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Descriptors open in this process: the same before and after is what not leaking looks like. */
int open_fds(void);

/* The next number of a fixed sequence, so that a failure comes back. */
uint64_t rnd(void);
void     rnd_bytes(void *, size_t n);

/* An unsealed memfd of n zero bytes that takes no memory; seals: F_SEAL_* to add. */
int memfd_plain(size_t n, int seals);

/* One raw packet, whatever is in it; the descriptors stay the caller's.  0 or -1. */
int raw_send(int fd, const void *bytes, size_t n, const int *fds, size_t nfds);

/* Whether both descriptors are the same file. */
int same_file(int a, int b);
