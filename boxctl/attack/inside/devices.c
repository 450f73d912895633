/* Device nodes: made, opened, found; and terminals. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <termios.h>
#include <unistd.h>

#include "attack.h"

enum { TYPE_LINUX = 0x541C, CONSOLE_OUTPUT = 0x541D };

struct node {
	const char  *name;
	mode_t       kind;
	unsigned int major, minor;
};

static void
made(struct report *r, const void *arg)
{
	static const struct node nodes[] = { { "memory", S_IFCHR, 1, 1 }, { "null", S_IFCHR, 1, 3 },
		{ "kmsg", S_IFCHR, 1, 11 }, { "kvm", S_IFCHR, 10, 232 }, { "fuse", S_IFCHR, 10, 229 },
		{ "loop-control", S_IFCHR, 10, 237 }, { "console", S_IFCHR, 5, 1 }, { "sda", S_IFBLK, 8, 0 },
		{ "vda", S_IFBLK, 254, 0 }, { "loop0", S_IFBLK, 7, 0 }, { "nvme", S_IFBLK, 259, 0 } };
	static const char *const dirs[] = { "/tmp", "/home", "/workspace", "/dev/shm", "/dev", "/dev/pts" };
	char                     path[128];

	for (size_t d = 0; d < COUNT(dirs); d++)
		for (size_t i = 0; i < COUNT(nodes); i++) {
			snprintf(path, sizeof(path), "%s/attack-%s", dirs[d], nodes[i].name);
			failed(r, mknod(path, nodes[i].kind | 0666, makedev(nodes[i].major, nodes[i].minor)),
			    "mknod %s", path);
		}
}

/* overlayfs and others use a character device 0,0: the kernel lets anybody make one, and it opens nothing. */
static void
whiteout(struct report *r, const void *arg)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/whiteout", scratch());
	if (mknod(path, S_IFCHR | 0666, makedev(0, 0)) == -1)
		failed(r, -1, "mknod 0,0");
	else
		failed(r, open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC), "open a device 0,0");
}

static void
opened(struct report *r, const void *arg)
{
	const char *path = arg;

	failed(r, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), "open %s", path);
	failed(r, open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC | O_NOCTTY), "open %s to write", path);
}

static struct report *walker; /* nftw takes no argument */
static unsigned       looked_at;

/* null, zero, full, random, urandom, tty, ptmx, and terminals of our own. */
static bool
is_harmless(const struct stat *st)
{
	static const unsigned fine[][2] = { { 1, 3 }, { 1, 5 }, { 1, 7 }, { 1, 8 }, { 1, 9 }, { 5, 0 }, { 5, 2 } };

	for (size_t i = 0; i < COUNT(fine); i++)
		if (S_ISCHR(st->st_mode) && st->st_rdev == makedev(fine[i][0], fine[i][1]))
			return true;
	return S_ISCHR(st->st_mode) && major(st->st_rdev) == 136;
}

static int
look_at(const char *path, const struct stat *st, int type, struct FTW *at)
{
	looked_at += type == FTW_F;
	if (type == FTW_F && (S_ISBLK(st->st_mode) || S_ISCHR(st->st_mode)) && !is_harmless(st))
		works(walker, "there is a device %s (%u,%u)", path, major(st->st_rdev), minor(st->st_rdev));
	return 0;
}

static void
found(struct report *r, const void *arg)
{
	walker = r;
	nftw("/dev", look_at, 32, FTW_PHYS);
	holds(r, "%u files in /dev, and no device that leads anywhere", looked_at);
}

/* ---- terminals ---- */

/* A terminal of our own, in control of a session of our own, as an attacker has one. */
static int
own_terminal(void)
{
	int  zero = 0, number = 0;
	char path[32];
	int  master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);

	if (master == -1 || ioctl(master, TIOCSPTLCK, &zero) == -1 || ioctl(master, TIOCGPTN, &number) == -1)
		return -1;
	snprintf(path, sizeof(path), "/dev/pts/%d", number);
	return open(path, O_RDWR | O_NOCTTY | O_CLOEXEC);
}

static int
take_control(void *arg)
{
	unsigned long request = *(const unsigned long *)arg;
	char          c = '\n';
	int           tty;

	setsid();
	if ((tty = own_terminal()) == -1)
		return 100;
	ioctl(tty, TIOCSCTTY, 0);
	if (request == TYPE_LINUX)
		c = 2; /* paste */
	return syscall(SYS_ioctl, tty, request, &c) == 0 ? 0 : errno;
}

static void
terminal_ioctl(struct report *r, const void *arg)
{
	unsigned long plain = *(const unsigned long *)arg, high = plain | 1UL << 32;
	int           result = in_child(take_control, &plain);

	if (result == 100 || result == -1) {
		skips(r, "no terminal of our own can be made");
		return;
	}
	errno = result;
	refused(r, result == 0 ? 0 : -1, "ioctl 0x%lx", plain);
	result = in_child(take_control, &high);
	errno = result;
	refused(r, result == 0 ? 0 : -1, "ioctl 0x%lx with high bits", plain);
}

/* /dev/tty is the terminal that controls us: of a client or the daemon there must be none. */
static void
controlling(struct report *r, const void *arg)
{
	failed(r, open("/dev/tty", O_RDWR | O_CLOEXEC), "open /dev/tty");
}

static void
line_discipline(struct report *r, const void *arg)
{
	static const int disciplines[] = { 1, 3, 5, 13, 15, 16, 21,
		25 }; /* SLIP, PPP, AX25, HDLC, HCI, GIGASET, GSM, MCTP */
	int              tty = own_terminal();

	if (tty == -1) {
		skips(r, "no terminal of our own can be made");
		return;
	}
	for (size_t i = 0; i < COUNT(disciplines); i++)
		failed(r, ioctl(tty, TIOCSETD, &disciplines[i]), "line discipline %d", disciplines[i]);
}

#define DEVICE(n, means) ROW("devices." n, means, INSIDE, opened, "/dev/" n)

const struct attack device_attacks[] = {
	{ "devices.made", "a disk or the memory of the machine as a file", INSIDE, made, NULL },
	{ "devices.whiteout", "a device that the kernel takes for a mark", INSIDE, whiteout, NULL },
	{ "devices.found", "a device of the machine is in /dev", ANYWHERE, found, NULL },
	DEVICE("mem", "the machine's memory"),
	DEVICE("kmem", "the kernel's memory"),
	DEVICE("port", "the machine's ports"),
	DEVICE("kmsg", "the kernel's messages"),
	DEVICE("fuse", "file systems of the attacker's own"),
	DEVICE("kvm", "the hypervisor's code in the kernel"),
	DEVICE("loop-control", "disks made of files"),
	DEVICE("loop0", "a disk of the host"),
	DEVICE("vda", "a disk of the host"),
	DEVICE("sda", "a disk of the host"),
	DEVICE("nvme0n1", "a disk of the host"),
	DEVICE("mapper/control", "disks of the host"),
	DEVICE("btrfs-control", "disks of the host"),
	DEVICE("net/tun", "network devices"),
	DEVICE("vsock", "the hypervisor"),
	DEVICE("vhost-net", "the hypervisor's code in the kernel"),
	DEVICE("vhost-vsock", "the hypervisor's code in the kernel"),
	DEVICE("userfaultfd", "the kernel is held up at a chosen instruction"),
	DEVICE("uinput", "keys pressed on the host"),
	DEVICE("console", "the host's console"),
	DEVICE("tty0", "the host's console"),
	DEVICE("vcs", "what the host's console shows"),
	DEVICE("rtc0", "the machine's clock"),
	DEVICE("hpet", "the machine's timers"),
	DEVICE("cpu/0/msr", "the processor's registers"),
	DEVICE("autofs", "mounts of the host"),
	{ "terminals.TIOCSTI", "keys typed into the terminal of whoever looks", ANYWHERE, terminal_ioctl,
	    &(const unsigned long){ TIOCSTI } },
	{ "terminals.TIOCLINUX", "text pasted on the host's console", ANYWHERE, terminal_ioctl,
	    &(const unsigned long){ TYPE_LINUX } },
	{ "terminals.TIOCCONS", "the console's messages", INSIDE, terminal_ioctl,
	    &(const unsigned long){ CONSOLE_OUTPUT } },
	{ "terminals.controlling", "the terminal of a client or of the daemon", INSIDE, controlling, NULL },
	{ "terminals.line-discipline", "drivers behind a terminal", INSIDE, line_discipline, NULL },
	{ .name = NULL },
};
