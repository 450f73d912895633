#include "check.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

int
open_fds(void)
{
	DIR *d = opendir("/proc/self/fd");
	int  n = 0;

	if (d == NULL)
		abort();
	while (readdir(d) != NULL)
		n++;
	closedir(d);
	return n - 3; /* ".", ".." and the directory's own */
}

/* xorshift64* */
uint64_t
rnd(void)
{
	static uint64_t x = 88172645463325252ULL;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	return x * 2685821657736338717ULL;
}

void
rnd_bytes(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((unsigned char *)p)[i] = (unsigned char)(rnd() >> 32);
}

int
memfd_plain(size_t n, int seals)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd == -1 || ftruncate(fd, (off_t)n) == -1 || (seals != 0 && fcntl(fd, F_ADD_SEALS, seals) == -1))
		abort();
	return fd;
}

int
raw_send(int fd, const void *bytes, size_t n, const int *fds, size_t nfds)
{
	char            control[CMSG_SPACE(253 * sizeof(int))] __attribute__((aligned(8))) = { 0 };
	struct iovec    iov = { .iov_base = (void *)bytes, .iov_len = n };
	struct msghdr   h = { .msg_iov = &iov, .msg_iovlen = 1 };
	struct cmsghdr *c = (struct cmsghdr *)control;

	if (nfds > 0) {
		h.msg_control = control;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	return sendmsg(fd, &h, MSG_NOSIGNAL) == (ssize_t)n ? 0 : -1;
}

int
same_file(int a, int b)
{
	struct stat x, y;

	return fstat(a, &x) == 0 && fstat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}
