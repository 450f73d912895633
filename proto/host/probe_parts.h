/* What the rooms of the prober share among themselves; nobody else includes this. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "host/probe.h"

enum { PROBE_SEC = 5 }; /* thousands of times what any probe needs */

/* Rows call all probes alike; most have nothing to be told. */
#define NO_ARG int arg __attribute__((unused))

/* ---- saying what came of it ---- */

void probe_works(struct probe *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void probe_fine(struct probe *); /* it works, and there is nothing more to say */
void probe_misses(struct probe *, const char *remedy, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* By errno of a failed system call: ENOSYS means the kernel is too old for it, or a filter hides it. */
void probe_refused(struct probe *, const char *what, const char *since);

/* ---- small hands ---- */

int   probe_write_file(const char *path, const char *text);
bool  probe_file_has_line(const char *path, const char *needle);
pid_t probe_fork(void); /* a child that goes when its parent goes, even by SIGALRM */
int   probe_reap(pid_t);

/* A user namespace around us with our own uid as root in it, and others; -1: the probe names the barrier. */
int probe_enter(struct probe *, int clone_flags);

/* ---- the probes ---- */

void try_userns(struct probe *, int);
void try_namespace(struct probe *, int clone_flag);
void try_uid_range(struct probe *, int);
void try_tmpfs(struct probe *, int);
void try_proc(struct probe *, int);
void try_sandbox(struct probe *, int); /* all of the above at once */
void try_pivot_root(struct probe *, int);
void try_overlay(struct probe *, int);
void try_idmap(struct probe *, int);

void try_v2_tree(struct probe *, int);
void try_clone_into(struct probe *, int kill_it);
void try_freeze(struct probe *, int);
void try_limit(struct probe *, int controller);
void try_swap(struct probe *, int);
void try_sockets_counted(struct probe *, int);
void try_kernel_counted(struct probe *, int);

void try_seccomp(struct probe *, int);
void try_landlock(struct probe *, int);
void try_loop(struct probe *, int);
void try_mkfs(struct probe *, int);
void try_btrfs(struct probe *, int);
void try_nftables(struct probe *, int);
void try_pidfd(struct probe *, int);
void try_memfd(struct probe *, int);
void try_close_range(struct probe *, int);
void try_openat2(struct probe *, int);

/* ---- around a run ---- */

bool        probe_by(void (*try)(struct probe *, int), int arg, struct probe *, const struct cg_found *);
const char *probe_cgroup_remedy(void);
int         probe_memory_cgroup(struct probe *, char *dir, size_t, bool *v2); /* where memory is limited; swept */

void probe_ns_begin(void);                        /* before a child changes who it is */
void probe_cgroups_lend(const struct cg_found *); /* before the fork; read until the sweep */
void probe_cgroups_sweep(pid_t);                  /* remove what the probe with this pid may have left */
