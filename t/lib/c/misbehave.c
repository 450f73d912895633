#include "misbehave.h"

#include <dirent.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "initstart.h"

char
pattern(uint64_t i)
{
	return (char)(i * 31 + (i >> 9));
}

static int
be_fill(const char *arg)
{
	size_t n = strtoul(arg, NULL, 10);
	char  *p = malloc(n);

	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i);
	for (size_t done = 0; done < n;) {
		ssize_t w = write(1, p + done, n - done);
		if (w <= 0)
			return 1;
		done += (size_t)w;
	}
	return 0;
}

/* Some hundred processes in sessions of their own that ignore TERM; a third of them stopped. */
static int
be_bomb(const char *arg)
{
	int         most = atoi(arg);
	atomic_int *count = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	for (;;) {
		int mine = atomic_fetch_add(count, 1);
		if (mine >= most)
			break;
		if (fork() == 0) {
			setsid();
			if (fork() != 0)
				_exit(0);
			if (write(1, ".", 1) == 1 && mine % 3 == 0)
				raise(SIGSTOP);
		}
	}
	for (;;)
		pause();
}

/* Fork and exit, fork and exit: nobody lives long enough to be looked at. */
static int
be_runner(const char *arg)
{
	for (int i = atoi(arg); i > 1; i--)
		if (fork() == 0)
			break;
	if (write(1, ".", 1) != 1)
		return 1;
	for (;;)
		if (fork() != 0)
			_exit(0);
}

static void *
spin(void *arg)
{
	if (write(1, ".", 1) != 1)
		return NULL;
	for (;;)
		pause();
}

/* The first thread ends, and the process looks like a zombie. */
static int
be_headless(const char *arg)
{
	pthread_t t;

	if (fork() != 0)
		for (;;)
			pause();
	setsid();
	pthread_create(&t, NULL, spin, NULL);
	pthread_exit(NULL);
}

static int
be_zombies(const char *arg)
{
	int made = 0;

	for (int i = atoi(arg); i > 0; i--) {
		pid_t pid = fork();
		if (pid == 0)
			_exit(0);
		made += pid > 0;
	}
	printf("%d\n", made);
	return 0;
}

/* Processes that are not zombies; a name ends before the last parenthesis. */
static int
be_count(const char *arg)
{
	DIR           *proc = opendir("/proc");
	struct dirent *d;
	int            n = 0;

	while ((d = readdir(proc)) != NULL) {
		char  path[300], text[512] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/%s/stat", d->d_name);
		if (d->d_name[0] < '0' || d->d_name[0] > '9' || (f = fopen(path, "r")) == NULL)
			continue;
		char *at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
		n += at != NULL && at[2] != 'Z' && at[2] != 'X';
		fclose(f);
	}
	printf("%d\n", n);
	return 0;
}

static int
be_intruder(const char *path)
{
	char c;

	puts(read(init_connect(path), &c, 1) <= 0 ? "refused" : "served");
	return 0;
}

static const struct {
	const char *name;
	int (*fn)(const char *arg);
} misbehaviours[] = {
	{ "fill", be_fill },
	{ "bomb", be_bomb },
	{ "runner", be_runner },
	{ "headless", be_headless },
	{ "zombies", be_zombies },
	{ "count", be_count },
	{ "intruder", be_intruder },
};

/* Not by exit(): a sanitizer that looks for leaks then needs more than a sandbox gives it. */
_Noreturn void
misbehave(const char *how, const char *arg)
{
	int r = 2;

	for (size_t i = 0; i < sizeof(misbehaviours) / sizeof(*misbehaviours); i++)
		if (strcmp(how, misbehaviours[i].name) == 0)
			r = misbehaviours[i].fn(arg);
	fflush(NULL);
	_exit(r);
}
