/*
 * nftables, by a library that is loaded when it is needed: linked, it would cost every program that starts half a
 * millisecond, and most sessions have no network.
 */
#pragma once

#include "base/err.h"

/* -1: it is not installed, and what to do. */
int nft_load(struct err *);

/* What to do when the kernel refuses a rule of a sandbox's network. */
#define NFT_REMEDY "modprobe nf_tables nft_redir nft_reject_inet nft_fib_inet nft_limit"

/* Commands as nft(8) reads them, in the network namespace we are in, all or none.  -1: why. */
int nft_run(const char *commands, struct err *);

/*
 * The same in a namespace that nobody uses yet, a command on each line.  -1: the command that was refused, and why; what
 * stands before it may have been done.
 */
int nft_fill(const char *commands, struct err *);
