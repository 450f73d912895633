/* Files of the host that a sandbox has no business with: not there, or empty, or at least not to be changed. */
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "attack.h"

/* ---- reading ---- */

static struct report *walker; /* nftw takes no argument */
static unsigned       looked_at;

static int
no_file(const char *path, const struct stat *st, int type, struct FTW *at)
{
	looked_at++;
	if (type == FTW_F) {
		works(walker, "there is %s", path);
		return 1;
	}
	return 0;
}

/* Empty directories are fine, they are places to mount on; and a link leads to a place inside. */
static void
no_files_below(struct report *r, const void *arg)
{
	struct stat st;
	char        real[4096];

	if (lstat(arg, &st) == -1) {
		failed(r, -1, "find %s", (const char *)arg);
		return;
	}
	if (realpath(arg, real) == NULL) {
		holds(r, "%s leads nowhere", (const char *)arg);
		return;
	}
	walker = r;
	nftw(real, no_file, 32, FTW_PHYS | FTW_MOUNT);
	holds(r, "%s has no file", (const char *)arg);
}

static void
secrets(struct report *r, const void *arg)
{
	static const char *const files[] = { "/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/etc/sudoers",
		"/etc/ssh/ssh_host_ed25519_key", "/etc/ssh/ssh_host_rsa_key", "/etc/ssl/private", "/etc/machine-id",
		"/etc/crontab", "/etc/fstab", "/etc/boxd/boxd.conf", "/etc/krb5.keytab", "/etc/kubernetes",
		"/etc/docker", "/etc/wireguard", "/etc/NetworkManager", "/etc/letsencrypt", "/etc/pam.d",
		"/root/.ssh/id_rsa", "/root/.bash_history", "/var/lib/boxd", "/var/log/syslog", "/var/lib/docker",
		"/var/lib/systemd/random-seed", "/boot/vmlinuz", "/proc/1/root/etc/shadow" };

	for (size_t i = 0; i < COUNT(files); i++)
		failed(r, open(files[i], O_RDONLY | O_NONBLOCK | O_CLOEXEC), "read %s", files[i]);
}

/* ---- writing ---- */

static void
new_file(struct report *r, const void *arg)
{
	static const char *const dirs[] = { "/", "/usr", "/usr/bin", "/usr/lib", "/etc", "/bin", "/sbin", "/lib",
		"/opt", "/var", "/run", "/dev", "/dev/pts", "/proc", "/proc/sys", "/etc/ssl", "/etc/alternatives",
		"/usr/local/bin" };
	char                     path[64];

	for (size_t i = 0; i < COUNT(dirs); i++) {
		snprintf(path, sizeof(path), "%s/box-attack", dirs[i]);
		failed(r, open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), "make a file in %s", dirs[i]);
		failed(r, mkdir(path, 0700), "make a directory in %s", dirs[i]);
		failed(r, open(dirs[i], O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), "make a nameless file in %s", dirs[i]);
	}
}

/* Everything that changes a file but writing, which the runtime's attacks try. */
static void
changed(struct report *r, const void *arg)
{
	static const char *const files[] = { "/usr/bin/env", "/bin/sh", "/etc/passwd", "/usr", "/etc", "/" };
	char                     other[64];

	for (size_t i = 0; i < COUNT(files); i++) {
		snprintf(other, sizeof(other), "%s.attack", files[i]);
		failed(r, chmod(files[i], 0777), "chmod %s", files[i]);
		failed(r, chown(files[i], getuid(), getgid()), "chown %s", files[i]);
		failed(r, truncate(files[i], 0), "truncate %s", files[i]);
		failed(r, utimes(files[i], NULL), "touch %s", files[i]);
		failed(r, rename(files[i], other), "rename %s", files[i]);
		failed(r, unlink(files[i]), "remove %s", files[i]);
		failed(r, rmdir(files[i]), "remove the directory %s", files[i]);
		failed(r, symlink("/tmp", other), "make a link beside %s", files[i]);
		failed(r, mkfifo(other, 0600), "make a pipe beside %s", files[i]);
	}
}

/* The mask over a file of /proc is /dev/null: an opened one must not lead to its directory. */
static void
masks(struct report *r, const void *arg)
{
	static const char *const masked[] = { "/proc/acpi", "/proc/asound", "/proc/scsi", "/proc/keys", "/proc/kcore" };
	struct stat              st;

	for (size_t i = 0; i < COUNT(masked); i++) {
		int fd = open(masked[i], O_PATH | O_CLOEXEC);

		if (fd == -1)
			continue;
		int up = openat(fd, "..", O_PATH | O_CLOEXEC);
		if (up != -1 && fstatat(up, "state", &st, 0) == 0)
			works(r, "%s/.. leads out of the sandbox", masked[i]);
		failed(r, openat(fd, "attack", O_WRONLY | O_CREAT | O_CLOEXEC, 0600), "write below %s", masked[i]);
		if (up != -1)
			close(up);
		close(fd);
	}
}

#define BELOW(n, path, means) ROW("files.read-" n, means, INSIDE, no_files_below, path)

const struct attack host_file_attacks[] = {
	BELOW("root", "/root", "root's own files"),
	BELOW("home", "/home", "users' own files"),
	BELOW("var", "/var", "logs, mails, databases of the host"),
	BELOW("boot", "/boot", "the kernel's image and addresses"),
	BELOW("sys", "/sys", "devices and settings of the machine"),
	BELOW("run", "/run", "sockets and state of the host's services"),
	BELOW("srv", "/srv", "data of the host's services"),
	BELOW("mnt", "/mnt", "other disks of the host"),
	BELOW("media", "/media", "other disks of the host"),
	BELOW("lost+found", "/lost+found", "lost files of the host's disk"),
	{ "files.secrets", "passwords and keys of the host", INSIDE, secrets, NULL },
	{ "files.new", "a file of the attacker's in the host's tree", INSIDE, new_file, NULL },
	{ "files.changed", "the host's files are changed, renamed or removed", INSIDE, changed, NULL },
	{ "files.masks", "what lies behind a mask of /proc", INSIDE, masks, NULL },
	{ .name = NULL },
};
