/*
 * What the host does not lend to a sandbox stands here: a minimal /etc of our own,
 * mount points, links, and when we are root real device nodes, so that /dev costs
 * one mount per session instead of seven.  Running sandboxes look at these very
 * files, so each is replaced whole or left alone.
 */
#include "core/skeleton.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <glob.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/fd.h"
#include "base/stdfds.h"

static const char *const directories[] = {
	"etc",
	"etc/alternatives",
	"dev",
	"dev/pts",
	"dev/shm",
	"home",
	"opt",
	"proc",
	"run",
	"tmp",
	"usr",
	"var",
	"workspace",
};

/* Host directories that may be links (merged /usr) or real; see root_host_view of the session worker. */
static const char *const mirrored[] = {
	"bin",
	"sbin",
	"lib",
	"lib32",
	"lib64",
	"libx32",
	"etc/pki/tls/certs",
	"etc/pki/ca-trust/extracted",
	"etc/ssl/certs",
};

static const struct {
	const char *name, *text;
} files[] = {
	/* A login shell reads this for every command: it must not fork. */
	{ "etc/profile", "umask 022\n" },
	{ "etc/passwd", "root:x:0:0:root:/home:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n" },
	{ "etc/group", "root:x:0:\ntty:x:5:\nnogroup:x:65534:\n" }, { "etc/hostname", "box\n" },
	{ "etc/hosts", "127.0.0.1 localhost box\n::1 localhost box\n" },
	{ "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\nservices: files\nprotocols: files\n" },
	{ "etc/resolv.conf", "nameserver 127.0.0.1\n" }, /* box-egress, where the network is on */
	{ "etc/ld.so.cache", "" },                       /* the host's is mounted over it */
};

/* Small host files that never hold a secret. */
static const char *const copies[] = {
	"etc/localtime",
	"etc/protocols",
	"etc/services",
	"etc/mime.types",
	"etc/ld.so.conf",
	"etc/gai.conf",
	"etc/magic",
	"etc/ssl/openssl.cnf",
	"etc/timezone",
};

/* Settings that programs do not start without.  Of these only what everybody may read. */
static const char *const trees[] = {
	"/etc/ImageMagick-*",
	"/etc/R",
	"/etc/fonts",
	"/etc/java-*",
	"/etc/perl",
	"/etc/texmf",
};

enum { COPY_BYTES = 256 * 1024, TREE_ENTRIES = 2000 }; /* a settings file is smaller; all trees together have fewer */

static const struct {
	const char *name, *to;
} links[] = {
	{ "dev/fd", "/proc/self/fd" },
	{ "dev/stdin", "/proc/self/fd/0" },
	{ "dev/stdout", "/proc/self/fd/1" },
	{ "dev/stderr", "/proc/self/fd/2" },
	{ "dev/ptmx", "pts/ptmx" },
	{ "etc/mtab", "/proc/self/mounts" },
	{ "etc/os-release", "../usr/lib/os-release" },
	{ "root", "home" },
	{ "var/tmp", "../tmp" },
};

static const struct {
	const char *name;
	unsigned    major, minor;
} devices[] = {
	{ "dev/null", 1, 3 },
	{ "dev/zero", 1, 5 },
	{ "dev/full", 1, 7 },
	{ "dev/random", 1, 8 },
	{ "dev/urandom", 1, 9 },
	{ "dev/tty", 5, 0 },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static int
make_directory(int root, const char *name, struct err *e)
{
	if (mkdirat(root, name, 0755) == -1 && errno != EEXIST)
		return err_sys(e, "make root/%s", name);
	return 0;
}

static int
make_link(int root, const char *name, const char *to, struct err *e)
{
	if (symlinkat(to, root, name) == -1 && errno != EEXIST)
		return err_sys(e, "link root/%s", name);
	return 0;
}

static int
write_file(int root, const char *name, const char *bytes, size_t n, struct err *e)
{
	static const char fresh[] = ".new";
	AUTO_FD int       fd = openat(root, fresh, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	if (fd == -1 || write(fd, bytes, n) != (ssize_t)n)
		return err_sys(e, "write root/%s", name);
	if (renameat(root, fresh, root, name) == -1)
		return err_sys(e, "move root/%s into place", name);
	return 0;
}

/* Absent on the host means absent inside. */
static int
copy_host_file(int root, const char *name, struct err *e)
{
	char       path[PATH_MAX], bytes[4096];
	ssize_t    n = 0;
	struct buf all = { 0 };

	snprintf(path, sizeof(path), "/%s", name);
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		return 0;
	while (all.len < COPY_BYTES && (n = read(fd, bytes, sizeof(bytes))) > 0)
		buf_append(&all, bytes, (size_t)n);
	int r = n < 0 || all.failed ? err_sys(e, "copy %s", path) : write_file(root, name, all.data, all.len, e);
	buf_clear(&all);
	return r;
}

/* The directories above a name. */
static int
make_parents(int root, const char *name, struct err *e)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s", name);
	for (char *slash = strchr(path, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (make_directory(root, path, e) == -1)
			return -1;
		*slash = '/';
	}
	return 0;
}

static int
copy_entry(int root, const FTSENT *en, struct err *e)
{
	const char *name = en->fts_path + 1;
	char        to[PATH_MAX];
	ssize_t     n;

	switch (en->fts_info) {
	case FTS_D:
		return make_directory(root, name, e);
	case FTS_F:
		if (!(en->fts_statp->st_mode & S_IROTH) || en->fts_statp->st_size > COPY_BYTES)
			return 0;
		return copy_host_file(root, name, e);
	case FTS_SL:
		if ((n = readlink(en->fts_path, to, sizeof(to) - 1)) == -1)
			return 0;
		to[n] = '\0';
		return make_link(root, name, to, e);
	}
	return 0;
}

static int
copy_tree(int root, char *path, unsigned *entries, struct err *e)
{
	char   *paths[] = { path, NULL };
	FTS    *tree = fts_open(paths, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	FTSENT *en;
	int     r = 0;

	while (tree != NULL && r == 0 && *entries < TREE_ENTRIES && (en = fts_read(tree)) != NULL) {
		if (en->fts_info == FTS_D && !(en->fts_statp->st_mode & S_IROTH))
			fts_set(tree, en, FTS_SKIP);
		else
			r = copy_entry(root, en, e);
		++*entries;
	}
	if (tree != NULL)
		fts_close(tree);
	return r;
}

static int
copy_trees(int root, struct err *e)
{
	unsigned entries = 0;
	int      r = 0;

	for (size_t i = 0; i < COUNT(trees) && r == 0; i++) {
		glob_t found;

		if (glob(trees[i], 0, NULL, &found) != 0)
			continue;
		for (size_t k = 0; k < found.gl_pathc && r == 0; k++)
			r = copy_tree(root, found.gl_pathv[k], &entries, e);
		globfree(&found);
	}
	return r;
}

/* /bin and its like: a link where the host has a link, a mount point where it has a directory. */
static int
mirror_host(int root, const char *name, struct err *e)
{
	char        path[PATH_MAX], to[PATH_MAX];
	struct stat st;

	snprintf(path, sizeof(path), "/%s", name);
	if (lstat(path, &st) == -1)
		return 0;
	if (make_parents(root, name, e) == -1)
		return -1;
	if (!S_ISLNK(st.st_mode))
		return make_directory(root, name, e);
	ssize_t n = readlink(path, to, sizeof(to) - 1);
	if (n == -1)
		return err_sys(e, "read %s", path);
	to[n] = '\0';
	return make_link(root, name, to, e);
}

/* Where we may not make a node, an empty file is a place to mount the host's on. */
static int
make_device(int root, const char *name, unsigned major, unsigned minor, struct err *e)
{
	struct stat st;

	if (fstatat(root, name, &st, AT_SYMLINK_NOFOLLOW) == 0)
		return 0;
	if (mknodat(root, name, S_IFCHR | 0666, makedev(major, minor)) == 0) {
		AUTO_FD int works = openat(root, name, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);

		if (works >= 0 || errno == ENXIO) /* ENXIO: we have no controlling terminal */
			return fchmodat(root, name, 0666, 0);
		unlinkat(root, name, 0); /* a file system mounted nodev */
	}
	return write_file(root, name, "", 0, e);
}

static int
fill_root(int root, struct err *e)
{
	for (size_t i = 0; i < COUNT(directories); i++)
		if (make_directory(root, directories[i], e) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(mirrored); i++)
		if (mirror_host(root, mirrored[i], e) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(files); i++)
		if (write_file(root, files[i].name, files[i].text, strlen(files[i].text), e) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(copies); i++)
		if (make_parents(root, copies[i], e) == -1 || copy_host_file(root, copies[i], e) == -1)
			return -1;
	if (copy_trees(root, e) == -1)
		return -1;
	for (size_t i = 0; i < COUNT(links); i++)
		if (make_link(root, links[i].name, links[i].to, e) == -1)
			return -1;
	for (size_t i = 0; i < COUNT(devices); i++)
		if (make_device(root, devices[i].name, devices[i].major, devices[i].minor, e) == -1)
			return -1;
	return 0;
}

static int
build_in(const char *path, struct err *e)
{
	AUTO_FD int root = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (root == -1)
		return err_sys(e, "open %s", path);
	mode_t old = umask(022);
	int    r = fill_root(root, e);
	umask(old);
	return r == -1 ? -1 : fd_take(&root);
}

/* ---- hidden ------------------------------------------------------------------------ */

/* A namespace with the tmpfs alone: a copy of the host's other mounts would keep them busy. */
static int
build_hidden_root(const char *path, struct err *e)
{
	if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1)
		return err_sys(e, "a mount namespace for the root template");
	if (mount("boxd", path, "tmpfs", MS_NOSUID, "mode=0755,size=64m") == -1)
		return err_sys(e, "mount a tmpfs on %s", path);
	AUTO_FD int root = build_in(path, e);
	if (root == -1)
		return -1;
	if (fchdir(root) == -1 || syscall(SYS_pivot_root, ".", ".") == -1 || umount2(".", MNT_DETACH) == -1)
		return err_sys(e, "leave the host's mounts");
	return 0;
}

/* In a child: the namespace lives by it until our descriptors hold it.  One byte 0 says done, a text why not. */
static _Noreturn void
keeper_main(const char *path, int say)
{
	struct err e = { 0 };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	stdfds_close_others(&say, 1);
	build_hidden_root(path, &e);
	(void)!write(say, e.text, strlen(e.text) + 1);
	for (;;)
		pause();
}

static int
open_of(pid_t pid, const char *what, int flags)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, what);
	return open(path, flags | O_RDONLY | O_CLOEXEC);
}

static int
take_from(struct skeleton *s, pid_t keeper, int result, struct err *e)
{
	char    text[ERR_TEXT];
	ssize_t n = read(result, text, sizeof(text) - 1);

	if (n <= 0)
		return err_set(e, E_CRASH, "the process that makes the root template died");
	text[n] = '\0';
	if (*text != '\0')
		return err_set(e, E_SYS, "%s", text);
	s->ns = open_of(keeper, "ns/mnt", 0);
	s->dir = open_of(keeper, "root", O_DIRECTORY);
	return s->ns == -1 || s->dir == -1 ? err_sys(e, "open the root template") : 0;
}

static int
build_hidden(struct skeleton *s, const char *path, struct err *e)
{
	AUTO_FD int result = -1, say = -1;
	int         ends[2];

	if (pipe2(ends, O_CLOEXEC) == -1)
		return err_sys(e, "pipe");
	result = ends[0];
	say = ends[1];
	pid_t pid = fork();
	if (pid == 0)
		keeper_main(path, say);
	if (pid == -1)
		return err_sys(e, "fork for the root template");
	fd_close(&say);
	int r = take_from(s, pid, result, e);
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, 0) == -1 && errno == EINTR)
		;
	return r;
}

int
skeleton_build(struct skeleton *s, const char *state_dir, bool hidden, struct err *e)
{
	char path[PATH_MAX];

	*s = (struct skeleton){ -1, -1 };
	snprintf(path, sizeof(path), "%.4000s/root", state_dir);
	if (mkdir(path, 0755) == -1 && errno != EEXIST)
		return err_sys(e, "make %s", path);
	if (hidden)
		return build_hidden(s, path, e);
	s->dir = build_in(path, e);
	return s->dir == -1 ? err_prefix(e, "%s", state_dir) : 0;
}

void
skeleton_close(struct skeleton *s)
{
	fd_close(&s->dir);
	fd_close(&s->ns);
}
