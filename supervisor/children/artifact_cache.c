/* The copies there are: found at the start, counted, dropped to make room.  Nothing in here takes long. */
#include <assert.h>
#include <errno.h>
#include <dirent.h>
#include <fcntl.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/artifact_impl.h"
#include "core/dirs.h"

#define NATIVE "native" /* sessions that belong to no workspace */
#define STAGING ".staging"
#define TRASH ".trash"
#define ABOUT "about"

enum { TOUCH_SEC = 60 }; /* the time of the last use is written no more often */

/* ---- shelves and revisions --------------------------------------------------------------------- */

static int
by_ns(const void *a, const void *b)
{
	return strcmp(((const struct shelf *)a)->ns, ((const struct shelf *)b)->ns);
}

static int
by_digits(const void *a, const void *b)
{
	const struct revision *x = a, *y = b;

	if (x->shelf != y->shelf)
		return x->shelf < y->shelf ? -1 : 1;
	return strcmp(x->digits, y->digits);
}

static struct shelf *
shelf_named(struct artifacts *a, const char *ns)
{
	struct shelf key = { .n = 0 }, **at;

	snprintf(key.ns, sizeof(key.ns), "%s", ns);
	if ((at = tfind(&key, &a->shelves, by_ns)) != NULL)
		return *at;
	struct shelf *s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	*s = key;
	if (tsearch(s, &a->shelves, by_ns) != NULL)
		return s;
	free(s);
	return NULL;
}

static void
namespace_of(const char *session, char ns[NAMESPACE_LEN + 1])
{
	if (!tenancy_namespace_of(session, ns))
		snprintf(ns, NAMESPACE_LEN + 1, NATIVE);
}

struct shelf *
cache_shelf(struct artifacts *a, const char *session)
{
	char ns[NAMESPACE_LEN + 1];

	namespace_of(session, ns);
	return shelf_named(a, ns);
}

int
artifact_dir(const struct boxd *h, const char *session)
{
	char ns[NAMESPACE_LEN + 1];

	namespace_of(session, ns);
	return openat(h->artifacts->dir, ns, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
}

struct revision *
cache_find(const struct artifacts *a, const struct shelf *s, const char *digits)
{
	struct revision key = { .shelf = (struct shelf *)s }, **at;

	snprintf(key.digits, sizeof(key.digits), "%s", digits);
	at = tfind(&key, &a->by_digits, by_digits);
	return at == NULL ? NULL : *at;
}

/* What it takes is counted already. */
static struct revision *
revision_add(struct artifacts *a, struct shelf *s, const char *digits, uint64_t bytes, uint64_t entries)
{
	struct revision *r = calloc(1, sizeof(*r));

	if (r == NULL)
		return NULL;
	*r = (struct revision){ .shelf = s, .bytes = bytes, .entries = entries, .used_sec = (uint64_t)time(NULL) };
	r->number = boxd_next_id(a->boxd);
	snprintf(r->digits, sizeof(r->digits), "%s", digits);
	if (tsearch(r, &a->by_digits, by_digits) == NULL) {
		free(r);
		return NULL;
	}
	TAILQ_INSERT_TAIL(&a->by_use, r, next);
	return r;
}

struct copy_path {
	char text[NAMESPACE_LEN + DIGEST_DIGITS + 2];
};

/* Of a copy, in the directory of all artifacts. */
static struct copy_path
path_of(const struct shelf *s, const char *digits)
{
	struct copy_path path;

	snprintf(path.text, sizeof(path.text), "%s/%.64s", s->ns, digits);
	return path;
}

void
cache_use(struct artifacts *a, struct revision *r)
{
	uint64_t now = (uint64_t)time(NULL);

	TAILQ_REMOVE(&a->by_use, r, next);
	TAILQ_INSERT_TAIL(&a->by_use, r, next);
	if (now < r->used_sec + TOUCH_SEC)
		return;
	r->used_sec = now;
	if (utimensat(a->dir, path_of(r->shelf, r->digits).text, NULL, AT_SYMLINK_NOFOLLOW) == -1)
		log_warn("artifact=%s: %s", path_of(r->shelf, r->digits).text, strerror(errno));
}

/* ---- trash --------------------------------------------------------------------------------------- */

static void
throw_away(struct artifacts *a, int dir, const char *name)
{
	char number[32];

	snprintf(number, sizeof(number), "%lu", boxd_next_id(a->boxd));
	if (renameat(dir, name, a->trash, number) == -1)
		log_error("artifacts: %s cannot be dropped: %s", name, strerror(errno));
	else
		artifacts_sweep(a);
}

static void
revision_drop(struct artifacts *a, struct revision *r)
{
	assert(r->holds == 0);
	log_info("artifact=%s dropped bytes=%lu", path_of(r->shelf, r->digits).text, r->bytes);
	throw_away(a, a->dir, path_of(r->shelf, r->digits).text);
	cache_give_back(a, r->shelf, r->bytes, r->entries);
	tdelete(r, &a->by_digits, by_digits);
	TAILQ_REMOVE(&a->by_use, r, next);
	if (r->shelf->n == 0)
		unlinkat(a->dir, r->shelf->ns, AT_REMOVEDIR); /* when it is used again it is made again */
	free(r);
}

/* ---- room ---------------------------------------------------------------------------------------- */

struct room {
	const struct config *config;
	struct shelf         shelf; /* as it would be */
	uint64_t             bytes;
};

static bool
fits_shelf(const struct room *r)
{
	return r->shelf.n <= r->config->artifacts_revisions &&
	       r->shelf.bytes <= r->config->artifacts_workspace_mb * MIB &&
	       r->shelf.entries <= LIM_ARTIFACT_CACHE_FILES;
}

static bool
fits_all(const struct room *r)
{
	return fits_shelf(r) && r->bytes <= r->config->artifacts_total_mb * MIB;
}

/* Mark copies of this shelf, or of any (NULL), to be dropped until the new one fits. */
static void
mark_to_drop(struct artifacts *a, struct room *room, const struct shelf *of, bool (*enough)(const struct room *))
{
	struct revision *r;

	TAILQ_FOREACH (r, &a->by_use, next) {
		if (enough(room))
			return;
		if (r->holds > 0 || r->dropping || (of != NULL && r->shelf != of))
			continue;
		r->dropping = true;
		room->bytes -= r->bytes;
		if (strcmp(r->shelf->ns, room->shelf.ns) == 0) {
			room->shelf.n--;
			room->shelf.bytes -= r->bytes;
			room->shelf.entries -= r->entries;
		}
	}
}

static void
drop_marked(struct artifacts *a, bool really)
{
	struct revision *r = TAILQ_FIRST(&a->by_use), *next;

	for (; r != NULL; r = next) {
		next = TAILQ_NEXT(r, next);
		if (r->dropping && really)
			revision_drop(a, r);
		else
			r->dropping = false;
	}
}

static void
shelf_count(struct artifacts *a, struct shelf *s, uint64_t bytes, uint64_t entries)
{
	s->n++;
	s->bytes += bytes;
	s->entries += entries;
	a->bytes += bytes;
}

void
cache_give_back(struct artifacts *a, struct shelf *s, uint64_t bytes, uint64_t entries)
{
	assert(s->n > 0);
	s->n--;
	counter_sub(&s->bytes, bytes);
	counter_sub(&s->entries, entries);
	counter_sub(&a->bytes, bytes);
}

int
cache_reserve(struct artifacts *a, struct shelf *s, uint64_t bytes, uint64_t entries, struct err *e)
{
	struct room room = { .config = a->boxd->config };

	shelf_count(a, s, bytes, entries);
	room.shelf = *s;
	room.bytes = a->bytes;
	mark_to_drop(a, &room, s, fits_shelf);
	if (fits_shelf(&room))
		mark_to_drop(a, &room, NULL, fits_all);
	drop_marked(a, fits_all(&room));
	if (fits_all(&room))
		return 0;
	cache_give_back(a, s, bytes, entries);
	return err_set(e, E_ARTIFACT, "Immutable artifact cache limit reached; acquire a new Box");
}

/* ---- a new one ------------------------------------------------------------------------------------- */

int
cache_stage(const struct artifacts *a, uint64_t number, struct err *e)
{
	char name[32];

	assert(a->staging >= 0 && number != 0);
	snprintf(name, sizeof(name), "%lu", number);
	if (mkdirat(a->staging, name, 0700) == -1)
		return err_sys(e, "make a directory for an artifact");
	int fd = openat(a->staging, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd == -1 ? err_sys(e, "open the directory of an artifact") : fd;
}

static int
write_about(const struct artifacts *a, const char *name, uint64_t bytes, uint64_t entries)
{
	char path[64], text[64];
	int  n = snprintf(text, sizeof(text), "%lu %lu\n", bytes, entries);

	snprintf(path, sizeof(path), "%s/" ABOUT, name);
	AUTO_FD int fd = openat(a->staging, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0400);
	return fd != -1 && write(fd, text, (size_t)n) == n ? 0 : -1;
}

int
cache_publish(struct artifacts *a, struct shelf *s, const char *digits, uint64_t number, uint64_t bytes,
    uint64_t entries, struct err *e)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", number);
	if (write_about(a, name, bytes, entries) == -1 || (mkdirat(a->dir, s->ns, 0700) == -1 && errno != EEXIST) ||
	    renameat2(a->staging, name, a->dir, path_of(s, digits).text, RENAME_NOREPLACE) == -1)
		return err_sys(e, "keep an artifact");
	if (revision_add(a, s, digits, bytes, entries) != NULL)
		return 0;
	throw_away(a, a->dir, path_of(s, digits).text);
	return err_set(e, E_SYS, "no memory for an artifact");
}

void
cache_unstage(struct artifacts *a, uint64_t number)
{
	char name[32];

	snprintf(name, sizeof(name), "%lu", number);
	if (faccessat(a->staging, name, F_OK, AT_SYMLINK_NOFOLLOW) == 0)
		throw_away(a, a->staging, name);
}

/* ---- the start --------------------------------------------------------------------------------------- */

static bool
is_digits(const char *name)
{
	return strlen(name) == DIGEST_DIGITS && strspn(name, "0123456789abcdef") == DIGEST_DIGITS;
}

/* -1: this is not a whole copy. */
static int
read_about(int shelf, const char *digits, uint64_t *bytes, uint64_t *entries, uint64_t *used_sec)
{
	char        path[DIGEST_DIGITS + 16], text[64] = "";
	struct stat st;

	snprintf(path, sizeof(path), "%.64s/" ABOUT, digits);
	AUTO_FD int fd = openat(shelf, path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (!is_digits(digits) || fd == -1 || read(fd, text, sizeof(text) - 1) <= 0 ||
	    sscanf(text, "%lu %lu\n", bytes, entries) != 2 || fstatat(shelf, digits, &st, AT_SYMLINK_NOFOLLOW) == -1)
		return -1;
	*used_sec = (uint64_t)st.st_mtim.tv_sec;
	return 0;
}

static int
load_revision(struct artifacts *a, struct shelf *s, int shelf, const char *name, struct err *e)
{
	uint64_t bytes, entries, used_sec;

	if (read_about(shelf, name, &bytes, &entries, &used_sec) == -1) {
		log_warn("artifacts: %s/%s is incomplete", s->ns, log_escape(name, strlen(name)));
		throw_away(a, shelf, name);
		return 0;
	}
	struct revision *r = revision_add(a, s, name, bytes, entries);
	if (r == NULL)
		return err_set(e, E_SYS, "no memory for artifacts");
	shelf_count(a, s, bytes, entries);
	r->used_sec = used_sec;
	return 0;
}

/* Calls fn for every name in a directory, but for those that begin with a dot. */
static int
each_name(int dir, int (*fn)(struct artifacts *, void *, int, const char *, struct err *), struct artifacts *a,
    void *arg, struct err *e)
{
	int            own = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *d = own == -1 ? NULL : fdopendir(own);
	struct dirent *one;
	int            r = 0;

	if (d == NULL) {
		fd_close(&own);
		return err_sys(e, "read the directory of artifacts");
	}
	while (r == 0 && (one = readdir(d)) != NULL)
		if (one->d_name[0] != '.')
			r = fn(a, arg, dir, one->d_name, e);
	closedir(d);
	return r;
}

static int
load_in_shelf(struct artifacts *a, void *shelf, int dir, const char *name, struct err *e)
{
	return load_revision(a, shelf, dir, name, e);
}

static int
load_shelf(struct artifacts *a, void *arg, int dir, const char *name, struct err *e)
{
	AUTO_FD int   fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct shelf *s = strlen(name) <= NAMESPACE_LEN ? shelf_named(a, name) : NULL;

	if (fd == -1 || s == NULL) {
		log_warn("artifacts: %s does not belong to a workspace", log_escape(name, strlen(name)));
		return 0;
	}
	return each_name(fd, load_in_shelf, a, s, e);
}

static int
by_age(const void *a, const void *b)
{
	const struct revision *x = *(struct revision *const *)a, *y = *(struct revision *const *)b;

	return x->used_sec < y->used_sec ? -1 : x->used_sec > y->used_sec;
}

static int
sort_by_age(struct artifacts *a, struct err *e)
{
	struct revision **all, *r;
	size_t            n = 0, i = 0;

	TAILQ_FOREACH (r, &a->by_use, next)
		n++;
	if ((all = calloc(n + 1, sizeof(struct revision *))) == NULL)
		return err_set(e, E_SYS, "no memory for artifacts");
	TAILQ_FOREACH (r, &a->by_use, next)
		all[i++] = r;
	qsort(all, n, sizeof(struct revision *), by_age);
	TAILQ_INIT(&a->by_use);
	for (i = 0; i < n; i++)
		TAILQ_INSERT_TAIL(&a->by_use, all[i], next);
	free(all);
	return 0;
}

static int
make_dir(int dir, const char *name, struct err *e)
{
	if (mkdirat(dir, name, 0700) == -1 && errno != EEXIST)
		return err_sys(e, "make %s", name);
	int fd = openat(dir, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	return fd == -1 ? err_sys(e, "open %s", name) : fd;
}

static int
note_trash(struct artifacts *a, void *arg, int dir, const char *name, struct err *e)
{
	artifacts_sweep(a);
	return 0;
}

static int
throw_one(struct artifacts *a, void *arg, int dir, const char *name, struct err *e)
{
	throw_away(a, dir, name);
	return 0;
}

int
cache_open(struct artifacts *a, struct err *e)
{
	AUTO_FD int state = open(a->boxd->dirs->state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	if (state == -1)
		return err_sys(e, "open %s", a->boxd->dirs->state);
	if ((a->dir = make_dir(state, "artifacts", e)) == -1 || (a->staging = make_dir(a->dir, STAGING, e)) == -1 ||
	    (a->trash = make_dir(a->dir, TRASH, e)) == -1)
		return err_prefix(e, "artifacts in %s", a->boxd->dirs->state);
	/* what an earlier boxd has dropped, and what it was making */
	if (each_name(a->trash, note_trash, a, NULL, e) == -1 || each_name(a->staging, throw_one, a, NULL, e) == -1 ||
	    each_name(a->dir, load_shelf, a, NULL, e) == -1)
		return -1;
	return sort_by_age(a, e);
}

void
cache_close(struct artifacts *a)
{
	struct revision *r;

	while ((r = TAILQ_FIRST(&a->by_use)) != NULL) {
		TAILQ_REMOVE(&a->by_use, r, next);
		tdelete(r, &a->by_digits, by_digits);
		free(r);
	}
	tdestroy(a->shelves, free);
	fd_close(&a->trash);
	fd_close(&a->staging);
	fd_close(&a->dir);
}
