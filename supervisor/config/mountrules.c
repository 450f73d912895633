/*
 * The rules are made once, at the start, and without symlinks: a link that somebody
 * turns later moves no rule.  They are applied by the session's worker, to the real
 * path of what it has opened (proto/host/hostpath.c).
 */
#include "config/mountrules.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"

static const struct {
	enum mount_rule rule;
	const char     *path;
} built_in[] = {
	/* "/" is not here: it contains those that are */
	{ RULE_SYSTEM, "/etc" },
	{ RULE_SYSTEM, "/proc" },
	{ RULE_SYSTEM, "/sys" },
	{ RULE_SYSTEM, "/dev" },
	{ RULE_SYSTEM, "/boot" },
	{ RULE_SYSTEM, "/run" },
	{ RULE_SYSTEM, "/var/run" },
	{ RULE_SYSTEM, "/var/spool/cron" }, /* what is written there is run, as root too */
	{ RULE_SYSTEM, "/var/lib/docker" }, /* the files of containers, and their owners' */
	{ RULE_SYSTEM, "/var/lib/containerd" },
	{ RULE_SYSTEM, "/var/lib/containers" },
	{ RULE_SYSTEM, "/var/lib/kubelet" },
	{ RULE_HOME, "/root" },
	/* written to by root inside as by root outside, for what is root's */
	{ RULE_PROGRAMS, "/usr" },
	{ RULE_PROGRAMS, "/bin" },
	{ RULE_PROGRAMS, "/sbin" },
	{ RULE_PROGRAMS, "/lib" },
	{ RULE_PROGRAMS, "/lib32" },
	{ RULE_PROGRAMS, "/lib64" },
	{ RULE_PROGRAMS, "/libx32" },
};

struct mountrules {
	struct msg_path_rule v[LIM_PATH_RULES]; /* their paths are owned */
	size_t               n;
};

static bool
is_there(const struct mountrules *r, enum mount_rule rule, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].rule == rule && strcmp(r->v[i].path, path) == 0)
			return true;
	return false;
}

/* The real path, or for what does not exist yet the path as it is written. */
static int
add_rule(struct mountrules *r, enum mount_rule rule, const char *path, struct err *e)
{
	char *real = realpath(path, NULL);

	if (real == NULL)
		real = strdup(path);
	if (real == NULL)
		return err_set(e, E_SYS, "no memory for the rules of mounts");
	if (is_there(r, rule, real)) {
		free(real);
		return 0;
	}
	if (r->n == LIM_PATH_RULES) {
		free(real);
		return err_set(e, E_INVALID, "mounts.allow and mounts.block have more than %d paths", LIM_PATH_RULES);
	}
	r->v[r->n++] = (struct msg_path_rule){ .rule = rule, .path = real };
	return 0;
}

static int
add_list(struct mountrules *r, enum mount_rule rule, const char *list, struct err *e)
{
	char path[LIM_PATH + 1];

	while (config_next_path(&list, path))
		if (add_rule(r, rule, path, e) == -1)
			return -1;
	return 0;
}

/* Where LangBot's skills and workspaces are unless langbot_dir says otherwise. */
static int
add_shared(struct mountrules *r, const struct dirs *d, struct err *e)
{
	char  path[PATH_MAX + 16];
	char *state = realpath(d->state, NULL);

	if (state == NULL)
		return err_sys(e, "find %s", d->state);
	snprintf(path, sizeof(path), "%s/langbot", state);
	free(state);
	return add_rule(r, RULE_SHARED, path, e);
}

/* What of boxd's own the operator has put elsewhere: images of volumes, and secrets. */
static int
add_files(struct mountrules *r, const struct config *c, struct err *e)
{
	const char *const paths[] = { c->pool_dir, c->token_file, c->tls_key };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		if (*paths[i] != '\0' && add_rule(r, RULE_OWN, paths[i], e) == -1)
			return -1;
	return 0;
}

static int
add_all(struct mountrules *r, const struct config *c, const struct dirs *d, struct err *e)
{
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		if (add_rule(r, built_in[i].rule, built_in[i].path, e) == -1)
			return -1;
	if (add_rule(r, RULE_OWN, d->state, e) == -1 || add_rule(r, RULE_OWN, d->runtime, e) == -1 ||
	    add_rule(r, RULE_OWN_PROGRAMS, d->libexec, e) == -1 || add_shared(r, d, e) == -1 ||
	    add_files(r, c, e) == -1)
		return -1;
	if (add_list(r, RULE_ALLOW, c->mounts_allow, e) == -1)
		return -1;
	return add_list(r, RULE_BLOCK, c->mounts_block, e);
}

struct mountrules *
mountrules_open(const struct config *c, const struct dirs *d, struct err *e)
{
	struct mountrules *r = calloc(1, sizeof(*r));

	if (r == NULL)
		err_set(e, E_SYS, "no memory for the rules of mounts");
	else if (add_all(r, c, d, e) == -1)
		mountrules_close(&r);
	return r;
}

void
mountrules_close(struct mountrules **rp)
{
	struct mountrules *r = *rp;

	*rp = NULL;
	for (size_t i = 0; r != NULL && i < r->n; i++)
		free((char *)r->v[i].path);
	free(r);
}

/* ---- by the text alone ---- */

/* As path_normal, and ".." takes the part before it away. */
static bool
path_collapse(const char *path, char out[LIM_PATH + 1])
{
	size_t n = 0;

	if (*path != '/')
		return false;
	while (*(path += strspn(path, "/")) != '\0') {
		size_t part = strcspn(path, "/");

		if (part == 2 && memcmp(path, "..", 2) == 0) {
			while (n > 0 && out[--n] != '/')
				;
		} else if (part != 1 || *path != '.') {
			if (n + 1 + part > LIM_PATH)
				return false;
			out[n] = '/';
			memcpy(out + n + 1, path, part);
			n += 1 + part;
		}
		path += part;
	}
	if (n == 0)
		out[n++] = '/';
	out[n] = '\0';
	return true;
}

static bool
path_touches(const char *path, const char *closed)
{
	return path_within(path, closed) || path_within(closed, path);
}

/* Has the operator opened a part of what this rule closes, with the path in it?  Or is it LangBot's part of our own? */
static bool
is_opened(const struct mountrules *r, const struct msg_path_rule *closed, const char *path)
{
	enum mount_rule by = closed->rule == RULE_HOME ? RULE_ALLOW : RULE_SHARED;

	if (closed->rule != RULE_HOME && closed->rule != RULE_OWN)
		return false;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].rule == by && path_within(path, r->v[i].path) && path_within(r->v[i].path, closed->path) &&
		    strcmp(r->v[i].path, closed->path) != 0)
			return true;
	return false;
}

static bool
is_closing(enum mount_rule rule)
{
	return rule == RULE_SYSTEM || rule == RULE_HOME || rule == RULE_BLOCK || rule == RULE_OWN;
}

bool
mountrules_block(const struct mountrules *r, const char *path)
{
	char plain[LIM_PATH + 1];

	if (!path_collapse(path, plain))
		return false;
	for (size_t i = 0; i < sizeof(built_in) / sizeof(*built_in); i++)
		if (built_in[i].rule == RULE_SYSTEM && path_touches(plain, built_in[i].path))
			return true; /* by the name it has before its links are followed */
	for (size_t i = 0; i < r->n; i++)
		if (is_closing(r->v[i].rule) && path_touches(plain, r->v[i].path) && !is_opened(r, &r->v[i], plain))
			return true;
	return false;
}

bool
mountrules_opens(const struct mountrules *r, const char *dir)
{
	char plain[LIM_PATH + 1];

	if (!path_collapse(dir, plain))
		return false;
	for (size_t i = 0; i < r->n; i++)
		if (r->v[i].rule == RULE_HOME && path_within(plain, r->v[i].path) && strcmp(plain, r->v[i].path) != 0)
			return true;
	return false;
}

void
mountrules_fill(const struct mountrules *r, struct msg_path_rule rules[LIM_ALL_RULES], struct msg_worker_start *start)
{
	memcpy(rules, r->v, r->n * sizeof(*rules));
	start->rules.n = r->n;
	start->rules.v = rules;
}
