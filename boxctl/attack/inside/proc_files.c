/* Files of /proc that are the machine's: one row each, so that the one that is open is named. */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attack.h"

static bool
is_missing(struct report *r, const char *path)
{
	struct stat st;

	if (lstat(path, &st) == 0 || errno != ENOENT)
		return false;
	skips(r, "there is no %s", path);
	return true;
}

/* Not one byte. */
static void
silent(struct report *r, const void *arg)
{
	const char *path = arg;
	char        text[64];

	if (is_missing(r, path))
		return;
	long n = slurp(path, text, sizeof(text));
	if (n > 0)
		works(r, "%s shows %ld bytes and more", path, n);
	else if (n == 0)
		holds(r, "%s is empty", path);
	else
		failed(r, -1, "read %s", path);
}

/* Numbers that look like addresses, but all of them are zero. */
static void
no_addresses(struct report *r, const void *arg)
{
	static char text[256 * 1024];
	const char *path = arg;

	if (is_missing(r, path))
		return;
	if (slurp(path, text, sizeof(text)) == -1) {
		failed(r, -1, "read %s", path);
		return;
	}
	for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		const char *hex = strstr(line, "0x") != NULL ? strstr(line, "0x") + 2 : line + strspn(line, " ");

		if (isxdigit((unsigned char)*hex) && strtoull(hex, NULL, 16) != 0)
			works(r, "%s shows an address: %.80s", path, line);
	}
	holds(r, "%s has zeros for addresses", path);
}

static void
empty_directory(struct report *r, const void *arg)
{
	DIR           *d = opendir(arg);
	struct dirent *e;

	if (is_missing(r, arg))
		return;
	if (d == NULL) {
		failed(r, -1, "list %s", (const char *)arg);
		return;
	}
	while ((e = readdir(d)) != NULL)
		if (e->d_name[0] != '.')
			works(r, "%s has %s", (const char *)arg, e->d_name);
	closedir(d);
	holds(r, "%s is empty", (const char *)arg);
}

/* A header is all there is. */
static void
only_header(struct report *r, const void *arg)
{
	char  text[4096];
	char *second;

	if (is_missing(r, arg))
		return;
	if (slurp(arg, text, sizeof(text)) == -1) {
		failed(r, -1, "read %s", (const char *)arg);
		return;
	}
	second = strchr(text, '\n');
	if (second != NULL && second[1] != '\0')
		works(r, "%s lists: %.80s", (const char *)arg, second + 1);
	else
		holds(r, "%s lists nothing", (const char *)arg);
}

/* Opened only: what would be written would happen. */
static void
read_only(struct report *r, const void *arg)
{
	if (is_missing(r, arg))
		return;
	failed(r, open(arg, O_WRONLY | O_NONBLOCK | O_CLOEXEC), "open %s to write", (const char *)arg);
	failed(r, open(arg, O_RDWR | O_NONBLOCK | O_CLOEXEC), "open %s to read and write", (const char *)arg);
	failed(r, chmod(arg, 0666), "chmod %s", (const char *)arg);
}

/* A file of init's that must not even open: the kernel asks no more when it is used. */
static void
of_init_opened(struct report *r, const void *arg)
{
	if (is_missing(r, arg))
		return;
	failed(r, open(arg, O_WRONLY | O_CLOEXEC), "open %s to write", (const char *)arg);
	failed(r, open(arg, O_RDWR | O_CLOEXEC), "open %s to read and write", (const char *)arg);
}

/* The mode says little, the kernel looks again when it is written: so the value it has is written back. */
static void
of_init_written(struct report *r, const void *arg)
{
	const char *path = arg;
	char        value[256];

	if (is_missing(r, path))
		return;
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd == -1) {
		failed(r, -1, "open %s to write", path);
		return;
	}
	long n = slurp(path, value, sizeof(value));
	failed(r, write(fd, n > 0 ? value : "0", n > 0 ? (size_t)n : 1), "write %s", path);
	close(fd);
}

static void
of_init_read(struct report *r, const void *arg)
{
	const char *path = arg;
	char        text[256];
	struct stat st;

	if (is_missing(r, path))
		return;
	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode)) {
		failed(r, readlink(path, text, sizeof(text)), "follow %s", path);
		failed(r, open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC), "open %s", path);
		return;
	}
	long n = slurp(path, text, sizeof(text));
	if (n > 0)
		works(r, "%s shows %ld bytes and more", path, n);
	else if (n == 0)
		holds(r, "%s is empty", path);
	else
		failed(r, -1, "read %s", path);
}

#define SILENT(f, means) ROW("proc." f, means, ANYWHERE, silent, "/proc/" f)
#define READ_ONLY(name, f, means) ROW("proc." name, means, INSIDE, read_only, "/proc/" f)
#define INIT_WRITTEN(f, means) ROW("proc.init-write-" f, means, INSIDE, of_init_written, "/proc/1/" f)
#define INIT_READ(name, f, means) ROW("proc.init-read-" name, means, ANYWHERE, of_init_read, "/proc/1/" f)

const struct attack proc_file_attacks[] = {
	SILENT("kcore", "the kernel's memory is read"),
	SILENT("kmsg", "the kernel's messages are read"),
	SILENT("keys", "keys of the host are listed"),
	SILENT("key-users", "users of keys are listed"),
	SILENT("timer_list", "addresses and programs of the whole machine"),
	SILENT("sched_debug", "all processes of the machine by name"),
	SILENT("latency_stats", "what the machine waits for"),
	SILENT("config.gz", "how the kernel was built"),
	SILENT("cmdline", "boot arguments, which may name disks, hosts and secrets"),
	SILENT("slabinfo", "the kernel's heap is observed"),
	SILENT("vmallocinfo", "addresses of the kernel"),
	SILENT("pagetypeinfo", "the kernel's heap is observed"),
	SILENT("kpagecount", "use of physical pages is observed"),
	SILENT("kpageflags", "use of physical pages is observed"),
	SILENT("kpagecgroup", "use of physical pages by others is observed"),
	SILENT("vmcore", "memory of a crashed kernel"),
	{ "proc.kallsyms", "addresses of the kernel", ANYWHERE, no_addresses, "/proc/kallsyms" },
	{ "proc.modules", "addresses of the kernel's modules", ANYWHERE, no_addresses, "/proc/modules" },
	{ "proc.iomem", "physical addresses of the kernel", ANYWHERE, no_addresses, "/proc/iomem" },
	{ "proc.ioports", "ports of the machine's devices", ANYWHERE, no_addresses, "/proc/ioports" },
	{ "proc.acpi", "devices of the machine", ANYWHERE, empty_directory, "/proc/acpi" },
	{ "proc.asound", "devices of the machine", ANYWHERE, empty_directory, "/proc/asound" },
	{ "proc.scsi", "disks of the machine", ANYWHERE, empty_directory, "/proc/scsi" },
	{ "proc.net-unix", "sockets of the host are listed", ANYWHERE, only_header, "/proc/net/unix" },
	{ "proc.net-tcp", "connections of the host are listed", ANYWHERE, only_header, "/proc/net/tcp" },
	{ "proc.net-udp", "sockets of the host are listed", ANYWHERE, only_header, "/proc/net/udp" },
	{ "proc.net-arp", "neighbours of the host are listed", ANYWHERE, only_header, "/proc/net/arp" },
	{ "proc.net-route", "routes of the host are listed", ANYWHERE, only_header, "/proc/net/route" },
	{ "proc.sysvipc-shm", "shared memory of the host is listed", ANYWHERE, only_header, "/proc/sysvipc/shm" },
	{ "proc.sysvipc-msg", "message queues of the host are listed", ANYWHERE, only_header, "/proc/sysvipc/msg" },
	{ "proc.sysvipc-sem", "semaphores of the host are listed", ANYWHERE, only_header, "/proc/sysvipc/sem" },
	READ_ONLY(
	    "core_pattern", "sys/kernel/core_pattern", "a program of the attacker's run as root at the next crash"),
	READ_ONLY("modprobe", "sys/kernel/modprobe", "a program of the attacker's run as root"),
	READ_ONLY("hotplug", "sys/kernel/hotplug", "a program of the attacker's run as root"),
	READ_ONLY("usermodehelper", "sys/kernel/usermodehelper/bset", "more rights for the kernel's helpers"),
	READ_ONLY(
	    "binfmt_misc", "sys/fs/binfmt_misc/register", "an interpreter of the attacker's for the host's programs"),
	READ_ONLY("sysrq", "sys/kernel/sysrq", "keys that stop the machine"),
	READ_ONLY("sysrq-trigger", "sysrq-trigger", "the machine is stopped or restarted"),
	READ_ONLY("panic", "sys/kernel/panic", "what a crash of the machine does"),
	READ_ONLY("hostname", "sys/kernel/hostname", "a name that others believe"),
	READ_ONLY("overcommit", "sys/vm/overcommit_memory", "memory of the whole machine"),
	READ_ONLY("ns_last_pid", "sys/kernel/ns_last_pid", "the next process's number is chosen"),
	READ_ONLY("max_user_namespaces", "sys/user/max_user_namespaces", "a wall against namespaces removed"),
	READ_ONLY("ping_group_range", "sys/net/ipv4/ping_group_range", "ICMP sockets for everybody"),
	READ_ONLY("ip_forward", "sys/net/ipv4/ip_forward", "the sandbox as a router"),
	READ_ONLY("irq", "irq/default_smp_affinity", "the machine's interrupts moved"),
	INIT_READ("environ", "environ", "secrets in init's environment"),
	INIT_READ("mem", "mem", "init's memory: what clients send passes through it"),
	INIT_READ("auxv", "auxv", "addresses of init's memory"),
	INIT_READ("smaps", "smaps", "addresses of init's memory"),
	INIT_READ("pagemap", "pagemap", "physical addresses of init's memory"),
	INIT_READ("syscall", "syscall", "what init is doing"),
	INIT_READ("stack", "stack", "what init is doing in the kernel"),
	INIT_READ("io", "io", "how much init reads and writes: a channel between clients"),
	INIT_READ("personality", "personality", "how init was started"),
	INIT_READ("root", "root", "another root than ours"),
	INIT_READ("cwd", "cwd", "a directory outside"),
	INIT_READ("exe", "exe", "the runtime's program"),
	{ "proc.init-write-mem", "init's memory is changed: the attacker is init", INSIDE, of_init_opened,
	    "/proc/1/mem" },
	INIT_WRITTEN("oom_score_adj", "init is chosen first when memory is short"),
	INIT_WRITTEN("oom_adj", "init is chosen first when memory is short, by the old name"),
	INIT_WRITTEN("autogroup", "init gets less of the processor"),
	INIT_WRITTEN("coredump_filter", "what a crash of init would write"),
	INIT_WRITTEN("timerslack_ns", "init becomes slow"),
	INIT_WRITTEN("comm", "init under another name"),
	INIT_WRITTEN("clear_refs", "init's use of memory is observed"),
	INIT_WRITTEN("uid_map", "another map of user ids"),
	INIT_WRITTEN("gid_map", "another map of group ids"),
	INIT_WRITTEN("setgroups", "groups allowed again"),
	INIT_WRITTEN("timens_offsets", "another time"),
	{ .name = NULL },
};
