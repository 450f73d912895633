/* A seccomp program without the kernel, so that every ABI can be tried on any machine. */
#pragma once

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>

/* What it returns; aborts on what the kernel would not load. */
uint32_t bpf_run(const struct sock_filter *, size_t n, const struct seccomp_data *);
