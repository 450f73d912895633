/*
 * A rule is about a path and all below it.  A mount of something above it would show it as well, so a path is refused
 * if it is a closed one, is below one, or contains one.  All paths that the mount table has for it count (hostview.h),
 * and so do device and inode.
 *
 * The operator's mounts.allow is a ceiling; closed paths win over it, but for those that exist to protect the careless:
 * there an entry strictly below opens that entry.  Roots that LangBot configured are a second ceiling, for its own
 * sessions.  A shared path opens what is below it in a directory of boxd's own: LangBot's files, where no other place
 * is configured.
 *
 * Directories that hold workspaces are closed to every session but for the part that is its own.  To a native client,
 * who is the operator's equal, mounts.allow opens such a directory if it names exactly that one.
 */
#include "host/hostrules.h"

#include <assert.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/path.h"
#include "host/hostview.h"

enum relation { APART, IS, BELOW, CONTAINS };

static const struct {
	bool            closes;        /* else it opens something, or is a ceiling */
	bool            when_writable; /* else always */
	bool            openable;      /* by mounts.allow */
	bool            all_mounts;    /* also what is mounted below the path, and can be seen elsewhere */
	bool            of_tenants;    /* a directory that holds workspaces */
	enum err_reason reason;
	const char     *is; /* "... is blocked" */
	const char     *remedy;
} kinds[] = {
	[RULE_BLOCK] = { true, false, false, true, false, REASON_BLOCKED, "is blocked by mounts.block",
	    "choose a directory elsewhere, or let the operator take it off mounts.block in boxd.conf" },
	[RULE_SYSTEM] = { true, false, false, false, false, REASON_BLOCKED, "is blocked",
	    "choose a directory elsewhere" },
	[RULE_HOME] = { true, false, true, false, false, REASON_BLOCKED, "is blocked", "choose a directory elsewhere" },
	[RULE_PROGRAMS] = { true, true, true, false, false, REASON_NONE, "holds the host's programs",
	    "mount it read-only" },
	[RULE_OWN] = { true, false, false, true, false, REASON_BLOCKED, "is boxd's own",
	    "choose a directory elsewhere" },
	[RULE_OWN_PROGRAMS] = { true, true, false, false, false, REASON_NONE, "holds boxd's own programs",
	    "mount it read-only" },
	[RULE_TENANTS] = { true, false, false, true, true, REASON_OTHERS, "holds other workspaces",
	    "choose a directory of your own" },
	[RULE_BESIDE] = { true, false, false, true, true, REASON_OTHERS, "holds other workspaces",
	    "choose a directory of your own" },
	[RULE_WORKSPACES] = { true, false, false, true, true, REASON_NONE, "holds workspaces",
	    "choose a directory elsewhere, or let the operator name exactly this one in mounts.allow in boxd.conf" },
	[RULE_MAKE] = { 0 }, /* the last */
};

struct check {
	const struct hostpath_ask     *ask;
	const struct msg_worker_start *w;
	struct hostview                view;
};

enum { NAMED = 700, CEILING = 400 }; /* bytes of texts */

/* "/a/link (really /a/b)": what was asked for, and what it is. */
static const char *
named(const char *asked, const char *real, char text[NAMED])
{
	char normal[LIM_PATH + 1];

	snprintf(text, NAMED, "%.300s", log_escape(asked, strlen(asked)));
	if (!path_normal(asked, normal) || strcmp(normal, real) != 0)
		snprintf(text + strlen(text), 350, " (really %.300s)", log_escape(real, strlen(real)));
	return text;
}

static int
refuse(const struct check *c, const char *name, enum relation how, const struct msg_path_rule *r, const char *closed,
    struct err *e)
{
	const char *is = kinds[r->rule].is, *remedy = kinds[r->rule].remedy;
	char        open[300] = "", text[NAMED];
	const char *path = named(c->ask->path, name, text);

	if (kinds[r->rule].openable && how == BELOW)
		snprintf(open, sizeof(open), ", or let the operator open it with mounts.allow = %.200s in boxd.conf",
		    log_escape(name, strlen(name)));
	if (how == BELOW && (r->rule == RULE_TENANTS || r->rule == RULE_BESIDE))
		err_set(e, E_INVALID, "%s: %s is another workspace's; %s", c->ask->field, path, remedy);
	else if (how == IS)
		err_set(e, E_INVALID, "%s: %s %s; %s%s", c->ask->field, path, is, remedy, open);
	else
		err_set(e, E_INVALID, "%s: %s %s %.300s, which %s; %s%s", c->ask->field, path,
		    how == BELOW ? "is below" : "contains", closed, is, remedy, open);
	return err_because(e, kinds[r->rule].reason, c->ask->about, c->ask->index);
}

/* ---- what opens ---- */

/* Has the operator opened a part of what this rule blocks, with the path in it? */
static bool
is_opened(const struct msg_worker_start *w, const char *closed, const char *name)
{
	for (size_t i = 0; i < w->rules.n; i++) {
		const struct msg_path_rule *r = &w->rules.v[i];

		if (r->rule == RULE_ALLOW && path_within(name, r->path) && path_within(r->path, closed) &&
		    strcmp(r->path, closed) != 0)
			return true;
	}
	return false;
}

static bool
is_shared(const struct msg_worker_start *w, const char *name)
{
	for (size_t i = 0; i < w->rules.n; i++) {
		const struct msg_path_rule *r = &w->rules.v[i];

		if (r->rule == RULE_SHARED && path_within(name, r->path) && strcmp(name, r->path) != 0)
			return true;
	}
	return false;
}

/* Symlinks above a workspace's directory are the operator's, and followed; that one itself must be no link. */
static bool
is_within_own(const char *name, const char *own)
{
	char        dir[LIM_PATH + 1], path[PATH_MAX + LIM_PATH + 2];
	const char *slash = strrchr(own, '/');

	if (path_within(name, own))
		return true;
	snprintf(dir, sizeof(dir), "%.*s", (int)(slash - own), own);
	char *real = realpath(dir, NULL);
	if (real == NULL)
		return false;
	snprintf(path, sizeof(path), "%s%s", real, slash);
	free(real);
	return path_within(name, path);
}

static bool
is_mine(const struct msg_worker_start *w, const char *name)
{
	for (size_t i = 0; i < w->rules.n; i++)
		if (w->rules.v[i].rule == RULE_MINE && is_within_own(name, w->rules.v[i].path))
			return true;
	return false;
}

static bool
is_named_by_operator(const struct check *c)
{
	for (size_t i = 0; i < c->w->rules.n; i++)
		if (c->w->rules.v[i].rule == RULE_ALLOW && strcmp(c->w->rules.v[i].path, c->view.v[0].path) == 0)
			return true;
	return false;
}

/* Is the path open under this name? */
static bool
is_open(const struct check *c, const struct msg_path_rule *r, const char *closed, const char *name)
{
	if (kinds[r->rule].openable)
		return is_opened(c->w, closed, name);
	if (r->rule == RULE_OWN)
		return is_shared(c->w, name);
	return kinds[r->rule].of_tenants && is_mine(c->w, name);
}

/* ---- what is closed ---- */

static enum relation
relate(const struct hostname *n, const char *closed)
{
	if (path_within(n->path, closed))
		return n->inside ? CONTAINS : strcmp(n->path, closed) == 0 ? IS : BELOW;
	return path_within(closed, n->path) ? CONTAINS : APART;
}

/* Something else that is mounted in /etc, or in the pods of a kubelet, is closed there and not everywhere. */
static bool
counts(const struct msg_path_rule *r, const struct hostname *n, const char *closed)
{
	return kinds[r->rule].all_mounts || !path_within(n->mount, closed) || strcmp(n->mount, closed) == 0;
}

static int
check_names(const struct check *c, const struct msg_path_rule *r, const char *closed, struct err *e)
{
	for (size_t i = 0; i < c->view.n; i++) {
		const struct hostname *n = &c->view.v[i];
		enum relation          how = relate(n, closed);

		if (how == APART || (i > 0 && !counts(r, n, closed)) || (how == CONTAINS && r->rule == RULE_BESIDE))
			continue;
		if (!is_open(c, r, closed, n->path))
			return refuse(c, n->inside ? c->view.v[0].path : n->path, how, r, closed, e);
	}
	return 0;
}

/* A file system may have more names for a directory than the mount table shows: one that ignores case, for example. */
static int
check_inodes(const struct check *c, const struct msg_path_rule *r, const char *closed, struct err *e)
{
	const char   *name = c->view.v[0].path;
	enum relation how = hostview_below(&c->view, closed)      ? BELOW
			    : hostview_contains(&c->view, closed) ? CONTAINS
								  : APART;

	if (how == APART || (how == CONTAINS && r->rule == RULE_BESIDE))
		return 0;
	for (size_t i = 0; i < c->view.n; i++)
		if (!c->view.v[i].inside && is_open(c, r, closed, c->view.v[i].path))
			return 0;
	return refuse(c, name, how, r, closed, e);
}

static int
check_closed(const struct check *c, const struct msg_path_rule *r, const char *closed, struct err *e)
{
	return check_names(c, r, closed, e) == -1 || check_inodes(c, r, closed, e) == -1 ? -1 : 0;
}

/* A workspace may be a link to a directory on another disk; that is closed, too. */
static int
check_links(const struct check *c, const struct msg_path_rule *r, struct err *e)
{
	DIR           *dir = opendir(r->path);
	struct dirent *d;
	char           path[LIM_PATH + NAME_MAX + 2];
	int            result = 0;

	while (dir != NULL && result == 0 && (d = readdir(dir)) != NULL) {
		snprintf(path, sizeof(path), "%s/%s", r->path, d->d_name);
		char *real = d->d_type == DT_DIR || is_mine(c->w, path) || *d->d_name == '.' ? NULL
											     : realpath(path, NULL);
		if (real != NULL && !path_within(real, r->path))
			result = check_closed(c, r, real, e);
		free(real);
	}
	if (dir != NULL)
		closedir(dir);
	return result;
}

static int
check_tenants(const struct check *c, const struct msg_path_rule *r, struct err *e)
{
	char *real;
	int   result;

	if (r->rule == RULE_WORKSPACES && is_named_by_operator(c))
		return 0;
	if (check_closed(c, r, r->path, e) == -1 || (!is_mine(c->w, c->view.v[0].path) && check_links(c, r, e) == -1))
		return -1;
	real = realpath(r->path, NULL);
	result = real != NULL && strcmp(real, r->path) != 0 ? check_closed(c, r, real, e) : 0;
	free(real);
	return result;
}

static int
check_rules(const struct check *c, struct err *e)
{
	for (size_t i = 0; i < c->w->rules.n; i++) {
		const struct msg_path_rule *r = &c->w->rules.v[i];

		if (!kinds[r->rule].closes || (kinds[r->rule].when_writable && !c->ask->writable))
			continue;
		if ((kinds[r->rule].of_tenants ? check_tenants(c, r, e) : check_closed(c, r, r->path, e)) == -1)
			return -1;
	}
	return 0;
}

/* ---- ceilings ---- */

/* The paths of a ceiling, as many as fit into the text. */
static const char *
ceiling(const struct msg_worker_start *w, enum mount_rule which, char text[CEILING])
{
	size_t n = 0;

	*text = '\0';
	for (size_t i = 0; i < w->rules.n && n < CEILING; i++)
		if (w->rules.v[i].rule == which)
			n += (size_t)snprintf(text + n, CEILING - n, "%s%s", n > 0 ? ", " : "", w->rules.v[i].path);
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
	char path[NAMED], text[CEILING];

	if (!is_under(real, w, RULE_ALLOW))
		return err_set(e, E_INVALID,
		    "%s: %.350s is outside of mounts.allow (%s); choose a directory below one of these, "
		    "or let the operator add it to mounts.allow in boxd.conf",
		    ask->field, named(ask->path, real, path), ceiling(w, RULE_ALLOW, text));
	if (!is_under(real, w, RULE_ROOT))
		return err_set(e, E_INVALID, "%s: %.350s is outside of LangBot's allowed_mount_roots (%s)", ask->field,
		    named(ask->path, real, path), ceiling(w, RULE_ROOT, text));
	return 0;
}

/*
 * An agent's host_path, which LangBot would have checked so itself.  These roots are a part of the spec and of nothing
 * but host_path; the rules above are boxd's, for every mount, and may change while the session lives.
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

/* A client of an engine is root outside.  The kernel lists every socket that has a path. */
static int
check_engines(const struct check *c, struct err *e)
{
	char  *line = NULL, text[NAMED];
	size_t size = 0;
	int    r = 0;
	FILE  *f = fopen("/proc/net/unix", "re");

	while (f != NULL && r == 0 && getline(&line, &size, f) != -1) {
		char *path = strchr(line, '/');

		if (path == NULL)
			continue;
		path[strcspn(path, "\n")] = '\0';
		for (size_t i = 0; r == 0 && is_engine(path) && i < c->view.n; i++)
			if (path_within(path, c->view.v[i].path))
				r = err_set(e, E_INVALID,
				    "%s: %s contains %.300s, the socket of a container engine; choose a directory "
				    "without it",
				    c->ask->field, named(c->ask->path, c->view.v[0].path, text),
				    log_escape(path, strlen(path)));
	}
	if (f != NULL)
		fclose(f);
	free(line);
	return r;
}

int
hostrules_check(
    const struct hostpath_ask *ask, int fd, const char *real, const struct msg_worker_start *rules, struct err *e)
{
	struct check c;
	int          r;

	c.ask = ask;
	c.w = rules;
	if (rules->rules.n == 0)
		return err_set(e, E_DENIED, "%s: no rules for host paths have come", ask->field);
	if (check_roots(ask, real, e) == -1)
		return -1;
	if (hostview_open(&c.view, fd, real, e) == -1)
		return err_prefix(e, "%s", ask->field);
	assert(c.view.n > 0);
	r = check_rules(&c, e) == -1 || check_ceilings(ask, real, rules, e) == -1 || check_engines(&c, e) == -1 ? -1
														: 0;
	hostview_clear(&c.view);
	return r;
}

bool
hostrules_may_make(const char *path, const struct msg_worker_start *w)
{
	for (size_t i = 0; i < w->rules.n; i++)
		if ((w->rules.v[i].rule == RULE_MINE || w->rules.v[i].rule == RULE_MAKE) &&
		    path_within(path, w->rules.v[i].path))
			return true;
	return false;
}
