/* Ways out of the tree of files, and what a sandbox's own files can become. */
#include <fcntl.h>
#include <ftw.h>
#include <linux/fs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "attack.h"

/* ---- walking out ---- */

static bool
is_same(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

static void
above_root(struct report *r, const void *arg)
{
	static const char *const ways[] = { "/..", "/../../..", "/proc/self/root/.", "/proc/self/root/..",
		"/proc/self/cwd/../../../../../..", "/tmp/../..", "/proc/self/task/../../../.." };

	for (size_t i = 0; i < COUNT(ways); i++)
		if (access(ways[i], F_OK) == 0 && !is_same(ways[i], "/"))
			works(r, "%s is not the root", ways[i]);
	holds(r, "'..' ends at the root, %zu ways", COUNT(ways));
}

/* A link names a place, and the place is looked for inside. */
static void
symlinks(struct report *r, const void *arg)
{
	static const char *const to[] = { "/proc/1/root/etc/shadow", "/proc/1/cwd", "/proc/1/fd/3",
		"../../../../../etc/shadow", "/proc/1/root", "/proc/1/ns/mnt", "/proc/1/task/1/root" };
	char                     link[160];

	for (size_t i = 0; i < COUNT(to); i++) {
		snprintf(link, sizeof(link), "%s/l%zu", scratch(), i);
		if (symlink(to[i], link) == 0)
			failed(r, open(link, O_RDONLY | O_NONBLOCK | O_CLOEXEC), "open a link to %s", to[i]);
	}
}

/* A second name for a host's file, where it could be changed. */
static void
hard_links(struct report *r, const void *arg)
{
	static const char *const files[] = { "/usr/bin/env", "/bin/sh", "/usr/bin/su", "/etc/passwd", "/proc/1/exe" };
	char                     link[160], self[64];

	for (size_t i = 0; i < COUNT(files); i++) {
		snprintf(link, sizeof(link), "%s/h%zu", scratch(), i);
		failed(r, linkat(AT_FDCWD, files[i], AT_FDCWD, link, 0), "link %s", files[i]);
		int fd = open(files[i], O_PATH | O_CLOEXEC);
		if (fd == -1)
			continue;
		snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
		failed(r, linkat(AT_FDCWD, self, AT_FDCWD, link, AT_SYMLINK_FOLLOW), "link %s by descriptor", files[i]);
		failed(r, linkat(fd, "", AT_FDCWD, link, AT_EMPTY_PATH), "link %s by empty path", files[i]);
		failed(r, rename(files[i], link), "move %s", files[i]);
		close(fd);
	}
}

/* ---- by number instead of by name ---- */

struct handle {
	struct file_handle head;
	uint32_t           body[32];
};

/* Inode 2 is the root of most file systems; where it is reached, all of the disk is. */
static void
handles(struct report *r, const void *arg)
{
	static const char *const at[] = { "/", "/usr", "/tmp", "/etc/ssl", "/workspace", "/proc", "/dev/null" };
	struct handle            h;
	int                      id;

	for (size_t i = 0; i < COUNT(at); i++) {
		int mount = open(at[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC);

		h.head.handle_bytes = sizeof(h.body);
		refused(r, syscall(SYS_name_to_handle_at, AT_FDCWD, at[i], &h, &id, 0), "name_to_handle_at(%s)", at[i]);
		for (uint32_t inode = 2; inode < 34; inode++) {
			h.head.handle_bytes = 8;
			h.head.handle_type = 1; /* inode and generation */
			h.body[0] = inode;
			h.body[1] = 0;
			refused(r, syscall(SYS_open_by_handle_at, mount, &h, O_RDONLY), "open_by_handle_at(%s)", at[i]);
		}
		close(mount);
	}
	for (int root = -10002; root <= -10000; root++) { /* what stands for pidfs and nsfs */
		h.head.handle_bytes = 8;
		h.head.handle_type = 0xf1;
		refused(r, syscall(SYS_open_by_handle_at, root, &h, O_RDONLY), "open_by_handle_at(%d)", root);
	}
}

/* ---- attributes ---- */

static void
immutable(struct report *r, const void *arg)
{
	int fd = open(scratch_file("flags"), O_RDONLY | O_CLOEXEC), flags = 0;

	if (ioctl(fd, FS_IOC_GETFLAGS, &flags) == -1)
		flags = 0;
	for (int flag = FS_IMMUTABLE_FL; flag <= FS_APPEND_FL; flag <<= 1) {
		int with = flags | flag;

		failed(r, ioctl(fd, FS_IOC_SETFLAGS, &with), "set attribute 0x%x", (unsigned)flag);
	}
	close(fd);
}

/* ---- sockets in the tree ---- */

static struct report *walker; /* nftw takes no argument */
static unsigned       looked_at, sockets;

static int
try_socket(const char *path, const struct stat *st, int type, struct FTW *at)
{
	static const int   types[] = { SOCK_STREAM, SOCK_DGRAM, SOCK_SEQPACKET };
	struct sockaddr_un to = { .sun_family = AF_UNIX };

	if (strcmp(path, "/proc") == 0 || strcmp(path, "/usr") == 0)
		return FTW_SKIP_SUBTREE;
	looked_at++;
	if ((type != FTW_F && type != FTW_NS) || !S_ISSOCK(st->st_mode) || strlen(path) >= sizeof(to.sun_path))
		return FTW_CONTINUE;
	sockets++;
	memcpy(to.sun_path, path, strlen(path) + 1);
	for (size_t i = 0; i < COUNT(types); i++) {
		int s = socket(AF_UNIX, types[i] | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

		if (connect(s, (struct sockaddr *)&to, sizeof(to)) == 0)
			works(walker, "somebody listens at %s", path);
		close(s);
	}
	return FTW_CONTINUE;
}

static void
unix_sockets(struct report *r, const void *arg)
{
	walker = r;
	nftw("/", try_socket, 32, FTW_PHYS | FTW_ACTIONRETVAL);
	holds(r, "%u places, %u sockets, nobody listens", looked_at, sockets);
}

/* Where they usually are, and where boxctl says that ours are. */
static void
control_sockets(struct report *r, const void *arg)
{
	static const char *const usual[] = { "/run/boxd/boxd.sock", "/var/run/boxd/boxd.sock", "/run/docker.sock",
		"/var/run/docker.sock", "/run/podman/podman.sock", "/run/containerd/containerd.sock",
		"/run/dbus/system_bus_socket", "/run/systemd/private", "/run/systemd/notify", "/dev/log" };
	char                     path[4200];
	struct stat              st;

	for (size_t i = 0; i < COUNT(usual); i++)
		failed(r, lstat(usual[i], &st), "find %s", usual[i]);
	for (unsigned i = 0; param("state", i) != NULL; i++)
		failed(r, lstat(param("state", i), &st), "find the daemon's directory");
	for (unsigned i = 0; param("runtime", i) != NULL; i++) {
		snprintf(path, sizeof(path), "%.4000s/boxd.sock", param("runtime", i));
		failed(r, lstat(path, &st), "find the daemon's socket");
	}
}

/* ---- mounts as they are ---- */

static bool
is_harmless(const char *at, unsigned long flags)
{
	/* a terminal's file system has no other devices; one file of /dev is one device */
	if (strcmp(at, "/dev/pts") == 0 || strncmp(at, "/dev/", 5) == 0)
		return (flags & ST_NOSUID) != 0;
	if ((flags & ST_RDONLY) != 0)
		return (flags & ST_NOSUID) != 0;
	return (flags & ST_NOSUID) != 0 && (flags & ST_NODEV) != 0;
}

static void
mount_flags(struct report *r, const void *arg)
{
	char           line[8192], at[4096];
	struct statvfs fs;
	unsigned       n = 0;
	FILE          *f = fopen("/proc/self/mountinfo", "re");

	while (f != NULL && fgets(line, sizeof(line), f) != NULL) {
		if (sscanf(line, "%*d %*d %*s %*s %4095s", at) != 1 || statvfs(at, &fs) == -1)
			continue;
		n++;
		if (!is_harmless(at, fs.f_flag))
			works(r, "%s is mounted without %s", at, (fs.f_flag & ST_NOSUID) == 0 ? "nosuid" : "nodev");
	}
	if (f != NULL)
		fclose(f);
	holds(r, "%u mounts, all nosuid; what can be written is nodev", n);
}

const struct attack file_attacks[] = {
	{ "files.above-root", "the host's tree by '..'", ANYWHERE, above_root, NULL },
	{ "files.symlinks", "the host's files by links through /proc", INSIDE, symlinks, NULL },
	{ "files.hard-links", "a file of the host under a name that can be written", INSIDE, hard_links, NULL },
	{ "files.handles", "any file of the host's disk by its number", INSIDE, handles, NULL },
	{ "files.immutable", "files that nobody can remove", INSIDE, immutable, NULL },
	{ "files.sockets", "a service of the host behind a socket in the tree", INSIDE, unix_sockets, NULL },
	{ "files.control-sockets", "the daemon, an engine or a bus of the host", INSIDE, control_sockets, NULL },
	{ "files.mount-flags", "a mount where setuid programs or devices work", ANYWHERE, mount_flags, NULL },
	{ .name = NULL },
};
