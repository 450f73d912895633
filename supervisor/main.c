/*
 * boxd: argv, configuration, build every actor, run, take them down.
 *
 *	SIGTERM, SIGINT   end every sandbox, then exit 0; a second one does not wait
 *	SIGUSR2           execute boxd again in place; sandboxes stay and are taken over
 *	SIGHUP            read the rules for networks again (network.rules); no other option changes while running
 */
#include <errno.h>
#include <getopt.h>
#include <signal.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "agent/agent.h"
#include "base/fd.h"
#include "base/stdfds.h"
#include "children/artifact.h"
#include "children/egress.h"
#include "children/gateway.h"
#include "children/mounter.h"
#include "children/pool.h"
#include "children/store.h"
#include "config/filter.h"
#include "config/mountrules.h"
#include "config/netrules.h"
#include "core/adopt.h"
#include "core/ask.h"
#include "core/dirs.h"
#include "core/errorring.h"
#include "core/machine.h"
#include "core/notify.h"
#include "core/registry.h"
#include "core/spare.h"
#include "auth/auth.h"
#include "auth/handover.h"
#include "langbot/admission.h"
#include "langbot/langbot.h"
#include "langbot/readiness.h"
#include "langbot/tenancy.h"
#include "langbot/tenantroots.h"

#define DEFAULT_CONFIG "/etc/boxd/boxd.conf"

enum { EXIT_CONFIG = 2 };

struct options {
	const char *config; /* NULL: the default file, if there is one */
	const char *state_dir;
	const char *runtime_dir;
	bool        check;
};

static void
usage(FILE *f)
{
	fputs("usage: boxd [options]\n"
	      "Runs commands that you do not trust.  Stays in the foreground and logs to standard error.\n\n"
	      "  -c, --config FILE      read FILE (default " DEFAULT_CONFIG ", if it is there)\n"
	      "      --state-dir DIR    sessions are kept here (default /var/lib/boxd; $XDG_STATE_HOME/boxd when not "
	      "root)\n"
	      "      --runtime-dir DIR  the control socket is here (default /run/boxd; $XDG_RUNTIME_DIR/boxd when not "
	      "root)\n"
	      "      --foreground       stay in the foreground (always so)\n"
	      "      --check-config     read the configuration, say what is wrong with it, and exit\n"
	      "      --print-config     print every option with its default, and exit\n"
	      "      --print-seccomp    print the built-in policy of system calls, and exit\n"
	      "      --version          print the version, and exit\n"
	      "  -h, --help             print this, and exit\n\n"
	      "Try it:  boxd --state-dir /tmp/b/state --runtime-dir /tmp/b/run &\n"
	      "         boxctl --socket /tmp/b/run/boxd.sock run -- echo hello\n"
	      "See boxd(8), boxd.conf(5), boxctl(1).\n",
	    f);
}

/* Exits for everything that does not run the daemon. */
static void
parse_options(int argc, char **argv, struct options *o)
{
	enum { STATE = 256, RUNTIME, FOREGROUND, CHECK, PRINT, SECCOMP, VERSION };
	static const struct option longs[] = {
		{ "config", required_argument, NULL, 'c' },
		{ "state-dir", required_argument, NULL, STATE },
		{ "runtime-dir", required_argument, NULL, RUNTIME },
		{ "foreground", no_argument, NULL, FOREGROUND },
		{ "check-config", no_argument, NULL, CHECK },
		{ "print-config", no_argument, NULL, PRINT },
		{ "print-seccomp", no_argument, NULL, SECCOMP },
		{ "version", no_argument, NULL, VERSION },
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c;

	while ((c = getopt_long(argc, argv, "c:h", longs, NULL)) != -1) {
		switch (c) {
		case 'c':
			o->config = optarg;
			break;
		case STATE:
			o->state_dir = optarg;
			break;
		case RUNTIME:
			o->runtime_dir = optarg;
			break;
		case FOREGROUND:
			break;
		case CHECK:
			o->check = true;
			break;
		case PRINT:
			config_print(stdout);
			exit(0);
		case SECCOMP:
			filter_print(stdout);
			exit(0);
		case VERSION:
			puts("boxd " BOXD_VERSION);
			exit(0);
		case 'h':
			usage(stdout);
			exit(0);
		default:
			fprintf(stderr, "Try 'boxd --help'.\n");
			exit(EXIT_CONFIG);
		}
	}
	if (optind < argc) {
		fprintf(stderr, "boxd: unexpected argument '%s'\nTry 'boxd --help'.\n", argv[optind]);
		exit(EXIT_CONFIG);
	}
}

static int
absolute_dir(struct config *c, const char *option, const char *dir, struct err *e)
{
	char path[PATH_MAX * 2], cwd[PATH_MAX] = "";

	if (dir == NULL)
		return 0;
	if (*dir != '/' && getcwd(cwd, sizeof(cwd)) == NULL)
		return err_sys(e, "find the current directory");
	snprintf(path, sizeof(path), "%s%s%s", cwd, *dir == '/' ? "" : "/", dir);
	return config_set(c, option, path, e);
}

static int
load_config(struct config *c, const struct options *o, struct err *e)
{
	config_defaults(c);
	if (o->config != NULL && config_read(c, o->config, e) == -1)
		return -1;
	if (o->config == NULL && access(DEFAULT_CONFIG, F_OK) == 0 && config_read(c, DEFAULT_CONFIG, e) == -1)
		return -1;
	if (absolute_dir(c, "state_dir", o->state_dir, e) == -1)
		return -1;
	if (absolute_dir(c, "runtime_dir", o->runtime_dir, e) == -1)
		return -1;
	return config_check(c, e);
}

/* Policy and rules are part of the configuration: they are read as strictly, and before anything is started. */
static int
check_policy(const struct config *c, struct err *e)
{
	AUTO_FD int      program = filter_compile(c->seccomp_policy, e);
	struct netrules *rules = program == -1 ? NULL : netrules_read(c->network_rules, e);
	bool             good = rules != NULL;

	netrules_free(&rules);
	return good ? 0 : -1;
}

/* ---- signals --------------------------------------------------------------------------------- */

struct control {
	struct boxd *boxd;
	ev_signal    term, interrupt, upgrade, hangup;
	ev_timer     stop_timer; /* runs while stopping */
	bool         exec_again;
	int          status;
};

static void
on_empty(void *arg)
{
	struct control *c = arg;

	ev_break(c->boxd->loop, EVBREAK_ALL);
}

static void
on_stop_timer(struct ev_loop *loop, ev_timer *t, int revents)
{
	struct control *c = t->data;

	log_error("%zu sessions did not end within %.0f s; the next start sweeps them",
	    registry_count(c->boxd->registry), LIM_STOP_SEC);
	c->status = 1;
	ev_break(loop, EVBREAK_ALL);
}

static void
on_stop(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct control *c = w->data;

	if (c->boxd->stopping) {
		log_warn("second signal=%d: not waiting", w->signum);
		on_stop_timer(loop, &c->stop_timer, 0);
		return;
	}
	log_info("stopping signal=%d sessions=%zu", w->signum, registry_count(c->boxd->registry));
	notify("STOPPING=1\nSTATUS=ending %zu sessions", registry_count(c->boxd->registry));
	c->boxd->stopping = true;
	gateway_go_away(c->boxd->gateway);
	ev_timer_start(loop, &c->stop_timer);
	registry_drain(c->boxd->registry, "boxd is stopping", on_empty, c);
}

static void
on_upgrade(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct control *c = w->data;

	log_info("executing again sessions=%zu", registry_count(c->boxd->registry));
	notify("RELOADING=1");
	c->exec_again = true;
	ev_break(loop, EVBREAK_ALL);
}

static void
on_hangup(struct ev_loop *loop, ev_signal *w, int revents)
{
	struct control *c = w->data;
	struct err      e;

	if (egress_reload(c->boxd->egress, &e) == -1)
		log_error("the rules in force stay: %s", e.text);
}

static void
watch_signal(struct control *c, ev_signal *w, void (*fn)(struct ev_loop *, ev_signal *, int), int sig)
{
	ev_signal_init(w, fn, sig);
	w->data = c;
	ev_signal_start(c->boxd->loop, w);
}

static void
control_open(struct control *c, struct boxd *h)
{
	*c = (struct control){ .boxd = h };
	watch_signal(c, &c->term, on_stop, SIGTERM);
	watch_signal(c, &c->interrupt, on_stop, SIGINT);
	watch_signal(c, &c->upgrade, on_upgrade, SIGUSR2);
	watch_signal(c, &c->hangup, on_hangup, SIGHUP);
	ev_timer_init(&c->stop_timer, on_stop_timer, LIM_STOP_SEC, 0.);
	c->stop_timer.data = c;
}

/* ---- boxd ---------------------------------------------------------------------------------- */

/* Descriptors: a few per session here, so as many as we may. */
static void
raise_nofile(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
		l.rlim_cur = l.rlim_max;
		setrlimit(RLIMIT_NOFILE, &l);
	}
}

static int
boxd_open(struct boxd *h, struct dirs *d, struct auth_start *auth, struct err *e)
{
	h->mountrules = mountrules_open(h->config, d, e);
	if (h->mountrules == NULL)
		return -1;
	h->registry = registry_open(h, e);
	if (h->registry == NULL)
		return -1;
	/* volumes first: nothing may be written where one will be mounted */
	if ((h->asks = asks_open(e)) == NULL || (h->pool = pool_open(h, e)) == NULL ||
	    (h->readiness = readiness_open(h, e)) == NULL || (h->store = store_open(h, e)) == NULL ||
	    (h->tenancy = tenancy_open(h, e)) == NULL || (h->tenantroots = tenantroots_open(h, e)) == NULL ||
	    (h->admission = admission_open(h, e)) == NULL || (h->langbot = langbot_open(h, e)) == NULL)
		return -1;
	if ((h->artifacts = artifacts_open(h, e)) == NULL)
		return -1;
	if ((h->errors = errorring_open(e)) == NULL || (h->agent = agent_open(h, e)) == NULL)
		return -1;
	int listener = dirs_listen(d, h->config->socket_group, e);
	if (listener == -1)
		return -1;
	h->auth = auth_open(h, auth, e);
	if (h->auth == NULL) {
		close(listener);
		return -1;
	}
	h->egress = egress_open(h, e);
	if (h->egress == NULL) {
		close(listener);
		return -1;
	}
	h->gateway = gateway_open(h, listener, e);
	if (h->gateway == NULL)
		return -1;
	h->mounter = mounter_open(h, e);
	h->spares = h->mounter == NULL ? NULL : spares_open(h, e);
	if (h->spares == NULL)
		return -1;
	return adopt_all(h, e);
}

static void
boxd_close(struct boxd *h)
{
	egress_close(&h->egress); /* results that wait for it can still be sent */
	gateway_close(&h->gateway);
	spares_close(&h->spares);
	registry_close(&h->registry);
	mounter_close(&h->mounter);
	artifacts_close(&h->artifacts);
	agent_close(&h->agent);
	errorring_close(&h->errors);
	langbot_close(&h->langbot);
	admission_close(&h->admission);
	tenantroots_close(&h->tenantroots);
	tenancy_close(&h->tenancy);
	store_close(&h->store);
	readiness_close(&h->readiness);
	pool_close(&h->pool);
	asks_close(&h->asks);
	auth_close(&h->auth);
	mountrules_close(&h->mountrules);
}

/* Gateway and workers end when their channel closes; wait a moment for them. */
static void
await_children(void)
{
	const struct timespec moment = { .tv_nsec = 50 * 1000 * 1000 };
	sigset_t              child;
	pid_t                 pid = 0;

	sigemptyset(&child);
	sigaddset(&child, SIGCHLD);
	sigprocmask(SIG_BLOCK, &child, NULL);
	for (int i = 0; i < 40 && pid != -1; i++) {
		while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
			;
		if (pid == 0)
			sigtimedwait(&child, NULL, &moment);
	}
}

static int
boxd_run(struct boxd *h, struct dirs *d, struct auth_start *auth, bool *exec_again, struct err *e)
{
	struct control c;

	if (boxd_open(h, d, auth, e) == -1)
		return -1;
	control_open(&c, h);
	notify_open(h->loop);
	log_info("boxd %s ready pid=%d instance=%s socket=%s/boxd.sock state=%s sessions=%zu", BOXD_VERSION, getpid(),
	    d->instance, d->runtime, d->state, registry_count(h->registry));
	notify("READY=1\nSTATUS=%zu of %lu sessions", registry_count(h->registry), h->config->max_sessions);
	ev_run(h->loop, 0);
	*exec_again = c.exec_again;
	notify_close(h->loop);
	return c.status;
}

/*
 * Before a file is opened: what a careless parent left open stays neither here nor in a worker.  Only --check-config
 * keeps it, because its file may be a shell's /dev/fd/63, and it starts nothing.
 */
static void
close_others(const struct options *o)
{
	int keep[HANDOVER_FDS];

	if (!o->check)
		stdfds_close_others(keep, handover_descriptors(keep));
}

static int
log_failure(const struct err *e, int status)
{
	log_error("%s", e->text);
	return status;
}

enum { GO_ON = -1 };

/* GO_ON, or what to exit with. */
static int
read_config(struct config *config, const struct options *o, struct auth_start *auth)
{
	struct err e = { 0 };
	int        status = GO_ON;

	/* before anything starts a process: this takes the token out of the environment */
	if (load_config(config, o, &e) == -1 || auth_prepare(auth, config, &e) == -1 ||
	    check_policy(config, &e) == -1) {
		fprintf(stderr, "boxd: %s\n", e.text);
		status = EXIT_CONFIG;
	} else if (o->check)
		status = puts("boxd: the configuration is good") < 0;
	if (status != GO_ON)
		auth_start_clear(auth);
	return status;
}

int
main(int argc, char **argv)
{
	static struct config config; /* large */
	struct options       o = { 0 };
	struct auth_start    auth = { .past.listener = -1 };
	struct dirs          dirs;
	struct machine       machine;
	struct err           e = { 0 };
	bool                 exec_again = false;
	char                 self[PATH_MAX] = "";

	stdfds_open();
	log_init("boxd", LOG_INFO);
	parse_options(argc, argv, &o);
	close_others(&o);
	if (sodium_init() == -1)
		return log_failure(&(struct err){ .text = "libsodium does not start" }, 1);
	int config_status = read_config(&config, &o, &auth);
	if (config_status != GO_ON)
		return config_status;
	log_init("boxd", config.log_level);
	signal(SIGPIPE, SIG_IGN);
	umask(022);
	raise_nofile();
	/* by name, and now: after an upgrade that name is another file */
	if (readlink("/proc/self/exe", self, sizeof(self) - 1) == -1)
		return log_failure(&(struct err){ .text = "cannot read /proc/self/exe: is /proc mounted?" }, 1);
	/* a crashed worker leaves its init to us, not to the machine's pid 1 */
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (dirs_open(&dirs, &config, &e) == -1)
		return log_failure(&e, 1);
	if (machine_open(&machine, &dirs, &config, &e) == -1) {
		machine_tidy(&machine);
		return log_failure(&e, 1);
	}
	struct boxd h = {
		.loop = ev_default_loop(EVFLAG_AUTO),
		.config = &config,
		.dirs = &dirs,
		.machine = &machine,
		.started = ev_time(),
		.next_id = (uint64_t)(ev_time() * 1e6),
	};
	int status = boxd_run(&h, &dirs, &auth, &exec_again, &e);
	if (status == -1)
		status = log_failure(&e, 1);
	if (exec_again)
		auth_hand_over(h.auth);
	boxd_close(&h);
	if (exec_again) {
		execv(self, argv);
		log_error("execute %s again: %s", self, strerror(errno));
		status = 1;
	}
	await_children();
	dirs_tidy(&dirs);
	machine_tidy(&machine);
	machine_close(&machine);
	dirs_close(&dirs);
	if (status == 0)
		log_info("stopped");
	return status;
}
