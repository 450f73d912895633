#include "startup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "log.h"

static void
options(const char *program, int argc, char **argv)
{
	if (argc == 1)
		return;
	if (argc == 2 && strcmp(argv[1], "--version") == 0) {
		printf("%s " BOXD_VERSION "\n", program);
		exit(0);
	}
	int help = argc == 2 && strcmp(argv[1], "--help") == 0;
	fprintf(help ? stdout : stderr,
	    "usage: %s [--version | --help]\n"
	    "A worker of boxd(8), started by it with a channel on descriptor %d.\n",
	    program, CHANNEL_FD);
	exit(help ? 0 : 2);
}

void
startup(const char *program, int argc, char **argv)
{
	options(program, argc, argv);
	log_init(program, log_level_from_env());
	if (fcntl(CHANNEL_FD, F_GETFD) == -1) {
		log_error("no channel on descriptor %d: boxd starts this program", CHANNEL_FD);
		exit(1);
	}
	/* what we were not meant to get, nobody can take from us; kernels before 5.9 cannot do it */
	(void)syscall(SYS_close_range, CHANNEL_FD + 1U, ~0U, 0U);
	tzset(); /* the log's first time stamp would look for the zone's file: not once we are confined */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the terminal's; the supervisor decides when we end */
	signal(SIGHUP, SIG_IGN);
}
