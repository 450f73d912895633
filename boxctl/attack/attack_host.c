#include "attack/attack_host.h"

#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/stdfds.h"

void
host_arg(struct attack_host *h, const char *fmt, ...)
{
	char    text[4200];
	va_list ap;

	if (h->args_n >= HOST_ARGS)
		return;
	va_start(ap, fmt);
	int n = vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (n < (int)sizeof(text) && (h->args[h->args_n] = strdup(text)) != NULL)
		h->args_n++;
}

/* ---- listeners ---- */

/* The control: what we cannot reach ourselves proves nothing when a sandbox cannot. */
static bool
is_reachable(int type, const struct sockaddr *at, socklen_t len)
{
	AUTO_FD int s = socket(at->sa_family, type | SOCK_CLOEXEC, 0);

	return s != -1 && connect(s, at, len) == 0;
}

/* On one of the host's addresses, at a port that was free; -1 when it cannot be. */
static int
listen_at(int type, const struct sockaddr *address, socklen_t len, char *text, size_t size)
{
	AUTO_FD int             s = socket(address->sa_family, type | SOCK_CLOEXEC, 0);
	struct sockaddr_storage at = { 0 };
	socklen_t               at_len = sizeof(at);
	char                    host[64], port[16];

	if (s == -1 || bind(s, address, len) == -1 || (type == SOCK_STREAM && listen(s, 16) == -1))
		return -1;
	if (getsockname(s, (struct sockaddr *)&at, &at_len) == -1 ||
	    !is_reachable(type, (struct sockaddr *)&at, at_len))
		return -1;
	if (getnameinfo((struct sockaddr *)&at, at_len, host, sizeof(host), port, sizeof(port),
		NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return -1;
	host[strcspn(host, "%")] = '\0'; /* without the interface's name */
	snprintf(text, size, "%s:%s", host, port);
	return fd_take(&s);
}

static void
listen_both(struct attack_host *h, const struct sockaddr *address, socklen_t len)
{
	char text[128];

	if (h->tcp_n < HOST_ADDRESSES &&
	    (h->tcp[h->tcp_n] = listen_at(SOCK_STREAM, address, len, text, sizeof(text))) != -1) {
		h->tcp_n++;
		host_arg(h, "tcp=%s", text);
	}
	if (h->udp_n < HOST_ADDRESSES &&
	    (h->udp[h->udp_n] = listen_at(SOCK_DGRAM, address, len, text, sizeof(text))) != -1) {
		h->udp_n++;
		host_arg(h, "udp=%s", text);
	}
}

/* Loopback is among them.  A link-local address needs its device's name, and says no more than the others. */
static void
listen_everywhere(struct attack_host *h)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) == -1)
		return;
	for (struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
		if (i->ifa_addr == NULL || (i->ifa_flags & IFF_UP) == 0)
			continue;
		const struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)i->ifa_addr;
		if (i->ifa_addr->sa_family == AF_INET)
			listen_both(h, i->ifa_addr, sizeof(struct sockaddr_in));
		else if (i->ifa_addr->sa_family == AF_INET6 && !IN6_IS_ADDR_LINKLOCAL(&in6->sin6_addr))
			listen_both(h, i->ifa_addr, sizeof(*in6));
	}
	freeifaddrs(all);
}

static void
listen_abstract(struct attack_host *h)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	socklen_t          len = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(h->name));

	memcpy(at.sun_path + 1, h->name, strlen(h->name));
	h->abstract = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (h->abstract != -1 && bind(h->abstract, (struct sockaddr *)&at, len) == 0 && listen(h->abstract, 16) == 0 &&
	    is_reachable(SOCK_STREAM, (struct sockaddr *)&at, len))
		host_arg(h, "abstract=%s", h->name);
}

/* ---- other things ---- */

static void
start_victim(struct attack_host *h)
{
	h->victim = fork();
	if (h->victim == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		stdfds_close_others(NULL, 0);
		for (;;)
			pause();
	}
	if (h->victim > 0) {
		setpgid(h->victim, h->victim);
		host_arg(h, "pid=%d", (int)h->victim);
		host_arg(h, "victim=%d", (int)h->victim);
	}
}

bool
host_victim_lives(const struct attack_host *h)
{
	return h->victim <= 0 || waitpid(h->victim, NULL, WNOHANG) == 0;
}

static void
share_memory(struct attack_host *h)
{
	char     path[64];
	uint32_t key = 0;

	snprintf(path, sizeof(path), "/%s", h->name);
	h->shm = shm_open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (h->shm != -1 && fchmod(h->shm, 0666) == 0)
		host_arg(h, "ipc=%s", h->name);
	(void)!getrandom(&key, sizeof(key), 0);
	key |= 1; /* not IPC_PRIVATE */
	h->shmid = shmget((key_t)key, 4096, IPC_CREAT | IPC_EXCL | 0666);
	if (h->shmid != -1) {
		host_arg(h, "shmkey=%d", (int)key);
		host_arg(h, "shmid=%d", h->shmid);
	}
}

static void
make_queue(struct attack_host *h)
{
	int q = (int)syscall(SYS_mq_open, h->name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666, NULL);

	if (q == -1)
		return;
	close(q);
	snprintf(h->queue, sizeof(h->queue), "%s", h->name);
	host_arg(h, "mq=%s", h->name);
}

static void
make_file(struct attack_host *h)
{
	static const char *const dirs[] = { "/var/tmp", "/tmp" };

	for (size_t i = 0; i < 2 && h->file[0] == '\0'; i++) {
		snprintf(h->file, sizeof(h->file), "%s/boxd-attack-XXXXXX", dirs[i]);
		int fd = mkstemp(h->file);
		if (fd == -1) {
			h->file[0] = '\0';
			continue;
		}
		fchmod(fd, 0644);
		close(fd);
		host_arg(h, "file=%s", h->file);
	}
}

void
host_open(struct attack_host *h, const char *name)
{
	*h = (struct attack_host){ .abstract = -1, .victim = -1, .shm = -1, .shmid = -1 };
	snprintf(h->name, sizeof(h->name), "boxd-%s", name);
	start_victim(h); /* first: it has a copy of every descriptor of ours */
	listen_everywhere(h);
	listen_abstract(h);
	share_memory(h);
	make_queue(h);
	make_file(h);
}

void
host_close(struct attack_host *h)
{
	char path[64];

	for (size_t i = 0; i < h->tcp_n; i++)
		fd_close(&h->tcp[i]);
	for (size_t i = 0; i < h->udp_n; i++)
		fd_close(&h->udp[i]);
	fd_close(&h->abstract);
	if (h->victim > 0) {
		kill(h->victim, SIGKILL);
		waitpid(h->victim, NULL, 0);
	}
	snprintf(path, sizeof(path), "/%s", h->name);
	if (h->shm != -1)
		shm_unlink(path);
	fd_close(&h->shm);
	if (h->shmid != -1)
		shmctl(h->shmid, IPC_RMID, NULL);
	if (h->queue[0] != '\0')
		syscall(SYS_mq_unlink, h->queue);
	if (h->file[0] != '\0')
		unlink(h->file);
	for (size_t i = 0; i < h->args_n; i++)
		free(h->args[i]);
	h->args_n = 0;
}
