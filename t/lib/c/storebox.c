#include "storebox.h"

#include <dirent.h>

#include "base/rmtree.h"
#include "tap.h"

#define NS "ws-a"

/* ---- the process ------------------------------------------------------------------------- */

static void
be_quiet(void)
{
	setenv("BOX_LOG", "error", 1);
}

const char *
storebox_start(struct storebox *b, const char *dir, const struct msg_box_local *local)
{
	char *const            argv[] = { "box-store", NULL };
	struct msg_store_start m;
	struct err             e = { 0 };

	snprintf(b->base, sizeof(b->base), "%s", dir);
	workbox_start(&b->work, FROM_STORE, 3, argv, be_quiet);
	msg_defaults(MSG_STORE_START, &m);
	m.base = dir;
	m.local = *local;
	storebox_send(b, MSG_STORE_START, &m);
	b->work.why[0] = '\0';
	b->root[0] = '\0';
	if (workbox_receive(&b->work, &e) != 0)
		snprintf(b->work.why, sizeof(b->work.why), "gone: %s", e.text);
	else if (b->work.reply.type == MSG_STORE_FAILED) {
		const struct msg_store_failed *f = b->work.reply.body;

		snprintf(b->work.why, sizeof(b->work.why), "%s: %s", f->code, f->reason);
	} else {
		const struct msg_store_ready *r = b->work.reply.body;

		snprintf(b->root, sizeof(b->root), "%s/tenants/" NS, r->skills_root);
	}
	return b->work.why;
}

const char *
storebox_plain(struct storebox *b, const char *dir)
{
	struct msg_box_local local;

	msg_defaults(MSG_BOX_LOCAL, &local);
	local.host_root = "data/box";
	return storebox_start(b, dir, &local);
}

int
storebox_end(struct storebox *b, bool by_force)
{
	return workbox_end(&b->work, by_force);
}

/* ---- calls ------------------------------------------------------------------------------- */

uint64_t
storebox_send(struct storebox *b, enum msg_type t, const void *body)
{
	return workbox_send(&b->work, t, body);
}

const char *
storebox_take(struct storebox *b, uint64_t id, enum msg_type request)
{
	return workbox_take(&b->work, id, msg_def(request)->result);
}

const char *
storebox_call(struct storebox *b, enum msg_type t, const void *body)
{
	return storebox_take(b, storebox_send(b, t, body), t);
}

const char *
store_create(struct storebox *b, const char *name, const char *instructions)
{
	struct msg_skill_create m;

	msg_defaults(MSG_SKILL_CREATE, &m);
	m.ns = NS;
	m.name = name;
	m.has_instructions = true;
	m.instructions = blob_of(instructions, strlen(instructions));
	return storebox_call(b, MSG_SKILL_CREATE, &m);
}

const char *
store_get(struct storebox *b, const char *name)
{
	struct msg_skill_get m;

	msg_defaults(MSG_SKILL_GET, &m);
	m.ns = NS;
	m.name = name;
	if (*storebox_call(b, MSG_SKILL_GET, &m) != '\0')
		return b->work.why;
	return ((const struct msg_skill_found *)b->work.reply.body)->found ? "" : "none";
}

const struct msg_skill *
store_skill(const struct storebox *b)
{
	if (b->work.reply.type == MSG_SKILL_FOUND)
		return &((const struct msg_skill_found *)b->work.reply.body)->skill.v[0];
	if (b->work.reply.type == MSG_SKILLS)
		return &((const struct msg_skills *)b->work.reply.body)->skills.v[0];
	return b->work.reply.body;
}

const char *
store_list(struct storebox *b)
{
	static char           names[4096];
	struct msg_skill_list m;
	size_t                n = 0;

	msg_defaults(MSG_SKILL_LIST, &m);
	m.ns = NS;
	if (*storebox_call(b, MSG_SKILL_LIST, &m) != '\0')
		return b->work.why;
	const struct msg_skills *s = b->work.reply.body;
	names[0] = '\0';
	for (size_t i = 0; i < s->skills.n && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, "%s%s", i > 0 ? ", " : "", s->skills.v[i].name);
	return names;
}

const char *
store_text(const struct blob *blob)
{
	static struct buf text;
	struct err        e;

	buf_clear(&text);
	if (blob_read(blob, &text, &e) == -1)
		return e.text[0] != '\0' ? "unreadable" : "";
	buf_append(&text, "", 1);
	return text.data;
}

const char *
store_read(struct storebox *b, const char *name, const char *path)
{
	struct msg_skill_read m;

	msg_defaults(MSG_SKILL_READ, &m);
	m.ns = NS;
	m.name = name;
	m.path = path;
	if (*storebox_call(b, MSG_SKILL_READ, &m) != '\0')
		return b->work.why;
	return store_text(&((const struct msg_skill_file *)b->work.reply.body)->content);
}

const char *
store_write(struct storebox *b, const char *name, const char *path, const char *content)
{
	struct msg_skill_write m;

	msg_defaults(MSG_SKILL_WRITE, &m);
	m.ns = NS;
	m.name = name;
	m.path = path;
	m.content = blob_of(content, strlen(content));
	return storebox_call(b, MSG_SKILL_WRITE, &m);
}

const char *
store_delete(struct storebox *b, const char *name)
{
	struct msg_skill_delete m;

	msg_defaults(MSG_SKILL_DELETE, &m);
	m.ns = NS;
	m.name = name;
	return storebox_call(b, MSG_SKILL_DELETE, &m);
}

const char *
store_install(struct storebox *b, const struct buf *archive, const char *filename)
{
	struct msg_skill_install m;

	msg_defaults(MSG_SKILL_INSTALL, &m);
	m.ns = NS;
	m.archive = blob_of(archive->data, archive->len);
	m.filename = filename;
	m.target_suffix = "upload";
	return storebox_call(b, MSG_SKILL_INSTALL, &m);
}

pid_t
store_child(const struct storebox *b, const char *name)
{
	char  path[64], comm[32];
	pid_t pid, found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", b->work.pid, b->work.pid);
	FILE *f = fopen(path, "re");
	while (f != NULL && found == 0 && fscanf(f, "%d", &pid) == 1) {
		snprintf(path, sizeof(path), "/proc/%d/comm", pid);
		FILE *of = fopen(path, "re");
		if (of != NULL && fscanf(of, "%31s", comm) == 1 && (name == NULL || strcmp(comm, name) == 0))
			found = pid;
		if (of != NULL)
			fclose(of);
	}
	if (f != NULL)
		fclose(f);
	return found;
}

static void
skills_root(const struct storebox *b, char *root, size_t n)
{
	snprintf(root, n, "%.*s", (int)(strlen(b->root) - strlen("/tenants/" NS)), b->root);
}

const char *
store_staged_path(const struct storebox *b, char *path, size_t n)
{
	char           root[256];
	struct dirent *d;

	skills_root(b, root, sizeof(root));
	path[0] = '\0';
	DIR *dir = opendir(root);
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (strncmp(d->d_name, ".staging-", 9) == 0)
			snprintf(path, n, "%s/%s", root, d->d_name);
	if (dir != NULL)
		closedir(dir);
	return path;
}

size_t
store_staged(const struct storebox *b)
{
	char           root[256];
	size_t         n = 0;
	struct dirent *d;

	skills_root(b, root, sizeof(root));
	DIR *dir = opendir(root);
	must(dir != NULL, "%s: %s", root, strerror(errno));
	while ((d = readdir(dir)) != NULL)
		n += strncmp(d->d_name, ".staging-", 9) == 0;
	closedir(dir);
	return n;
}

/* ---- files ------------------------------------------------------------------------------- */

#define PATH_OF(path, fmt)                            \
	char    path[PATH_MAX];                       \
	va_list ap;                                   \
	va_start(ap, fmt);                            \
	(void)vsnprintf(path, sizeof(path), fmt, ap); \
	va_end(ap)

static void
make_parents(const char *path)
{
	char part[PATH_MAX];

	for (const char *slash = path; (slash = strchr(slash + 1, '/')) != NULL;) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - path), path);
		if (mkdir(part, 0755) == -1 && errno != EEXIST)
			BAIL_OUT("mkdir %s: %s", part, strerror(errno));
	}
}

void
put_file(const char *text, const char *fmt, ...)
{
	PATH_OF(path, fmt);
	make_parents(path);
	FILE *f = fopen(path, "we");
	must(f != NULL && fputs(text, f) != EOF && fclose(f) == 0, "write %s: %s", path, strerror(errno));
}

void
make_dir(const char *fmt, ...)
{
	PATH_OF(path, fmt);
	make_parents(path);
	if (mkdir(path, 0755) == -1 && errno != EEXIST)
		BAIL_OUT("mkdir %s: %s", path, strerror(errno));
}

bool
is_there(const char *fmt, ...)
{
	struct stat st;

	PATH_OF(path, fmt);
	return lstat(path, &st) == 0;
}

const char *
get_file(const char *fmt, ...)
{
	static char text[65536];

	PATH_OF(path, fmt);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return strerror(errno);
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return text;
}

void
remove_all(const char *dir)
{
	struct rmtree t = { .stem = ".t" };

	if (rmtree(&t, AT_FDCWD, dir) != 0)
		diag("remove %s: %s", dir, strerror(errno));
}
