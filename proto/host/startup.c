#include "host/startup.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include "base/log.h"
#include "base/stdfds.h"

static bool
is_channel(int fd)
{
	int       type;
	socklen_t len = sizeof(type);

	return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len) == 0 && type == SOCK_SEQPACKET;
}

bool
startup_descriptors(void)
{
	int keep = is_channel(CHANNEL_FD) ? CHANNEL_FD : -1;

	stdfds_open();
	stdfds_close_others(&keep, 1);
	return keep != -1 && fcntl(keep, F_SETFD, FD_CLOEXEC) == 0;
}

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
	bool has_channel = startup_descriptors();

	options(program, argc, argv);
	log_init(program, log_level_from_env());
	if (!has_channel) {
		log_error("no channel on descriptor %d: boxd starts this program", CHANNEL_FD);
		exit(1);
	}
	tzset(); /* the log's first time stamp would look for the zone's file: not once we are confined */
	signal(SIGPIPE, SIG_IGN);
	signal(SIGINT, SIG_IGN); /* the terminal's; the supervisor decides when we end */
	signal(SIGHUP, SIG_IGN);
}
