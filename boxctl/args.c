#include "args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/walls.h"
#include "text.h"
#include "value.h"

/* ---- what an option sets ---- */

int
args_set_true(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	*(bool *)opt_target(a, o) = true;
	return 0;
}

int
args_set_text(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	*(const char **)opt_target(a, o) = v;
	return 0;
}

static int
set_path(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	if (strlen(v) > LIM_PATH)
		return err_set(e, E_INVALID, "the path is over %d bytes long", LIM_PATH);
	return args_set_text(a, o, v, e);
}

static int
set_whole(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	return value_whole(o->of, o->field, v, opt_target(a, o), e);
}

static int
set_megabytes(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	return value_megabytes(o->of, o->field, v, opt_target(a, o), e);
}

static int
set_one_of(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	return value_one_of(o->of, o->field, v, opt_target(a, o), e);
}

static int
set_output(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	a->json = strcmp(v, "json") == 0;
	if (!a->json && strcmp(v, "table") != 0)
		return err_set(e, E_INVALID, "'%s' should be 'table' or 'json'", text_safe(v));
	return 0;
}

static int
set_name(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	if (v[0] == '\0' || strlen(v) > LIM_NAME)
		return err_set(e, E_INVALID, "a name has 1 to %d bytes", LIM_NAME);
	a->name = v;
	return 0;
}

/* "PATH:ro": its mode, cut off; without one rw.  A path may have colons of its own. */
static enum mount_mode
cut_mode(char *text)
{
	char *colon = strrchr(text, ':');

	if (colon == NULL || (strcmp(colon, ":ro") != 0 && strcmp(colon, ":rw") != 0))
		return MOUNT_RW;
	*colon = '\0';
	return colon[2] == 'o' ? MOUNT_RO : MOUNT_RW;
}

/* A relative directory is meant from where we are; the daemon is somewhere else. */
static char *
host_path(const char *text)
{
	char *full = *text == '/' || *text == '\0' ? NULL : realpath(text, NULL);

	return full != NULL ? full : strdup(text);
}

static int
set_host_path(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	char *text = strdup(v);

	if (text == NULL)
		return err_set(e, E_SYS, "no memory");
	a->spec.host_path_mode = cut_mode(text);
	free((char *)a->host_path);
	a->host_path = host_path(text);
	free(text);
	if (a->host_path == NULL)
		return err_set(e, E_SYS, "no memory");
	if (*a->host_path == '\0' || strlen(a->host_path) > LIM_PATH)
		return err_set(e, E_INVALID, "a path has 1 to %d bytes", LIM_PATH);
	a->spec.host_path = a->host_path;
	return 0;
}

static int
add_mount(struct args *a, char *host, char *inside, enum mount_mode mode, struct err *e)
{
	size_t            n = a->spec.extra_mounts.n;
	struct msg_mount *all = realloc(a->spec.extra_mounts.v, (n + 1) * sizeof(*all));

	if (all != NULL)
		a->spec.extra_mounts.v = all;
	if (all == NULL || host == NULL || inside == NULL) {
		free(host);
		free(inside);
		return err_set(e, E_SYS, "no memory");
	}
	all[n] = (struct msg_mount){ host, inside, mode, "", "" };
	a->spec.extra_mounts.n++;
	return 0;
}

/* HOST:INSIDE[:ro|rw], divided at the last colon that is left: what is inside has none. */
static int
set_mount(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	char *text = strdup(v);

	if (text == NULL)
		return err_set(e, E_SYS, "no memory");
	enum mount_mode mode = cut_mode(text);
	char           *colon = strrchr(text, ':');
	int             r;
	if (colon == NULL || colon == text || colon[1] == '\0') {
		r = err_set(e, E_INVALID, "'%s' is not HOST:INSIDE, HOST:INSIDE:ro or HOST:INSIDE:rw", text_safe(v));
	} else if (a->spec.extra_mounts.n == LIM_MOUNTS) {
		r = err_set(e, E_INVALID, "more than %d mounts", LIM_MOUNTS);
	} else {
		*colon = '\0';
		r = add_mount(a, host_path(text), strdup(colon + 1), mode, e);
	}
	free(text);
	return r;
}

static int
set_image(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	if (strlen(v) > LIM_NAME)
		return err_set(e, E_INVALID, "an image's name has up to %d bytes", LIM_NAME);
	a->spec.image = v;
	return 0;
}

static int
set_writable_root(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	a->spec.read_only_rootfs = false;
	return 0;
}

static int
set_cpus(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	const char *rest = "";

	if (value_number(v, &a->spec.cpus, &rest, e) == -1)
		return -1;
	if (*rest != '\0')
		return err_set(e, E_INVALID, "'%s' is not a number of cores", text_safe(v));
	return value_in_range(MSG_SPEC, "cpus", a->spec.cpus, v, e);
}

static int
set_network_rule(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	struct strs *s = &a->spec.network_rules;

	if (s->n % 16 == 0) {
		const char **more = realloc(a->network_rules, (s->n + 17) * sizeof(*more));

		if (more == NULL)
			return err_set(e, E_SYS, "no memory");
		s->v = a->network_rules = more;
	}
	s->v[s->n++] = v;
	s->v[s->n] = NULL;
	return 0;
}

static int
set_timeout(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	const char *rest = "";
	double      sec;

	if (value_number(v, &sec, &rest, e) == -1)
		return -1;
	if (*rest != '\0' || sec < 0 || sec * 1000 > (double)LIM_TIMEOUT_MS)
		return err_set(
		    e, E_INVALID, "'%s' is not a number of seconds up to %lu", text_safe(v), LIM_TIMEOUT_MS / 1000);
	a->exec.timeout_ms = (uint64_t)ceil(sec * 1000); /* a tiny time is not no timeout */
	return 0;
}

static int
set_command(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	if (v[0] == '\0' || strlen(v) > LIM_COMMAND)
		return err_set(e, E_INVALID, "a command has 1 to %lu bytes", LIM_COMMAND);
	a->exec.command = v;
	return 0;
}

/* A pattern alone means a line that matches it. */
static int
set_ready_pattern(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	if (v[0] == '\0' || strlen(v) > LIM_NAME)
		return err_set(e, E_INVALID, "a pattern has 1 to %d bytes", LIM_NAME);
	a->process.ready = READY_WHEN_LINE;
	a->process.ready_pattern = v;
	return 0;
}

static int
set_from(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	a->from = UINT64_MAX;
	return strcmp(v, "end") == 0 ? 0 : value_whole(MSG_PROCESS_ATTACH, "stdout_offset", v, &a->from, e);
}

/* The last of two settings of one name counts, as in a shell. */
static struct pair *
env_slot(struct args *a, const char *name, size_t n)
{
	struct pair *v = (struct pair *)a->exec.env.v;

	for (size_t i = 0; i < a->exec.env.n; i++)
		if (strlen(v[i].name) == n && memcmp(v[i].name, name, n) == 0)
			return &v[i];
	v = realloc(v, (a->exec.env.n + 1) * sizeof(*v));
	if (v == NULL)
		return NULL;
	v[a->exec.env.n] = (struct pair){ strndup(name, n), "" };
	a->exec.env.v = v;
	return &v[a->exec.env.n++];
}

/* NAME=VALUE; NAME alone passes our own value, and nothing when we have none. */
int
args_set_env(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	size_t      n = strcspn(v, "=");
	const char *value = v[n] == '=' ? v + n + 1 : getenv(v);

	if (n == 0)
		return err_set(e, E_INVALID, "'%s' has no name", text_safe(v));
	if (value == NULL)
		return 0;
	struct pair *slot = env_slot(a, v, n);
	if (slot == NULL || slot->name == NULL)
		return err_set(e, E_SYS, "no memory");
	slot->value = value;
	return 0;
}

/* WALL[,WALL...]; also more than once. */
static int
set_require(struct args *a, const struct opt *o, const char *v, struct err *e)
{
	struct strs *all = &a->spec.require;
	enum wall    which = 0;

	for (size_t n; *v != '\0'; v += n + (v[n] == ',')) {
		char name[LIM_NAME + 1];

		n = strcspn(v, ",");
		snprintf(name, sizeof(name), "%.*s", (int)(n < LIM_NAME ? n : LIM_NAME), v);
		if (wall_find(name, &which, e) == -1)
			return -1;
		if (all->n >= LIM_REQUIRE)
			return err_set(e, E_INVALID, "more than %d walls", LIM_REQUIRE);
		a->required[all->n++] = wall_name(which);
	}
	all->v = a->required;
	return 0;
}

/* ---- the tables ---- */

const struct opt global_options[] = {
	{ 'V', "version", NULL, "print the version", FLAG(version) },
	{ .name = NULL },
};

const struct opt common_options[] = {
	{ 'o', "output", "FORMAT", "table (default) or json", BY(set_output) },
	{ 0, "socket", "PATH", "where boxd listens; also $BOXD_SOCKET", TEXT(socket) },
	{ 'h', "help", NULL, "print this help", FLAG(help) },
	{ .name = NULL },
};

const struct opt create_options[] = {
	{ 0, "name", "NAME", "name of the session; boxd makes one if not given", BY(set_name) },
	{ .name = NULL },
};

const struct opt spec_options[] = {
	{ 0, "memory", "SIZE", "memory limit: 512 (MB), 512M, 2G", OF(set_megabytes, spec, SPEC, memory_mb) },
	{ 0, "cpus", "N", "cpu limit in cores, such as 0.5", BY(set_cpus) },
	{ 0, "pids", "N", "most processes and threads", OF(set_whole, spec, SPEC, pids_limit) },
	{ 0, "workspace-size", "SIZE", "size of the private /workspace", OF(set_megabytes, spec, SPEC, workspace_mb) },
	{ 0, "workspace-quota", "SIZE", "most bytes in the --host-path directory",
	    OF(set_megabytes, spec, SPEC, workspace_quota_mb) },
	{ 0, "host-path", "DIR[:ro|rw]", "work in this directory of the host", BY(set_host_path) },
	{ 0, "mount-path", "DIR", "path of the workspace in the sandbox (default /workspace)",
	    OF(set_path, spec, SPEC, mount_path) },
	{ 0, "mount", "HOST:INSIDE[:ro|rw]", "mount another path of the host; can be given many times", BY(set_mount) },
	{ 0, "image", "NAME", "directory image to use as the root", BY(set_image) },
	{ 0, "writable-root", NULL, "make the whole root writable; changes end with the session",
	    BY(set_writable_root) },
	{ 0, "persistent", NULL, "never end it for being idle", FLAG(spec.persistent) },
	{ 0, "idle", "SECONDS", "end it after this time without a command", OF(set_whole, spec, SPEC, idle_sec) },
	{ 0, "network", "off|on", "off (default): loopback only; on: the internet, by the operator's rules",
	    OF(set_one_of, spec, SPEC, network) },
	{ 0, "network-rule", "RULE", "a rule of your own, such as 'deny all'; can be given many times, first match",
	    BY(set_network_rule) },
	{ 0, "network-set", "NAME", "section of the operator's rules", OF(args_set_text, spec, SPEC, network_set) },
	{ 0, "require", "WALL[,WALL]", "create it only with these walls", BY(set_require) },
	{ .name = NULL },
};

const struct opt exec_options[] = {
	{ 'e', "env", "NAME[=VALUE]", "set a variable; without a value, pass our own", BY(args_set_env) },
	{ 'w', "workdir", "DIR", "directory to run in; made if missing", OF(set_path, exec, EXEC, workdir) },
	{ 't', "timeout", "SECONDS", "kill the command after this time; fractions allowed (default: none)",
	    BY(set_timeout) },
	{ 'i', "stdin", NULL, "send our standard input, up to 16 MiB", FLAG(send_stdin) },
	{ 'c', "command", "STRING", "run STRING with 'sh -lc' instead of CMD", BY(set_command) },
	{ 0, "on-timeout", "keep|drop", "drop: delete the session on timeout", OF(set_one_of, exec, EXEC, on_timeout) },
	{ 0, "on-disconnect", "keep|cancel", "cancel: kill the command when boxctl disconnects",
	    OF(set_one_of, exec, EXEC, on_disconnect) },
	{ 0, "no-stream", NULL, "print the output after the command has ended", FLAG(buffered) },
	{ .name = NULL },
};

const struct opt exec_mount_options[] = {
	{ 0, "mount", "HOST:INSIDE[:ro|rw]", "mount more of the host for this command alone; can be given many times",
	    BY(set_mount) },
	{ .name = NULL },
};

const struct opt process_options[] = {
	{ 'e', "env", "NAME[=VALUE]", "start: set a variable; without a value, pass our own", BY(args_set_env) },
	{ 'w', "workdir", "DIR", "start: directory to run in; made if missing", OF(set_path, exec, EXEC, workdir) },
	{ 0, "memory", "SIZE", "start: its own memory limit, within the session's",
	    OF(set_megabytes, spec, SPEC, memory_mb) },
	{ 0, "restart", "WHEN", "start: never (default), on-failure or always",
	    OF(set_one_of, process, PROCESS_SPEC, restart) },
	{ 0, "restart-limit", "N", "start: more ends than N within the window are a failure (5)",
	    OF(set_whole, process, PROCESS_SPEC, restart_limit) },
	{ 0, "restart-window", "SECONDS", "start: see --restart-limit (60)",
	    OF(set_whole, process, PROCESS_SPEC, restart_window_sec) },
	{ 0, "ready", "WHEN", "start: ready at once (none), after its first output, or after a line",
	    OF(set_one_of, process, PROCESS_SPEC, ready) },
	{ 0, "ready-pattern", "REGEX", "start: ready after a matching line of output", BY(set_ready_pattern) },
	{ 0, "ring", "BYTES", "start: output held for clients that attach (262144)",
	    OF(set_whole, process, PROCESS_SPEC, ring_bytes) },
	{ 0, "from", "OFFSET|end", "attach: replay from here (default: all that is held)", BY(set_from) },
	{ 'i', "stdin", NULL, "attach: send our standard input to it", FLAG(send_stdin) },
	{ 0, "eof", NULL, "write: close its standard input after the bytes", FLAG(eof) },
	{ 0, "last", "BYTES", "logs: how much of its standard output (65536)",
	    OF(set_whole, logs, PROCESS_GET, stdout_last) },
	{ .name = NULL },
};

const struct opt rm_options[] = {
	{ 'f', "force", NULL, "a session that is not there is no error", FLAG(force) },
	{ .name = NULL },
};

const struct opt cp_options[] = {
	{ 'q', "quiet", NULL, "do not show how far it is", FLAG(quiet) },
	{ .name = NULL },
};

const struct opt ps_options[] = {
	{ 0, "names", NULL, NULL, FLAG(names_only) }, /* for completion */
	{ .name = NULL },
};

const struct opt pool_options[] = {
	{ 0, "size", "SIZE", "create: of the volume", OF(set_megabytes, volume, POOL_CREATE, size_mb) },
	{ 0, "inodes", "N", "create: maximum number of files (default: one for every 16 KiB)",
	    OF(set_whole, volume, POOL_CREATE, inodes) },
	{ 0, "take-in", NULL, "create: copy existing files; the old directory stays beside it", FLAG(volume.take_in) },
	{ 'f', "force", NULL, "remove: even if it has files", FLAG(force) },
	{ .name = NULL },
};

const struct opt doctor_options[] = {
	{ 0, "attack", NULL, "attack throw-away sessions of the running boxd, and show what held", FLAG(attack) },
	{ 't', "timeout", "SECONDS", "--attack: for each attack, longer on a slow machine (default: 30)",
	    BY(set_timeout) },
	{ .name = NULL },
};

const struct opt net_options[] = {
	{ 0, "rules", NULL, "show the rules in force, and the ranges denied after them", FLAG(net_rules) },
	{ 0, "reload", NULL, "read the file of rules again", FLAG(net_reload) },
	{ .name = NULL },
};

const struct opt token_options[] = {
	{ 0, "new", NULL, "replace the secret first; clients then need the new one", FLAG(new_token) },
	{ .name = NULL },
};

const struct opt langbot_stdio_options[] = {
	{ 0, "url", "URL", "ws://HOST[:PORT] of LangBot's door, in place of boxd's socket", TEXT(url) },
	{ .name = NULL },
};

/* ---- the whole ---- */

void
args_init(struct args *a)
{
	*a = (struct args){ .name = "" };
	a->socket = client_default_path(a->usual_socket);
	msg_defaults(MSG_SPEC, &a->spec);
	msg_defaults(MSG_EXEC, &a->exec);
	a->exec.timeout_ms = 0; /* a person waits, and has Ctrl-C */
	msg_defaults(MSG_PROCESS_SPEC, &a->process);
	msg_defaults(MSG_AGENT_EXEC, &a->agent);
	a->logs.stdout_last = 64 * KIB;
}

void
args_clear(struct args *a)
{
	for (size_t i = 0; i < a->exec.env.n; i++)
		free((char *)a->exec.env.v[i].name);
	free((struct pair *)a->exec.env.v);
	for (size_t i = 0; i < a->spec.extra_mounts.n; i++) {
		free((char *)a->spec.extra_mounts.v[i].host_path);
		free((char *)a->spec.extra_mounts.v[i].mount_path);
	}
	free(a->spec.extra_mounts.v);
	free((char *)a->host_path);
	free(a->network_rules);
	free(a->v);
	*a = (struct args){ 0 };
}
