/*
 * nftables, by a library that is loaded when it is needed: linked, it would cost every program that starts half a
 * millisecond, and most sessions have no network.
 */
#ifndef PROTO_NFT_H
#define PROTO_NFT_H

#include "err.h"

/* -1: it is not installed, and what to do. */
int nft_load(struct err *);

/* Commands as nft(8) reads them, in the network namespace we are in. */
int nft_run(const char *commands, struct err *);

#endif
