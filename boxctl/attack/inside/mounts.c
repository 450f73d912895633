/* The mount family: each call as the kernel would take it, and each with arguments that only a filter refuses. */
#include <fcntl.h>
#include <linux/mount.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "attack.h"

/* Newer than this libc; the same number on every architecture. */
enum { NR_STATMOUNT = 457, NR_LISTMOUNT = 458, NR_OPEN_TREE_ATTR = 467 };

enum { BIND = 4096, RECURSIVE = 16384, REMOUNT = 32, MOVE = 8192, DETACH = 2, CLONE_TREE = 1 };

static void
new_file_systems(struct report *r, const void *arg)
{
	static const char *const types[] = { "tmpfs", "proc", "sysfs", "devtmpfs", "devpts", "mqueue", "overlay",
		"ext4", "cgroup", "cgroup2", "debugfs", "tracefs", "securityfs", "bpf", "fuse", "binfmt_misc", "ramfs",
		"hugetlbfs", "configfs", "pstore", "efivarfs", "nfs", "9p", "autofs" };

	for (size_t i = 0; i < COUNT(types); i++) {
		refused(r, syscall(SYS_mount, types[i], scratch(), types[i], 0, ""), "mount(%s)", types[i]);
		refused(r, syscall(SYS_fsopen, types[i], 0), "fsopen(%s)", types[i]);
	}
}

static void
bind(struct report *r, const void *arg)
{
	refused(r, syscall(SYS_mount, "/", scratch(), NULL, BIND | RECURSIVE, NULL), "mount --rbind /");
	refused(r, syscall(SYS_mount, "/proc/1/root", scratch(), NULL, BIND, NULL), "mount --bind /proc/1/root");
	refused(r, syscall(SYS_mount, "/dev/null", scratch_file("f"), NULL, BIND, NULL), "mount --bind /dev/null");
	refused(r, syscall(SYS_mount, "/tmp", "/proc", NULL, MOVE, NULL), "mount --move");
}

static void
remount(struct report *r, const void *arg)
{
	static const char *const sealed[] = { "/", "/usr", "/proc/sys", "/proc/irq", "/dev", "/etc/ssl" };

	for (size_t i = 0; i < COUNT(sealed); i++) {
		struct mount_attr attr = { .attr_clr = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV };

		refused(r, syscall(SYS_mount, NULL, sealed[i], NULL, REMOUNT | BIND, NULL), "remount %s rw", sealed[i]);
		refused(r, syscall(SYS_mount_setattr, AT_FDCWD, sealed[i], 0, &attr, sizeof(attr)), "mount_setattr %s",
		    sealed[i]);
	}
	refused(r, syscall(SYS_mount, NULL, "/", NULL, 1 << 20 | RECURSIVE, NULL), "make / shared");
}

/* Under a mask lies what it hides. */
static void
unmount(struct report *r, const void *arg)
{
	static const char *const masks[] = { "/proc/keys", "/proc/kcore", "/proc/sys", "/proc/acpi", "/proc", "/usr",
		"/tmp", "/dev" };

	for (size_t i = 0; i < COUNT(masks); i++)
		refused(r, syscall(SYS_umount2, masks[i], DETACH), "umount2(%s)", masks[i]);
}

static void
trees(struct report *r, const void *arg)
{
	struct mount_attr attr = { 0 };

	refused(r, syscall(SYS_open_tree, AT_FDCWD, "/", CLONE_TREE | AT_RECURSIVE), "open_tree(/, clone)");
	refused(r, syscall(SYS_open_tree, AT_FDCWD, "/proc", CLONE_TREE), "open_tree(/proc, clone)");
	refused(r, syscall(NR_OPEN_TREE_ATTR, AT_FDCWD, "/", CLONE_TREE, &attr, sizeof(attr)), "open_tree_attr(/)");
	refused(r, syscall(SYS_move_mount, AT_FDCWD, "/tmp", AT_FDCWD, "/usr", 0), "move_mount(/tmp to /usr)");
	refused(r, syscall(SYS_fspick, AT_FDCWD, "/tmp", 0), "fspick(/tmp)");
}

/* The size of a tmpfs is a limit of ours. */
static void
resized(struct report *r, const void *arg)
{
	static const char *const at[] = { "/tmp", "/home", "/workspace", "/dev/shm" };

	for (size_t i = 0; i < COUNT(at); i++) {
		refused(r, syscall(SYS_mount, NULL, at[i], NULL, REMOUNT, "size=100g"), "remount %s larger", at[i]);
		int fs = (int)syscall(SYS_fspick, AT_FDCWD, at[i], 0);
		refused(r, fs, "fspick(%s)", at[i]);
	}
}

static void
roots(struct report *r, const void *arg)
{
	refused(r, syscall(SYS_chroot, scratch()), "chroot");
	refused(r, syscall(SYS_chroot, "/proc/self/root"), "chroot(/proc/self/root)");
	refused(r, syscall(SYS_pivot_root, ".", "."), "pivot_root");
	refused(r, syscall(SYS_pivot_root, "/tmp", "/tmp"), "pivot_root(/tmp)");
}

/* More mounts than mountinfo shows would be somebody else's. */
static void
listing(struct report *r, const void *arg)
{
	struct {
		uint32_t size, spare;
		uint64_t mount, after, ns;
	} ask = { .size = 32, .mount = UINT64_MAX };
	uint64_t    ids[512];
	static char text[128 * 1024];
	long        shown = 0;

	slurp("/proc/self/mountinfo", text, sizeof(text));
	for (const char *p = text; (p = strchr(p, '\n')) != NULL; p++)
		shown++;
	long n = syscall(NR_LISTMOUNT, &ask, ids, COUNT(ids), 0);
	if (n == -1)
		failed(r, -1, "listmount");
	else if (n > shown)
		works(r, "listmount shows %ld mounts, mountinfo %ld", n, shown);
	else
		holds(r, "listmount shows our %ld mounts", n);
	for (uint64_t ns = 1; ns < 64; ns++) { /* others' namespaces by their number */
		ask.ns = ns;
		failed(r, syscall(NR_LISTMOUNT, &ask, ids, COUNT(ids), 0), "listmount of namespace %lu",
		    (unsigned long)ns);
	}
}

#define FILTERED(n, nr, ...) \
	ROW("mounts.call-" n, "the kernel's mount code is reached", ANYWHERE, call_filtered, RAW(n, nr, __VA_ARGS__))

const struct attack mount_attacks[] = {
	{ "mounts.new", "a file system of the attacker's choice, and its code in the kernel", INSIDE, new_file_systems,
	    NULL },
	{ "mounts.bind", "what is hidden appears elsewhere", INSIDE, bind, NULL },
	{ "mounts.remount", "read-only, nosuid and nodev are taken off", INSIDE, remount, NULL },
	{ "mounts.unmount", "what a mask hides in /proc", INSIDE, unmount, NULL },
	{ "mounts.trees", "mounts copied and moved by descriptor", INSIDE, trees, NULL },
	{ "mounts.resize", "a disk limit is raised", INSIDE, resized, NULL },
	{ "mounts.root", "another root directory", INSIDE, roots, NULL },
	{ "mounts.listmount", "mounts of others are listed", INSIDE, listing, NULL },
	FILTERED("mount", SYS_mount, BAD, BAD, BAD, 0, 0),
	FILTERED("umount2", SYS_umount2, BAD, 0),
	FILTERED("pivot_root", SYS_pivot_root, BAD, BAD),
	FILTERED("chroot", SYS_chroot, BAD),
	FILTERED("open_tree", SYS_open_tree, -1, BAD, CLONE_TREE),
	FILTERED("open_tree_attr", NR_OPEN_TREE_ATTR, -1, BAD, CLONE_TREE, BAD, 32),
	FILTERED("move_mount", SYS_move_mount, -1, BAD, -1, BAD, 0),
	FILTERED("fsopen", SYS_fsopen, BAD, 0),
	FILTERED("fsconfig", SYS_fsconfig, -1, 99, 0, 0, 0),
	FILTERED("fsmount", SYS_fsmount, -1, 0, 0),
	FILTERED("fspick", SYS_fspick, -1, BAD, 0),
	FILTERED("mount_setattr", SYS_mount_setattr, -1, BAD, 0, BAD, 32),
	{ .name = NULL },
};
