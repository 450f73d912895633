/* How a hoard is held: in many processes, until it is enough or refused. */
#include "hoards.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/stdfds.h"

enum {
	MEMORY_MB = 128, /* of a session of boxctl doctor */
	HOLDERS = 48,    /* processes: each has a limit of descriptors */
	SECONDS = 8,     /* for one row: what grows more slowly is no attack */
	HOLD_SEC = 2,    /* what is watched, and not refused, has so long to be seen */
	STOP_AT = 3,     /* times the session's memory */
	SPARE_MB = 32,   /* half of the session's memory, and this, may be held on top of it */
};

/* Shared by all holders of a row. */
struct tally {
	uint64_t bytes, units;
	int      error; /* with which the last unit was refused */
};

static struct tally *tally;

static uint64_t
session_bytes(void)
{
	const char *mb = param("memory", 0);

	return (mb != NULL ? strtoull(mb, NULL, 10) : MEMORY_MB) << 20;
}

/* When memory is short a holder is to die, and not who reports. */
static void
offer_to_die(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	(void)!write(fd, "1000", 4);
	close(fd);
}

static bool
is_enough(void)
{
	return tally->bytes > STOP_AT * session_bytes();
}

/* Until the limit of one process; the next goes on.  It stays and holds. */
static _Noreturn void
hold_some(const struct hoard *h, int ready)
{
	long got = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	offer_to_die();
	stdfds_raise_limit();
	for (unsigned i = 0; !is_enough() && (got = h->one(i)) != -1; i++) {
		__atomic_add_fetch(&tally->bytes, (uint64_t)got, __ATOMIC_RELAXED);
		__atomic_add_fetch(&tally->units, 1, __ATOMIC_RELAXED);
	}
	if (got == -1)
		tally->error = errno;
	(void)!write(ready, &(char){ got == -1 && errno != EMFILE }, 1);
	for (;;)
		pause();
}

/* True: it can go on in another process. */
static bool
add_holder(const struct hoard *h, time_t until, const char **end)
{
	int  ready[2], status;
	char is_last = 1;

	if (pipe2(ready, O_CLOEXEC | O_NONBLOCK) == -1)
		return false;
	pid_t pid = fork();
	if (pid == -1) {
		tally->error = errno;
		return false;
	}
	if (pid == 0)
		hold_some(h, ready[1]);
	close(ready[1]);
	while (read(ready[0], &is_last, 1) != 1) {
		if (waitpid(pid, &status, WNOHANG) == pid) {
			*end = WIFSIGNALED(status) ? "it was killed" : "it ended";
			return false;
		}
		if (time(NULL) >= until) {
			*end = "time is up";
			return false;
		}
		usleep(10000);
	}
	close(ready[0]);
	return !is_last && !is_enough();
}

void
hoard(struct report *r, const void *arg)
{
	const struct hoard *h = arg;
	time_t              until = time(NULL) + SECONDS;
	const char         *end = "";

	tally = mmap(NULL, sizeof(*tally), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (tally == MAP_FAILED) {
		skips(r, "no memory to count in");
		return;
	}
	scratch(); /* one for all holders */
	for (int i = 0; i < HOLDERS && add_holder(h, until, &end); i++)
		;
	if (tally->bytes <= session_bytes() + session_bytes() / 2 + ((uint64_t)SPARE_MB << 20)) {
		holds(r, "%lu units hold %lu MiB, then %s", tally->units, tally->bytes >> 20,
		    *end != '\0' ? end : strerrorname_np(tally->error));
		return;
	}
	sleep(HOLD_SEC);
	works(r, "%lu units hold %lu MiB in a session of %lu MiB", tally->units, tally->bytes >> 20,
	    session_bytes() >> 20);
}
