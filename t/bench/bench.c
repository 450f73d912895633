/*
 * boxd beside bare spawns and bubblewrap, in one run, as ratios.
 *
 * Machines are noisy and neighbours come and go, so what is compared is measured
 * in turns: one bare spawn, one of boxd, one bare spawn, ...  Ratios are of medians
 * (and of 95th percentiles); absolute times are shown to be looked at, not kept.
 *
 *	bench BUILD-DIR [table|json]
 *	bench net ...		the client of net.c
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "bench.h"
#include "boxctl/client.h"
#include "langbot.h"
#include "net.h"

enum {
	WARM = 500,     /* turns of the warm exec */
	COLD = 150,     /* turns of the cold cycle */
	AT_ONCE = 16,   /* commands in flight for throughput */
	THROUGH = 2000, /* of each kind for throughput */
	SPREAD = 4,     /* over so many sessions */
	IDLE = 200,     /* sessions for the memory figure */
	ECHO = 500,     /* messages through a relay and back */
	BULK_MB = 256,  /* and so much of them */
};

extern char **environ;

struct ratios {
	struct series warm, warm_bare, mount, mount_warm, cold, cold_bare, bwrap, bwrap_bare, box, box_bare, echo;
	struct series python, python_bare, python_echo;
	double        bulk, python_bulk;
	char          no_python[256]; /* why the runtime LangBot ships was not measured */
	double        throughput, throughput_bare;
	double        idle_kib;
	bool          has_bwrap;
	struct way    down, up, connect; /* MB/s, MB/s and us */
	struct series net_cold, net_cold_off;
	char          no_net[256]; /* why the network was not measured */
};

static char   dir[] = "/tmp/boxd-bench-XXXXXX";
static char   mount_dir[64]; /* something to mount */
static pid_t  daemon_pid;
struct client client;

static void
clean_up(void)
{
	char command[128];

	if (daemon_pid > 0) {
		kill(daemon_pid, SIGTERM);
		waitpid(daemon_pid, NULL, 0);
	}
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command) != 0)
		fprintf(stderr, "bench: %s stays\n", dir);
}

void
die(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	fprintf(stderr, "bench: ");
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

/* ---- what is measured ------------------------------------------------------------- */

static pid_t
spawn(char *const argv[])
{
	pid_t pid;

	errno = posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ);
	return errno == 0 ? pid : -1;
}

static double
time_spawn(char *const argv[])
{
	int    status;
	double start = now_us();
	pid_t  pid = spawn(argv);

	if (pid == -1 || waitpid(pid, &status, 0) != pid)
		die("%s: %s", argv[0], strerror(errno));
	if (status != 0)
		die("%s failed", argv[0]);
	return now_us() - start;
}

static double
time_bare(void)
{
	return time_spawn((char *[]){ "/bin/sh", "-c", "true", NULL });
}

/* As close to a session of ours as its options go. */
static double
time_bwrap(void)
{
	return time_spawn((char *[]){ "bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/usr", "/usr",
	    "--symlink", "usr/bin", "/bin", "--symlink", "usr/lib", "/lib", "--symlink", "usr/lib64", "/lib64",
	    "--ro-bind", "/etc/alternatives", "/etc/alternatives", "--ro-bind", "/etc/ssl", "/etc/ssl", "--proc",
	    "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--tmpfs", "/home", "--tmpfs", "/workspace", "--chdir",
	    "/workspace", "sh", "-c", "true", NULL });
}

void
call(enum msg_type t, const void *body, struct msg *m)
{
	struct err e = { 0 };

	if (client_call(&client, t, body, m, &e) == -1)
		die("%s: %s", msg_name(t), e.text);
}

void
create_with(const char *name, enum network network)
{
	struct msg_create c;
	struct msg        m;

	msg_defaults(MSG_CREATE, &c);
	c.session = name;
	c.spec.network = network;
	call(MSG_CREATE, &c, &m);
	msg_clear(&m);
}

static void
create(const char *name)
{
	create_with(name, NETWORK_OFF);
}

void delete (const char *name)
{
	struct msg m;

	call(MSG_DELETE, &(struct msg_delete){ .session = name }, &m);
	msg_clear(&m);
}

static void
exec_true_with(const char *name, const char *mounted)
{
	struct msg_mount mount = { .host_path = mounted,
		.mount_path = "/opt/mounted",
		.mode = MOUNT_RO,
		.content_digest = "",
		.manifest_path = "" };
	struct msg_exec  x;
	struct msg       m;

	msg_defaults(MSG_EXEC, &x);
	x.session = name;
	x.command = "true";
	x.extra_mounts.n = mounted != NULL;
	x.extra_mounts.v = &mount;
	call(MSG_EXEC, &x, &m);
	if (((const struct msg_exec_result *)m.body)->exit_code != 0)
		die("true did not succeed in the sandbox");
	msg_clear(&m);
}

static void
exec_true(const char *name)
{
	exec_true_with(name, NULL);
}

/* Of our own: nobody else's is anybody's to mount. */
static double
time_mount(void)
{
	double start = now_us();

	exec_true_with("warm", mount_dir);
	return now_us() - start;
}

static double
time_warm(void)
{
	double start = now_us();

	exec_true("warm");
	return now_us() - start;
}

static double
time_cold_with(const char *name, enum network network)
{
	double start = now_us();

	create_with(name, network);
	exec_true(name);
	delete (name);
	return now_us() - start;
}

static double
time_cold_net(void)
{
	return time_cold_with("netcold", NETWORK_ON);
}

static double
time_cold_off(void)
{
	return time_cold_with("netcold", NETWORK_OFF);
}

static double
time_cold(void)
{
	return time_cold_with("cold", NETWORK_OFF);
}

static void
take_turns(size_t n, double (*a)(void), struct series *sa, double (*b)(void), struct series *sb)
{
	for (int i = 0; i < 5; i++) { /* caches */
		a();
		b();
	}
	for (size_t i = 0; i < n; i++) {
		sa->us[sa->n++] = a();
		sb->us[sb->n++] = b();
	}
}

/* ---- LangBot's path ---- */

static struct langbot *langbot;

static double
time_box(void)
{
	return langbot_exec(langbot);
}

/* Of one kind of client: commands, messages, bytes. */
static void
measure_langbot(struct series *exec, struct series *bare, struct series *echo, double *bulk)
{
	take_turns(WARM, time_box, exec, time_bare, bare);
	for (size_t i = 0; i < ECHO; i++)
		echo->us[echo->n++] = langbot_echo(langbot);
	*bulk = langbot_bulk(langbot, BULK_MB);
	langbot_close(&langbot);
}

/* The address is boxd's to tell; the token is where it was made. */
static void
open_langbot(void)
{
	char       path[96], token[256] = "", address[128];
	struct msg m;
	struct err e = { 0 };

	call(MSG_STATUS, &(struct msg_status){}, &m);
	snprintf(address, sizeof(address), "%s", ((const struct msg_status_result *)m.body)->http_address);
	msg_clear(&m);
	snprintf(path, sizeof(path), "%s/state/keys/langbot.token", dir);
	FILE *f = fopen(path, "re");
	if (f == NULL || fscanf(f, "%255s", token) != 1)
		die("read %s: %s", path, strerror(errno));
	fclose(f);
	if ((langbot = langbot_open(address, token, &e)) == NULL)
		die("%s", e.text);
}

#define PYTHON_ADDRESS "127.0.0.1:5498"
#define PYTHON_TOKEN "bench-bench-bench-bench-bench-bench-bench"

/* The runtime LangBot ships needs docker (podman's shim will do) and its own package, which make test installs. */
static void
measure_python(const char *build, struct ratios *r)
{
	char  program[PATH_MAX];
	pid_t pid;

	snprintf(program, sizeof(program), "%s/langbot/bin/lbp", build);
	if (access(program, X_OK) == -1) {
		snprintf(r->no_python, sizeof(r->no_python), "lbp is not installed: make test does it");
		return;
	}
	if (system("docker info >/dev/null 2>&1") != 0) {
		snprintf(r->no_python, sizeof(r->no_python), "lbp box needs docker, and none answers here");
		return;
	}
	setenv("LANGBOT_BOX_CONTROL_TOKEN", PYTHON_TOKEN, 1);
	pid = spawn((char *[]){ program, "box", "--host", "127.0.0.1", "--ws-control-port", "5498", NULL });
	unsetenv("LANGBOT_BOX_CONTROL_TOKEN");
	struct err e = { 0 };
	for (int i = 0; i < 500 && (langbot = langbot_open(PYTHON_ADDRESS, PYTHON_TOKEN, &e)) == NULL; i++)
		usleep(20000);
	if (langbot == NULL)
		snprintf(r->no_python, sizeof(r->no_python), "lbp box does not answer: %.200s", e.text);
	else
		measure_langbot(&r->python, &r->python_bare, &r->python_echo, &r->python_bulk);
	kill(pid, SIGINT);
	waitpid(pid, NULL, 0);
}

/* ---- throughput ---------------------------------------------------------------------- */

static double
bare_per_second(void)
{
	char *const argv[] = { "/bin/sh", "-c", "true", NULL };
	double      start = now_us();
	int         started = 0;

	for (int running = 0, done = 0; done < THROUGH;) {
		for (; running < AT_ONCE && started < THROUGH; running++, started++)
			if (spawn(argv) == -1)
				die("spawn: %s", strerror(errno));
		if (waitpid(-1, NULL, 0) == -1)
			die("waitpid: %s", strerror(errno));
		running--;
		done++;
	}
	return THROUGH / ((now_us() - start) / 1e6);
}

static void
send_exec(int i)
{
	struct msg_exec x;
	struct err      e = { 0 };
	char            name[16];

	snprintf(name, sizeof(name), "t%d", i % SPREAD);
	msg_defaults(MSG_EXEC, &x);
	x.session = name;
	x.command = "true";
	if (client_send(&client, MSG_EXEC, &x, NULL, &e) == -1)
		die("exec: %s", e.text);
}

/* One reply, whichever. */
static void
take_reply(void)
{
	struct msg m;
	struct err e = { 0 };
	int        r;

	while ((r = client_take(&client, &m, &e)) == 1) {
		struct pollfd p = { .fd = client.fd, .events = POLLIN };

		if (poll(&p, 1, -1) == -1 || client_fill(&client, &e) == -1)
			die("reply: %s", e.text);
	}
	if (r == -1 || m.failed)
		die("reply: %s", r == -1 ? e.text : m.error.text);
	msg_clear(&m);
}

static double
boxd_per_second(void)
{
	char name[16];

	for (int i = 0; i < SPREAD; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		create(name);
		exec_true(name);
	}
	double start = now_us();
	int    sent = 0;
	for (int running = 0, done = 0; done < THROUGH; done++, running--) {
		for (; running < AT_ONCE && sent < THROUGH; running++)
			send_exec(sent++);
		take_reply();
	}
	double rate = THROUGH / ((now_us() - start) / 1e6);
	for (int i = 0; i < SPREAD; i++) {
		snprintf(name, sizeof(name), "t%d", i);
		delete (name);
	}
	return rate;
}

/* ---- memory ---------------------------------------------------------------------------- */

static double
available_kib(void)
{
	char   line[128];
	double kib = 0;
	FILE  *f = fopen("/proc/meminfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (sscanf(line, "MemAvailable: %lf kB", &kib) == 1)
			break;
	if (f != NULL)
		fclose(f);
	return kib;
}

static double
idle_session_kib(void)
{
	char   name[16];
	double before = available_kib();

	for (int i = 0; i < IDLE; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		create(name);
	}
	sleep(1); /* spare workers and the kernel's own lists settle */
	double after = available_kib();
	for (int i = 0; i < IDLE; i++) {
		snprintf(name, sizeof(name), "i%d", i);
		delete (name);
	}
	return (before - after) / IDLE;
}

/* ---- what is told ------------------------------------------------------------------------ */

static double
percentile(struct series *s, double p)
{
	qsort(s->us, s->n, sizeof(double), by_size);
	return s->us[(size_t)(p / 100 * (double)(s->n - 1))];
}

static double
ratio(struct series *a, struct series *b, double p)
{
	return percentile(a, p) / percentile(b, p);
}

/* "null" when it was not measured.  Until the fourth next call. */
static const char *
ratio_text(struct way *w)
{
	static char     text[4][32];
	static unsigned next;
	char           *out = text[next++ % 4];

	snprintf(out, sizeof(text[0]), "null");
	if (w->inside.n > 0)
		snprintf(out, sizeof(text[0]), "%.3f", ratio(&w->inside, &w->outside, 50));
	return out;
}

static void
row(const char *what, struct series *a, struct series *bare)
{
	printf("%-34s %9.0f %9.0f   %6.2f %6.2f\n", what, percentile(a, 50), percentile(a, 95), ratio(a, bare, 50),
	    ratio(a, bare, 95));
}

static void
print_table(struct ratios *r)
{
	printf("%-34s %9s %9s   %6s %6s\n", "", "p50 us", "p95 us", "/bare", "p95");
	row("bare posix_spawn sh -c true", &r->warm_bare, &r->warm_bare);
	row("warm exec, sh -lc true", &r->warm, &r->warm_bare);
	printf("%-34s %9.0f %9.0f   %6.2f of one without\n", "warm exec with one mount", percentile(&r->mount, 50),
	    percentile(&r->mount, 95), ratio(&r->mount, &r->mount_warm, 50));
	row("cold create + exec + delete", &r->cold, &r->cold_bare);
	if (r->has_bwrap)
		row("bubblewrap, one shot", &r->bwrap, &r->bwrap_bare);
	else
		printf("%-34s not measured: bwrap is not installed\n", "bubblewrap, one shot");
	row("LangBot's box_exec, WebSocket+JSON", &r->box, &r->box_bare);
	if (*r->no_python == '\0')
		row("the same by lbp box", &r->python, &r->python_bare);
	else
		printf("%-34s not measured: %s\n", "the same by lbp box", r->no_python);
	printf("\nrelay: echo %.0f us, bulk %.0f MB/s there and back\n", percentile(&r->echo, 50), r->bulk);
	if (*r->no_python == '\0')
		printf("relay of lbp box: echo %.0f us, bulk %.0f MB/s\n", percentile(&r->python_echo, 50),
		    r->python_bulk);
	printf("\ncold cycle, network on / off: %.2f\n", ratio(&r->net_cold, &r->net_cold_off, 50));
	if (*r->no_net != '\0')
		printf("network on, through box-egress / direct: not measured: %s\n", r->no_net);
	else
		printf("network on, through box-egress / direct: in %.0f MB/s / %.0f = %.2f, out %.0f / %.0f = %.2f, "
		       "connect to first byte %.0f us / %.0f = %.2f\n",
		    percentile(&r->down.inside, 50), percentile(&r->down.outside, 50),
		    ratio(&r->down.inside, &r->down.outside, 50), percentile(&r->up.inside, 50),
		    percentile(&r->up.outside, 50), ratio(&r->up.inside, &r->up.outside, 50),
		    percentile(&r->connect.inside, 50), percentile(&r->connect.outside, 50),
		    ratio(&r->connect.inside, &r->connect.outside, 50));
	printf("\n%d at once: boxd %.0f/s, bare %.0f/s, ratio %.2f\n", AT_ONCE, r->throughput, r->throughput_bare,
	    r->throughput / r->throughput_bare);
	printf("idle session: %.0f KiB (MemAvailable, %d sessions)\n", r->idle_kib, IDLE);
}

static void
print_json(struct ratios *r)
{
	char bwrap[32] = "null";

	if (r->has_bwrap)
		snprintf(bwrap, sizeof(bwrap), "%.3f", ratio(&r->bwrap, &r->bwrap_bare, 50));
	printf("{\"warm_exec_ratio\": %.3f, \"warm_exec_ratio_p95\": %.3f, \"mount_exec_ratio\": %.3f, "
	       "\"cold_cycle_ratio\": %.3f, "
	       "\"cold_cycle_ratio_p95\": %.3f, \"bwrap_ratio\": %s, \"throughput_ratio\": %.3f, \"idle_session_kib\": "
	       "%.0f, \"langbot_exec_ratio\": %.3f, \"relay_echo_us\": %.0f, \"relay_mb_per_s\": %.0f, "
	       "\"net_cold_ratio\": %.3f, \"net_in_ratio\": %s, \"net_out_ratio\": %s, \"net_connect_ratio\": %s}\n",
	    ratio(&r->warm, &r->warm_bare, 50), ratio(&r->warm, &r->warm_bare, 95),
	    ratio(&r->mount, &r->mount_warm, 50), ratio(&r->cold, &r->cold_bare, 50),
	    ratio(&r->cold, &r->cold_bare, 95), bwrap, r->throughput / r->throughput_bare, r->idle_kib,
	    ratio(&r->box, &r->box_bare, 50), percentile(&r->echo, 50), r->bulk,
	    ratio(&r->net_cold, &r->net_cold_off, 50), ratio_text(&r->down), ratio_text(&r->up),
	    ratio_text(&r->connect));
}

/* ---- a boxd of our own --------------------------------------------------------------------- */

static void
start_daemon(const char *build)
{
	char                       program[PATH_MAX], state[64], run[64], conf[64], rules[64], log[64], socket[96];
	struct err                 e = { 0 };
	posix_spawn_file_actions_t files;

	if (mkdtemp(dir) == NULL)
		die("mkdtemp: %s", strerror(errno));
	snprintf(mount_dir, sizeof(mount_dir), "%s/mounted", dir);
	if (mkdir(mount_dir, 0755) == -1)
		die("mkdir: %s", strerror(errno));
	atexit(clean_up);
	snprintf(program, sizeof(program), "%s/boxd", build);
	snprintf(state, sizeof(state), "%s/state", dir);
	snprintf(run, sizeof(run), "%s/run", dir);
	snprintf(conf, sizeof(conf), "%s/boxd.conf", dir);
	snprintf(log, sizeof(log), "%s/log", dir);
	snprintf(socket, sizeof(socket), "%s/boxd.sock", run);
	snprintf(rules, sizeof(rules), "%s/network.rules", dir);
	FILE *f = fopen(rules, "we");
	if (f == NULL || fprintf(f, "allow " NET_SERVER "\n") < 0 || fclose(f) != 0)
		die("write %s: %s", rules, strerror(errno));
	f = fopen(conf, "we");
	if (f == NULL ||
	    fprintf(f, "max_sessions = %d\nlog_level = warn\nlisten = 127.0.0.1:0\nnetwork.rules = %s\n", IDLE + 50,
		rules) < 0 ||
	    fclose(f) != 0)
		die("write %s: %s", conf, strerror(errno));
	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_addopen(&files, 2, log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	char *argv[] = { program, "-c", conf, "--state-dir", state, "--runtime-dir", run, NULL };
	errno = posix_spawn(&daemon_pid, program, &files, NULL, argv, environ);
	if (errno != 0)
		die("start %s: %s", program, strerror(errno));
	posix_spawn_file_actions_destroy(&files);
	for (int i = 0; client_open(&client, socket, &e) == -1; i++) {
		if (i == 500 || waitpid(daemon_pid, NULL, WNOHANG) != 0)
			die("boxd does not start; see what it says: %s", e.text);
		usleep(20000);
	}
}

int
main(int argc, char **argv)
{
	static struct ratios r;

	if (argc == 5 && strcmp(argv[1], "net") == 0)
		return net_client(argv + 1);
	if (argc < 2) {
		fprintf(stderr, "usage: bench BUILD-DIR [table|json]\n");
		return 2;
	}
	bool json = argc > 2 && strcmp(argv[2], "json") == 0;
	net_enter(r.no_net, sizeof(r.no_net));
	start_daemon(argv[1]);
	r.has_bwrap = system("bwrap --version >/dev/null 2>&1") == 0;
	create("warm");
	take_turns(WARM, time_warm, &r.warm, time_bare, &r.warm_bare);
	take_turns(WARM, time_mount, &r.mount, time_warm, &r.mount_warm);
	delete ("warm");
	take_turns(COLD, time_cold, &r.cold, time_bare, &r.cold_bare);
	if (r.has_bwrap)
		take_turns(COLD, time_bwrap, &r.bwrap, time_bare, &r.bwrap_bare);
	open_langbot();
	measure_langbot(&r.box, &r.box_bare, &r.echo, &r.bulk);
	measure_python(argv[1], &r);
	take_turns(COLD, time_cold_net, &r.net_cold, time_cold_off, &r.net_cold_off);
	if (*r.no_net == '\0')
		measure_ways(&r.down, &r.up, &r.connect);
	r.throughput_bare = bare_per_second();
	r.throughput = boxd_per_second();
	r.idle_kib = idle_session_kib();
	client_close(&client);
	print_table(&r);
	if (json)
		print_json(&r);
	return 0;
}
