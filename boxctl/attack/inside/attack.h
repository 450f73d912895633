/*
 * An attack is a row: its name, what it would mean if it worked, and a function that
 * tries it and says what came of it.  The rows live in one file per subject.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum verdict { HELD, OPEN, SKIPPED };

/*
 * Where it may run.  ANYWHERE harms no host and leaves nothing on it, whether the wall is there or not; the
 * others want --inside.  ALONE may end every process beside it, BOMB takes until it is killed, SHARE is
 * for the bomb's neighbour: these run only when they are named.
 */
enum kind { ANYWHERE, INSIDE, ALONE, HOARD, BOMB, SHARE };

enum {
	DETAIL = 400, /* bytes of a sentence: a line of a table */
	ERRNOS = 134, /* the kernel's go up to 133 */
	DEADLINE_MS =
	    30000, /* of one attack, unless deadline_ms= is given; the slowest takes a second when the machine is idle */
};

/* Filled by the attack, in the child it runs in. */
struct report {
	unsigned tries;
	char     first[DETAIL]; /* what was tried first */
	bool     seen[ERRNOS];  /* with which errno the tries failed */
	char     note[DETAIL];  /* a sentence instead of those */
	char     open[DETAIL];  /* the first thing that worked; empty: none */
	char     why[DETAIL];   /* skipped because; empty: it was not */
};

struct attack {
	const char *name; /* NULL behind the last; subject.what */
	const char *means;
	enum kind   kind;
	void (*run)(struct report *, const void *);
	const void *arg; /* for a function that serves several rows */
};

/* ---- what an attack says ---- */

#define PRINTF(f, a) __attribute__((format(printf, f, a)))

/* One try by a call that returned result, with errno.  failed: whatever the error; refused: by EPERM, EACCES or
   ENOSYS, so any other means that the kernel has looked at the arguments.  True when the wall held. */
bool failed(struct report *, long result, const char *fmt, ...) PRINTF(3, 4);
bool refused(struct report *, long result, const char *fmt, ...) PRINTF(3, 4);

/* In words.  What works is remembered whatever comes after it. */
void works(struct report *, const char *fmt, ...) PRINTF(2, 3);
void holds(struct report *, const char *fmt, ...) PRINTF(2, 3);
void skips(struct report *, const char *fmt, ...) PRINTF(2, 3);

/* What came of it all, as text. */
enum verdict report_end(const struct report *, char *detail, size_t size);

/* ---- what several attacks need ---- */

/* The n-th "key=value" argument of the program, without its key; NULL: there are fewer. */
const char *param(const char *key, unsigned n);

/* The start of a file, as a string; its length, or -1. */
long slurp(const char *path, char *out, size_t size);

/* The value of "Name:" in a status file of /proc, without blanks before it; false if it is missing. */
bool status_field(const char *path, const char *name, char *out, size_t size);

/* A directory of the running attack's own; "" when none can be made.  Cleared, with what is in it, at its end. */
const char *scratch(void);
void        scratch_clear(void);

/* A file in it: made, closed, and its path.  The next call overwrites it. */
const char *scratch_file(const char *name);

/* Descriptors that were open when the program started, and the pid of its first process. */
extern unsigned char inherited[1024];
extern int           first_pid;

/*
 * A call with no valid argument, so that it can do nothing anywhere: who gets as far as the kernel's answer has no
 * filter.  The row's argument is a struct raw.
 */
struct raw {
	const char *name;
	long        nr;
	long        a[6];
};

#define BAD 1 /* as a pointer */

/* clang-format off */
#define RAW(n, nr, ...) (&(const struct raw){ (n), (nr), { __VA_ARGS__ } })
/* What a row of a table is made of, where a macro makes it: braces would be spread over lines. */
#define ROW(...) { __VA_ARGS__ }
#define OF(type, ...) (&(const type){ __VA_ARGS__ })
/* clang-format on */

void call_filtered(struct report *, const void *raw);

/* Run code in a forked child: its exit status, or -1 when a signal ended it. */
int in_child(int (*code)(void *), void *arg);

/* ---- the tables ---- */

extern const struct attack descriptor_attacks[], runtime_attacks[], proc_attacks[], proc_file_attacks[],
    namespace_attacks[], mount_attacks[], cgroup_attacks[], init_attacks[], privilege_attacks[], call_attacks[],
    abi_attacks[], socket_attacks[], network_attacks[], file_attacks[], host_file_attacks[], device_attacks[],
    limit_attacks[], outside_attacks[], socket_hoards[], kernel_hoards[], bombs[];

#define COUNT(a) (sizeof(a) / sizeof(*(a)))
