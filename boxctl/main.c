/*
 * boxctl: the people's tool.  main reads the command line by the command's row and
 * hands it over; each command is a file.
 */
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/stdfds.h"
#include "cmd.h"
#include "text.h"

enum { ANY = 1 << 20 };

const struct cmd commands[] = {
	{ "run", NULL, "[OPTION...] [--] CMD [ARG...]", "run a command in a session of its own",
	    "  boxctl run python3 -c 'print(6 * 7)'\n"
	    "  boxctl run --memory 256M -t 10 -c 'make test'\n"
	    "  boxctl run -i sh < script.sh\n",
	    { spec_options, exec_options, common_options }, 0, 0, ANY, cmd_run },
	{ "create", NULL, "[OPTION...]", "make a session and print its name",
	    "  boxctl create --name work --memory 1G --cpus 2\n"
	    "  s=$(boxctl create --persistent)\n",
	    { create_options, spec_options, common_options }, ANY, 0, 0, cmd_create },
	{ "exec", NULL, "SESSION [OPTION...] [--] CMD [ARG...]", "run a command in a session",
	    "  boxctl exec work ls -l /workspace\n"
	    "  boxctl exec work -e LANG -w src -- make -j2\n"
	    "  boxctl exec work -i -- tar x < files.tar\n"
	    "  boxctl exec work -o json -c 'uname -a'\n",
	    { exec_options, exec_mount_options, common_options }, 1, 1, ANY, cmd_exec },
	{ "process", NULL, "start|ls|get|stop|attach|write|logs SESSION [NAME] [OPTION...] [--] [CMD [ARG...]]",
	    "named processes that keep running without a client",
	    "  boxctl process start work web --restart on-failure -- python3 -m http.server\n"
	    "  boxctl process ls work\n"
	    "  boxctl process attach work web\n"
	    "  echo hello | boxctl process write work web\n"
	    "  boxctl process logs work web --last 4096\n"
	    "  boxctl process stop work web\n",
	    { process_options, common_options }, 3, 2, ANY, cmd_process },
	{ "ps", "ls", "", "list the sessions",
	    "  boxctl ps\n"
	    "  boxctl ps -o json\n",
	    { ps_options, common_options }, ANY, 0, 0, cmd_ps },
	{ "inspect", NULL, "SESSION", "show everything about a session", "  boxctl inspect work\n", { common_options },
	    ANY, 1, 1, cmd_inspect },
	{ "net", NULL, "SESSION | net --rules | net --reload", "show a session's network traffic, and the rules",
	    "  boxctl net work\n"
	    "  boxctl net work -o json\n"
	    "  boxctl net --rules\n"
	    "  boxctl net --reload\n",
	    { net_options, common_options }, ANY, 0, 1, cmd_net },
	{ "pause", NULL, "SESSION...", "freeze every process of sessions", "  boxctl pause work\n", { common_options },
	    ANY, 1, ANY, cmd_pause },
	{ "resume", "unpause", "SESSION...", "let the processes of paused sessions continue", "  boxctl resume work\n",
	    { common_options }, ANY, 1, ANY, cmd_resume },
	{ "cp", NULL, "[-q] SESSION:PATH DEST | cp [-q] SOURCE SESSION:PATH", "copy files into a session or out of it",
	    "  boxctl cp src work:            the directory, to /workspace/src\n"
	    "  boxctl cp src/. work:lib       what is in it, into /workspace/lib\n"
	    "  boxctl cp work:out.csv .\n"
	    "  tar c . | boxctl cp - work:all.tar\n"
	    "  boxctl cp work:log - | less\n",
	    { cp_options, common_options }, ANY, 2, 2, cmd_cp },
	{ "files", NULL, "SESSION[:PATH]", "list a directory of a session's workspace",
	    "  boxctl files work\n"
	    "  boxctl files work:src -o json\n",
	    { common_options }, ANY, 1, 1, cmd_files },
	{ "rm", NULL, "[-f] SESSION...", "end sessions and remove everything in them",
	    "  boxctl rm work\n"
	    "  boxctl rm -f one two\n",
	    { rm_options, common_options }, ANY, 1, ANY, cmd_rm },
	{ "status", NULL, "", "show what the daemon is doing", "  boxctl status\n", { common_options }, ANY, 0, 0,
	    cmd_status },
	{ "ping", NULL, "", "check that the daemon answers", "  boxctl ping\n", { common_options }, ANY, 0, 0,
	    cmd_ping },
	{ "doctor", NULL, "[--attack [-t SECONDS]]",
	    "show what this machine allows, what is missing, and what to do about it",
	    "  boxctl doctor\n"
	    "  sudo boxctl doctor -o json\n"
	    "  sudo boxctl doctor --attack\n",
	    { doctor_options, common_options }, ANY, 0, 0, cmd_doctor },
	{ "agent", NULL, "exec [OPTION...] [--] CMD [ARG...] | agent status|errors|profiles [OPTION...]",
	    "run commands of agents: with a profile, and output cut to fit a prompt",
	    "  boxctl agent exec --launcher-type person --launcher-id 42 -c 'ls -l | wc -l'\n"
	    "  boxctl agent exec --profile offline_readonly -t 60 -o json python3 report.py\n"
	    "  boxctl agent status\n"
	    "  boxctl agent errors --workspace ws-1 --instance inst-1\n"
	    "  boxctl agent profiles\n",
	    { agent_options, common_options }, 1, 1, ANY, cmd_agent },
	{ "pool", NULL, "create PATH --size SIZE | status | remove PATH",
	    "make directories file systems of a fixed size",
	    "  sudo boxctl pool create /srv/langbot/data/skills --size 512M\n"
	    "  boxctl pool status\n"
	    "  sudo boxctl pool remove --force /srv/langbot/data/skills\n",
	    { pool_options, common_options }, ANY, 1, 2, cmd_pool },
	{ "token", NULL, "[--new]", "print the secret for LangBot's door",
	    "  export LANGBOT_BOX_CONTROL_TOKEN=$(sudo boxctl token)\n"
	    "  sudo boxctl token --new\n",
	    { token_options, common_options }, ANY, 0, 0, cmd_token },
	{ "call", NULL, "REQUEST [PARAMETERS]", "make any request of the protocol, with JSON",
	    "  boxctl call ping\n"
	    "  boxctl call get '{\"session\": \"work\"}' -o json\n",
	    { common_options }, ANY, 1, 2, cmd_call },
	{ "langbot-stdio", NULL, "[--url URL]", "connect LangBot's stdio transport to boxd",
	    "  LANGBOT_BOX_TRUSTED_INSTANCE_UUID=... boxctl langbot-stdio\n"
	    "  boxctl langbot-stdio --url ws://127.0.0.1:5410\n",
	    { langbot_stdio_options, common_options }, ANY, 0, 0, cmd_langbot_stdio },
	{ "help", NULL, "[COMMAND]", "explain boxctl or a command", "  boxctl help run\n", { common_options }, ANY, 0,
	    1, cmd_help },
	{ "version", NULL, "", "print the version", "  boxctl version\n", { common_options }, ANY, 0, 0, cmd_version },
	{ .name = NULL },
};

const struct cmd *
cmd_find(const char *name)
{
	for (const struct cmd *c = commands; c->name != NULL; c++)
		if (strcmp(c->name, name) == 0 || (c->alias != NULL && strcmp(c->alias, name) == 0))
			return c;
	return NULL;
}

static int
check_words(const struct cmd *c, const struct args *a, struct err *e)
{
	if (a->n < c->least)
		return err_set(e, E_INVALID, "missing argument; usage: boxctl %s %s", c->name, c->usage);
	if (a->n > c->most)
		return err_set(e, E_INVALID, "'%s' is one argument too many", text_safe(a->v[c->most]));
	return 0;
}

static int
run_command(const struct cmd *c, struct args *a, int argc, char **argv)
{
	struct err e;

	if (args_parse(a, c->options, c->mixed, argc, argv, &e) == -1)
		return usage_error(c->name, &e);
	if (a->help) {
		help_print(c);
		return EXIT_OK;
	}
	if (check_words(c, a, &e) == -1)
		return usage_error(c->name, &e);
	return c->run(a);
}

static int
command_run(struct args *a, int argc, char **argv)
{
	static const struct opt *const before[OPT_GROUPS] = { global_options, common_options };
	struct err                     e;

	int used = args_parse(a, before, 0, argc, argv, &e);
	if (used == -1)
		return usage_error("", &e);
	if (a->version)
		return cmd_version(a);
	if (a->help) {
		help_overview();
		return EXIT_OK;
	}
	if (a->n == 0) {
		err_set(&e, E_INVALID, "no command given");
		return usage_error("", &e);
	}
	const struct cmd *c = cmd_find(a->v[0]);
	if (c == NULL) {
		err_set(&e, E_INVALID, "there is no command '%s'", text_safe(a->v[0]));
		return usage_error("", &e);
	}
	return run_command(c, a, argc - used - 1, argv + used + 1);
}

/* What could not be written was not done. */
static int
flushed(int code)
{
	errno = 0;
	if (fflush(stdout) == 0 && !ferror(stdout))
		return code == EXIT_OK && ferror(stderr) ? EXIT_REFUSED : code;
	if (errno == EPIPE || code == 128 + SIGPIPE)
		return 128 + SIGPIPE;
	complain("write standard output: %s", errno != 0 ? strerror(errno) : "failed");
	return code == EXIT_OK ? EXIT_REFUSED : code;
}

int
main(int argc, char **argv)
{
	struct args a;

	stdfds_open_unusable();
	stdfds_keep_from_children(); /* not closed: the caller may name one by /dev/fd/N */
	setlocale(LC_CTYPE, "");     /* which characters the terminal can show */
	args_init(&a);
	int code = command_run(&a, argc - 1, argv + 1);
	args_clear(&a);
	return flushed(code);
}
