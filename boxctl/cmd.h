/*
 * What a command is, and what commands share.
 */
#pragma once

#include "args.h"
#include "client.h"

enum {
	EXIT_OK = 0,
	EXIT_REFUSED = 1, /* boxd answered with an error */
	EXIT_USAGE = 2,
	EXIT_TIMEOUT = 124,
	EXIT_BOXD = 125, /* boxd, or the way to it, failed */
	EXIT_NOT_EXECUTABLE = 126,
};

struct cmd {
	const char       *name;
	const char       *alias; /* or NULL */
	const char       *usage; /* what stands behind its name */
	const char       *summary;
	const char       *examples;
	const struct opt *options[OPT_GROUPS];
	size_t            mixed;       /* words among which options may stand, see args_parse */
	size_t            least, most; /* words */
	int (*run)(const struct args *);
};

extern const struct cmd commands[]; /* name NULL behind the last */

const struct cmd *cmd_find(const char *name);

/* "boxctl: ..." on standard error, made safe for a terminal. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A wrong command line: EXIT_USAGE, after saying so. */
int usage_error(const char *command, const struct err *);

/*
 * Connect and ask once.  EXIT_OK: *reply and the connection await cmd_done; else
 * the exit code, after saying why.
 */
int  cmd_ask(const struct args *, enum msg_type, const void *body, struct client *, struct msg *reply);
void cmd_done(struct client *, struct msg *reply);

/* Ask once and show the answer: as JSON if that is wanted, else by print, or as lines without one. */
int cmd_show(const struct args *, enum msg_type, const void *body, void (*print)(const void *));

/* Connect, and do the work with signals caught: they end it, and not us. */
int cmd_interruptible(const struct args *, int (*work)(struct client *, const struct args *, void *), void *what);

typedef int cmd_fn(const struct args *);

cmd_fn cmd_ping, cmd_status, cmd_ps, cmd_create, cmd_run, cmd_exec, cmd_process, cmd_inspect, cmd_pause, cmd_resume,
    cmd_cp, cmd_files, cmd_rm, cmd_doctor, cmd_pool, cmd_net, cmd_token, cmd_call, cmd_agent, cmd_langbot_stdio,
    cmd_help, cmd_version;

/* Help of one command on standard output. */
void help_print(const struct cmd *);
void help_overview(void);
