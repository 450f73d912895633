/*
 * A policy as the program that the kernel runs at every system call.
 *
 * libseccomp knows the names and numbers; its compiler is not used, because it
 * cannot do three things that a wall needs: refuse in a second ABI what is newer
 * than the library, compare an int as the kernel does (its lower half alone,
 * whatever is in the upper one), and let the first rule that fits decide.
 */
#pragma once

#include <linux/bpf_common.h>
#include <linux/filter.h>

#include "config/filter_parse.h"

struct filter_program {
	struct sock_filter code[BPF_MAXINSNS];
	size_t             n;
};

/* For the two ABIs of this machine (any other has no calls at all), or for these. */
int filter_emit(struct filter_program *, const struct filter_policy *, struct err *);
int filter_emit_for(
    struct filter_program *, const struct filter_policy *, const uint32_t *abis, size_t n, struct err *);
