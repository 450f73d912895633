/*
 * A rule is about a path and all below it.  A mount of something above it would show it
 * as well, so a path is refused when it is, is below, or contains a blocked one.  The
 * operator's mounts.allow is a ceiling; blocks win over it, but for those that exist
 * to protect the careless: there an entry strictly below the block opens that entry.
 * Roots that LangBot configured are a second ceiling, for its own sessions; and beside the directory of such a
 * session's workspace are those of others.  (What is above them all is LangBot's to give.)  A shared path opens what
 * is below it in a directory of boxd's own: LangBot's files, where no other place was told.
 */
#include "hostrules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "path.h"

static const struct {
	bool        when_writable; /* else always */
	bool        openable;      /* by mounts.allow */
	const char *is;            /* "... is blocked" */
	const char *remedy;
} kinds[] = {
	[RULE_BLOCK] = { false, false, "is blocked by mounts.block",
	    "choose a directory elsewhere, or let the operator take it off mounts.block in boxd.conf" },
	[RULE_SYSTEM] = { false, false, "is blocked", "choose a directory elsewhere" },
	[RULE_HOME] = { false, true, "is blocked", "choose a directory elsewhere" },
	[RULE_PROGRAMS] = { true, true, "holds the host's programs", "mount it read-only" },
	[RULE_OWN] = { false, false, "is boxd's own", "choose a directory elsewhere" },
	[RULE_OWN_PROGRAMS] = { true, false, "holds boxd's own programs", "mount it read-only" },
	[RULE_TENANT] = { false, false, "is another workspace's", "choose a directory of your own" },
};

/* "/a/link (really /a/b)": what was asked for, and what it is. */
static const char *
named(const char *asked, const char *real)
{
	static char text[700];
	char        normal[LIM_PATH + 1];

	snprintf(text, sizeof(text), "%.300s", log_escape(asked, strlen(asked)));
	if (!path_normal(asked, normal) || strcmp(normal, real) != 0)
		snprintf(text + strlen(text), 350, " (really %.300s)", log_escape(real, strlen(real)));
	return text;
}

/* Has the operator opened a part of what this rule blocks, with the path in it? */
static bool
is_opened(const struct msg_worker_start *w, const struct msg_path_rule *block, const char *real)
{
	for (size_t i = 0; i < w->rules.n; i++) {
		const struct msg_path_rule *r = &w->rules.v[i];

		if (r->rule == RULE_ALLOW && path_within(real, r->path) && path_within(r->path, block->path) &&
		    strcmp(r->path, block->path) != 0)
			return true;
	}
	return false;
}

static int
refuse(const struct hostpath_ask *ask, const char *real, const struct msg_path_rule *r, struct err *e)
{
	const char *is = kinds[r->rule].is, *remedy = kinds[r->rule].remedy, *path = named(ask->path, real);
	char        open[300] = "";

	if (kinds[r->rule].openable && strcmp(real, r->path) != 0 && path_within(real, r->path))
		snprintf(open, sizeof(open), ", or let the operator open it with mounts.allow = %.200s in boxd.conf",
		    log_escape(real, strlen(real)));
	if (strcmp(real, r->path) == 0 || r->rule == RULE_TENANT)
		return err_set(e, E_INVALID, "%s: %s %s; %s%s", ask->field, path, is, remedy, open);
	return err_set(e, E_INVALID, "%s: %s %s %s, which %s; %s%s", ask->field, path,
	    path_within(real, r->path) ? "is below" : "contains", r->path, is, remedy, open);
}

static bool
is_ceiling(enum mount_rule r)
{
	return r == RULE_ALLOW || r == RULE_ROOT;
}

static bool
is_shared(const struct msg_worker_start *w, const char *real)
{
	for (size_t i = 0; i < w->rules.n; i++) {
		const struct msg_path_rule *r = &w->rules.v[i];

		if (r->rule == RULE_SHARED && path_within(real, r->path) && strcmp(real, r->path) != 0)
			return true;
	}
	return false;
}

/* Its path is the workspace's own directory; those beside it, and the one they are in, are not. */
static bool
is_of_another(const struct msg_path_rule *r, const char *real)
{
	char        all[LIM_PATH + 1];
	const char *slash = strrchr(r->path, '/');

	snprintf(all, sizeof(all), "%.*s", (int)(slash - r->path), r->path);
	return path_within(real, all) && !path_within(real, r->path);
}

static bool
is_about(const struct msg_path_rule *r, const char *real)
{
	if (r->rule == RULE_TENANT)
		return is_of_another(r, real);
	return path_within(real, r->path) || path_within(r->path, real);
}

static int
check_blocks(const struct hostpath_ask *ask, const char *real, const struct msg_worker_start *w, struct err *e)
{
	for (size_t i = 0; i < w->rules.n; i++) {
		const struct msg_path_rule *r = &w->rules.v[i];

		if (is_ceiling(r->rule) || r->rule == RULE_SHARED || (kinds[r->rule].when_writable && !ask->writable))
			continue;
		if (!is_about(r, real))
			continue;
		if (kinds[r->rule].openable && is_opened(w, r, real))
			continue;
		if (r->rule == RULE_OWN && is_shared(w, real))
			continue;
		return refuse(ask, real, r, e);
	}
	return 0;
}

/* The paths of a ceiling, as far as they fit into a sentence. */
static const char *
ceiling(const struct msg_worker_start *w, enum mount_rule which)
{
	static char text[400];
	size_t      n = 0;

	*text = '\0';
	for (size_t i = 0; i < w->rules.n && n < sizeof(text); i++)
		if (w->rules.v[i].rule == which)
			n += (size_t)snprintf(
			    text + n, sizeof(text) - n, "%s%s", n > 0 ? ", " : "", w->rules.v[i].path);
	return text;
}

static bool
is_under(const char *real, const struct msg_worker_start *w, enum mount_rule which)
{
	bool any = false;

	for (size_t i = 0; i < w->rules.n; i++) {
		if (w->rules.v[i].rule != which)
			continue;
		if (path_within(real, w->rules.v[i].path))
			return true;
		any = true;
	}
	return !any;
}

static int
check_ceilings(const struct hostpath_ask *ask, const char *real, const struct msg_worker_start *w, struct err *e)
{
	if (!is_under(real, w, RULE_ALLOW))
		return err_set(e, E_INVALID,
		    "%s: %.350s is outside of mounts.allow (%s); choose a directory below one of these, "
		    "or let the operator add it to mounts.allow in boxd.conf",
		    ask->field, named(ask->path, real), ceiling(w, RULE_ALLOW));
	if (!is_under(real, w, RULE_ROOT))
		return err_set(e, E_INVALID, "%s: %.350s is outside of LangBot's allowed_mount_roots (%s)", ask->field,
		    named(ask->path, real), ceiling(w, RULE_ROOT));
	return 0;
}

/*
 * An agent's host_path, which LangBot would have checked so itself.  These roots are a part of the spec and of nothing
 * but host_path; the rules above are the house's, for every mount, and may change while the session lives.
 */
static int
check_roots(const struct hostpath_ask *ask, const char *real, struct err *e)
{
	char   all[700] = "", root[LIM_PATH + 1];
	size_t n = 0;

	if (ask->roots == NULL || ask->roots->n == 0)
		return 0;
	for (size_t i = 0; i < ask->roots->n; i++) {
		if (path_normal(ask->roots->v[i], root) && path_within(real, root))
			return 0;
		if (n < sizeof(all))
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", i > 0 ? ", " : "", ask->roots->v[i]);
	}
	return err_set(e, E_INVALID, "host_path is outside allowed_mount_roots: %s", all);
}

/* ---- container engines ------------------------------------------------------------ */

static const char *const engines[] = {
	"docker.sock",
	"containerd.sock",
	"podman.sock",
	"crio.sock",
	"buildkitd.sock",
	"dockershim.sock",
};

static bool
is_engine(const char *path)
{
	const char *name = strrchr(path, '/');

	for (size_t i = 0; name != NULL && i < sizeof(engines) / sizeof(*engines); i++)
		if (strcmp(name + 1, engines[i]) == 0)
			return true;
	return false;
}

/* Whoever can talk to an engine is root outside.  The kernel tells every socket that has a path. */
static int
check_engines(const struct hostpath_ask *ask, const char *real, struct err *e)
{
	char  *line = NULL;
	size_t size = 0;
	int    r = 0;
	FILE  *f = fopen("/proc/net/unix", "re");

	while (f != NULL && r == 0 && getline(&line, &size, f) != -1) {
		char *path = strchr(line, '/');

		if (path == NULL)
			continue;
		path[strcspn(path, "\n")] = '\0';
		if (is_engine(path) && path_within(path, real))
			r = err_set(e, E_INVALID,
			    "%s: %s contains %.300s, the socket of a container engine; choose a directory without it",
			    ask->field, named(ask->path, real), log_escape(path, strlen(path)));
	}
	if (f != NULL)
		fclose(f);
	free(line);
	return r;
}

int
hostrules_check(const struct hostpath_ask *ask, const char *real, const struct msg_worker_start *rules, struct err *e)
{
	if (rules->rules.n == 0)
		return err_set(e, E_DENIED, "%s: no rules for host paths have come", ask->field);
	if (check_roots(ask, real, e) == -1 || check_blocks(ask, real, rules, e) == -1 ||
	    check_ceilings(ask, real, rules, e) == -1)
		return -1;
	return check_engines(ask, real, e);
}
