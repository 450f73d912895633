/*
 * The command line: options are rows of tables, one table per group, and every
 * command names the groups it takes.  All of them write into one struct args.
 */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "client.h"
#include "wire/msg.h"

struct args {
	/* every command */
	const char *socket; /* as given, or the usual one, which may be in the next */
	char        usual_socket[CLIENT_PATH];
	bool        json;
	bool        help;
	bool        version;

	/* create, run */
	const char     *name;
	struct msg_spec spec;                  /* its extra_mounts are owned */
	const char     *host_path;             /* owned; of the spec */
	const char     *required[LIM_REQUIRE]; /* what spec.require points to */
	const char    **network_rules;         /* owned; what spec.network_rules points to */

	/* exec, run: all but session, argv and stdin is filled in */
	struct msg_exec exec;
	bool            send_stdin;
	bool            buffered;

	/* process: all but its name, argv, env, workdir and memory_mb, which are as above */
	struct msg_process_spec process;
	uint64_t                from; /* offset to attach from */
	struct msg_process_get  logs; /* its stdout_last alone */
	bool                    eof;

	/* agent: all but env, which is as above, and the command */
	struct msg_agent_exec agent;
	bool                  all_workspaces;
	/* pool create */
	struct msg_pool_create volume; /* all but its path */

	/* one command each */
	bool        force;
	bool        quiet;
	bool        names_only;
	bool        attack;
	bool        new_token;
	const char *url; /* langbot-stdio; NULL: the socket */
	bool        net_rules, net_reload;

	/* what is not an option */
	const char **v; /* owned; NULL behind the last */
	size_t       n;
};

struct opt {
	char        letter; /* 0: it has none */
	const char *name;   /* NULL ends a table */
	const char *arg;    /* what its value is called; NULL: it takes none */
	const char *help;   /* NULL: not shown */
	int (*set)(struct args *, const struct opt *, const char *value, struct err *);
	size_t        at; /* in struct args: what it sets */
	enum msg_type of; /* of the field whose bounds or names it has */
	const char   *field;
};

/* The end of a row: a function of its own; one and what it sets, twice in short; the same with the field's bounds. */
#define BY(how) how, 0, MSG_NONE, NULL
#define AT(how, target) how, offsetof(struct args, target), MSG_NONE, NULL
#define FLAG(target) AT(args_set_true, target)
#define TEXT(target) AT(args_set_text, target)
#define OF(how, body, T, field) how, offsetof(struct args, body.field), MSG_##T, #field

static inline void *
opt_target(struct args *a, const struct opt *o)
{
	return (char *)a + o->at;
}

enum { OPT_GROUPS = 4 };

extern const struct opt global_options[], common_options[], spec_options[], exec_options[], exec_mount_options[],
    rm_options[], ps_options[], create_options[], process_options[], cp_options[], doctor_options[], agent_options[],
    pool_options[], token_options[], langbot_stdio_options[], net_options[];

void args_init(struct args *);
void args_clear(struct args *);

/*
 * Options may stand among the first `mixed` other words and before them; from the
 * next word on, or behind "--", nothing is an option any more.  The number of argv
 * entries used up, or -1: the text names the option.
 */
int args_parse(
    struct args *, const struct opt *const groups[OPT_GROUPS], size_t mixed, int argc, char **argv, struct err *);

/* For the tables of other files. */
int args_set_env(struct args *, const struct opt *, const char *value, struct err *);
int args_set_text(struct args *, const struct opt *, const char *value, struct err *);
int args_set_true(struct args *, const struct opt *, const char *value, struct err *);

/* The options as --help shows them. */
void args_print_options(const struct opt *);
