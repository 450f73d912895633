/*
 * The host's half of the attacks: things that a sandbox must not reach, put where it would find them if a wall were
 * missing, and the arguments that tell box-attack their names.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum { HOST_ADDRESSES = 8, HOST_ARGS = 64 };

struct attack_host {
	int    tcp[HOST_ADDRESSES], udp[HOST_ADDRESSES]; /* owned; listening */
	size_t tcp_n, udp_n;
	int    abstract; /* owned; listening */
	pid_t  victim;   /* owned; does nothing until it is killed */
	int    shm;      /* owned; of /dev/shm */
	int    shmid;    /* owned; System V */
	char   name[48]; /* of the abstract socket, the shared memory and the queue */
	char   file[64]; /* owned; "" if it was not made */
	char   queue[48];
	char  *args[HOST_ARGS + 1]; /* owned; "key=value", NULL behind the last */
	size_t args_n;
};

/* What cannot be made here is left out, and box-attack skips what needs it. */
void host_open(struct attack_host *, const char *name);
void host_close(struct attack_host *);

/* One more argument for box-attack. */
void host_arg(struct attack_host *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Does the process that was to be killed still live? */
bool host_victim_lives(const struct attack_host *);
