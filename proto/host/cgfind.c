/*
 * Where our cgroups can be.  Two files say it: /proc/self/mountinfo knows the
 * hierarchies that are mounted, /proc/self/cgroup our own place in each.  A
 * directory counts when we may make others in it.
 */
#include "host/cgfind.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static const char *const names[] = {
	[CG_MEMORY] = "memory",
	[CG_PIDS] = "pids",
	[CG_CPU] = "cpu",
	[CG_FREEZER] = "freezer",
};

struct mount {
	char root[PATH_MAX];  /* which part of the hierarchy it shows */
	char point[PATH_MAX]; /* where; "" when there is no such mount */
};

const char *
cg_name(enum cg_controller c)
{
	return c < CG__COUNT ? names[c] : "?";
}

static void __attribute__((format(printf, 2, 3))) barred(struct cg_place *p, const char *fmt, ...)
{
	va_list ap;

	p->dir[0] = '\0';
	va_start(ap, fmt);
	vsnprintf(p->why, sizeof(p->why), fmt, ap);
	va_end(ap);
}

/* Long paths are cut only in sentences, never in p->dir. */
enum { IN_TEXT = 150 };

/* May we make directories in dir?  The place is dir then, or says why not. */
static bool
take(struct cg_place *p, const char *dir)
{
	if (faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0) {
		snprintf(p->dir, sizeof(p->dir), "%s", dir);
		p->why[0] = '\0';
		return true;
	}
	if (errno == EROFS)
		barred(p, "%.*s is mounted read-only", IN_TEXT, dir);
	else if (errno == EACCES || errno == EPERM)
		barred(p, "%.*s is not writable by uid %u", IN_TEXT, dir, (unsigned)geteuid());
	else
		barred(p, "%.*s: %s", IN_TEXT, dir, strerror(errno));
	return false;
}

/* Is word one of the words of text? */
static bool
has_word(const char *text, const char *word, const char *separators)
{
	size_t n = strlen(word);

	while (*(text += strspn(text, separators)) != '\0') {
		size_t len = strcspn(text, separators);

		if (len == n && memcmp(text, word, n) == 0)
			return true;
		text += len;
	}
	return false;
}

/* mountinfo writes space, tab, newline and backslash as \ooo. */
static void
unescape(char *out, size_t size, const char *in)
{
	size_t w = 0;

	while (*in != '\0' && w + 1 < size) {
		unsigned code;

		if (in[0] == '\\' && sscanf(in + 1, "%3o", &code) == 1) {
			out[w++] = (char)code;
			in += 4;
		} else
			out[w++] = *in++;
	}
	out[w] = '\0';
}

/* One line of mountinfo: taken when it is the hierarchy that is looked for. */
static bool
mount_of_line(struct mount *m, char *line, const char *type, const char *controller)
{
	char *dash = strstr(line, " - "), *super = NULL;
	char  root[PATH_MAX], point[PATH_MAX], fs[64];

	if (dash == NULL || sscanf(dash, " - %63s %*s %ms", fs, &super) != 2)
		return false;
	bool match = strcmp(fs, type) == 0 && (controller == NULL || has_word(super, controller, ",\n"));
	free(super);
	if (!match || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
		return false;
	unescape(m->root, sizeof(m->root), root);
	unescape(m->point, sizeof(m->point), point);
	return true;
}

/* controller NULL: the v2 tree. */
static bool
mount_find(struct mount *m, const char *controller)
{
	FILE  *f = fopen("/proc/self/mountinfo", "re");
	char  *line = NULL;
	size_t cap = 0;
	bool   is_there = false;

	m->point[0] = '\0';
	if (f == NULL)
		return false;
	while (!is_there && getline(&line, &cap, f) != -1)
		is_there = mount_of_line(m, line, controller ? "cgroup" : "cgroup2", controller);
	free(line);
	fclose(f);
	return is_there;
}

/* After an upgrade we are in our leaf already: our own cgroup is the one above it. */
static void
leave_leaf(char *own)
{
	char *last = strrchr(own, '/');

	if (last != NULL && last != own && strcmp(last + 1, CG_LEAF) == 0)
		*last = '\0';
}

/* Our own cgroup on the v2 tree, as a directory below the mount. */
static bool
own_dir(char *out, size_t size, const struct mount *m)
{
	FILE  *f = fopen("/proc/self/cgroup", "re");
	char  *line = NULL;
	size_t cap = 0;
	bool   is_there = false;

	while (f != NULL && !is_there && getline(&line, &cap, f) != -1)
		is_there = strncmp(line, "0::/", 4) == 0;
	if (f != NULL)
		fclose(f);
	if (is_there) {
		const char *path = line + 3;
		size_t      skip = strcmp(m->root, "/") == 0 ? 0 : strlen(m->root);

		line[strcspn(line, "\n")] = '\0';
		/* a mount that shows another part of the tree does not show us */
		is_there = strncmp(path, m->root, skip) == 0 && (path[skip] == '/' || path[skip] == '\0');
		if (is_there && strcmp(path + skip, "/") == 0)
			snprintf(out, size, "%s", m->point);
		else if (is_there)
			is_there = (size_t)snprintf(out, size, "%s%s", m->point, path + skip) < size;
	}
	free(line);
	return is_there;
}

static bool
is_child(long pid)
{
	char  path[64], line[512] = "", state;
	long  parent = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	/* "pid (name) state parent ...": a name may hold brackets itself, so look from behind */
	char *name_end = fgets(line, sizeof(line), f) != NULL ? strrchr(line, ')') : NULL;
	fclose(f);
	return name_end != NULL && sscanf(name_end, ") %c %ld", &state, &parent) == 2 && parent == getpid();
}

/* A process in dir that is neither us nor our child; 0: no such process; -1 when it has no pid here. */
static long
stranger_in(const char *dir)
{
	char  path[PATH_MAX + 16];
	long  pid, stranger = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/cgroup.procs", dir);
	if ((f = fopen(path, "re")) == NULL)
		return -1;
	while (stranger == 0 && fscanf(f, "%ld", &pid) == 1)
		if (pid != getpid() && !is_child(pid))
			stranger = pid > 0 ? pid : -1; /* 0: outside our pid namespace */
	fclose(f);
	return stranger;
}

static bool
file_has(const char *dir, const char *name, const char *word)
{
	char  path[PATH_MAX + 64], text[1024];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if ((f = fopen(path, "re")) == NULL)
		return false;
	bool has = fgets(text, sizeof(text), f) != NULL && (word == NULL || has_word(text, word, " \n"));
	fclose(f);
	return has;
}

/* The root of the whole tree alone has no type, and may have processes beside children with controllers. */
static bool
is_true_root(const char *dir)
{
	return !file_has(dir, "cgroup.type", NULL);
}

static bool
same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void
find_wanted(struct cg_found *found, const char *wanted, const char *own)
{
	struct statfs fs;

	if (statfs(wanted, &fs) == -1)
		barred(&found->unified, "%.*s: %s", IN_TEXT, wanted, strerror(errno));
	else if (fs.f_type != CGROUP2_SUPER_MAGIC)
		barred(&found->unified, "%.*s is not on a cgroup v2 tree", IN_TEXT, wanted);
	else if (take(&found->unified, wanted))
		found->own_leaf = same_file(wanted, own) && !is_true_root(own);
}

/*
 * For root the top of the tree: what lives there is not touched when our service is
 * restarted.  Else, and in a container, our own cgroup if we have it to ourselves.
 */
static void
find_unified(struct cg_found *found, const struct mount *m, const char *own)
{
	struct cg_place *p = &found->unified;
	long             stranger = own[0] != '\0' ? stranger_in(own) : -1;

	if (geteuid() == 0 && is_true_root(m->point) && take(p, m->point))
		return;
	if (stranger == 0 && take(p, own)) {
		found->own_leaf = !is_true_root(own);
		return;
	}
	if (geteuid() == 0)
		take(p, m->point);
	else if (own[0] == '\0')
		barred(p, "our own cgroup is not below %.*s", IN_TEXT, m->point);
	else if (take(p, own))
		barred(p, "%.*s is not ours alone (process %ld is in it)", IN_TEXT, own, stranger);
}

/*
 * Below a cgroup with processes nothing can be enabled, the true root excepted.
 * Our own we can leave: own_leaf says so.
 */
static void
find_controllers(struct cg_found *found)
{
	const char *dir = found->unified.dir;
	bool        stuck = !found->own_leaf && !is_true_root(dir) && file_has(dir, "cgroup.procs", NULL);

	for (int c = 0; dir[0] != '\0' && c < CG__COUNT; c++)
		found->v2[c] = file_has(dir, stuck ? "cgroup.subtree_control" : "cgroup.controllers", names[c]);
}

void
cgfind(struct cg_found *found, const char *wanted)
{
	struct mount m;
	char         own[PATH_MAX] = "";

	memset(found, 0, sizeof(*found));
	bool has_v2 = mount_find(&m, NULL);
	if (has_v2 && !own_dir(own, sizeof(own), &m))
		own[0] = '\0';
	leave_leaf(own);
	if (wanted[0] != '\0')
		find_wanted(found, wanted, own);
	else if (has_v2)
		find_unified(found, &m, own);
	else
		barred(&found->unified, "no cgroup v2 tree is mounted");
	find_controllers(found);
	for (int c = 0; c < CG__COUNT; c++) {
		if (mount_find(&m, names[c]))
			take(&found->v1[c], m.point);
		else
			barred(&found->v1[c], "%s is not mounted as a cgroup v1 hierarchy", names[c]);
	}
}
