#include "wire/chan.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/memfd.h"

enum { FDS = LIM_PACKET_FDS + 2 }; /* the spilled message itself may be one more; and one too many is seen */

static const char SPILLED = (char)0xc0; /* MessagePack nil: no message of ours is that */

int
chan_pair(int ends[2], struct err *e)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) == -1)
		return err_sys(e, "socketpair");
	return 0;
}

static int
send_packet(int fd, const void *bytes, size_t n, const int *fds, size_t nfds, struct err *e)
{
	union {
		struct cmsghdr align;
		char           space[CMSG_SPACE(FDS * sizeof(int))];
	} control = { 0 };
	struct iovec  iov = { .iov_base = (void *)bytes, .iov_len = n };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };

	assert(n > 0 && nfds <= FDS); /* the end is what an empty packet means */
	if (nfds > 0) {
		h.msg_control = &control;
		h.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
		struct cmsghdr *c = CMSG_FIRSTHDR(&h);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(nfds * sizeof(int));
		memcpy(CMSG_DATA(c), fds, nfds * sizeof(int));
	}
	if (sendmsg(fd, &h, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0)
		return 0;
	if (errno == EAGAIN || errno == EINTR)
		return 1;
	/* ETOOMANYREFS: descriptors in flight; they drain as the peers read */
	if (errno == ENOBUFS || errno == ETOOMANYREFS)
		return 2;
	return err_sys(e, "send a message");
}

/* Once: what is sent again later is the small packet. */
static int
spill(struct packet *p, struct err *e)
{
	int file = memfd_of("message", p->bytes.data, p->bytes.len, e);

	assert(p->nfds <= LIM_PACKET_FDS && !p->spilled);
	if (file == -1)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? 2 : -1;
	memmove(p->fds + 1, p->fds, p->nfds * sizeof(int));
	p->fds[0] = file;
	p->nfds++;
	p->spilled = true;
	buf_clear(&p->bytes);
	buf_append(&p->bytes, &SPILLED, 1);
	return p->bytes.failed ? 2 : 0;
}

int
chan_send(int fd, struct packet *p, struct err *e)
{
	int r = p->bytes.len > LIM_PACKET ? spill(p, e) : 0;

	return r != 0 ? r : send_packet(fd, p->bytes.data, p->bytes.len, p->fds, p->nfds, e);
}

static size_t
take_fds(struct msghdr *h, int *fds)
{
	size_t n = 0;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(h); c != NULL; c = CMSG_NXTHDR(h, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t got = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < got; i++) {
			int fd;
			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if (n < FDS)
				fds[n++] = fd;
			else
				close(fd);
		}
	}
	return n;
}

static int
map_spilled(struct chan_in *in, int file, struct err *e)
{
	int64_t size = memfd_sealed_size(file, e);

	if (size == -1)
		return -1;
	if (size == 0 || (uint64_t)size > LIM_MESSAGE)
		return err_set(e, E_PROTO, "a message of %ld bytes", (long)size);
	assert(in->map == NULL);
	void *p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, file, 0);
	if (p == MAP_FAILED)
		return err_sys(e, "map a message");
	in->map = p;
	in->map_len = (size_t)size;
	return 0;
}

static void
unmap(struct chan_in *in)
{
	if (in->map != NULL)
		munmap(in->map, in->map_len);
	in->map = NULL;
}

static int
decode_spilled(struct chan_in *in, struct msg *m, int *fds, size_t nfds, unsigned from, struct err *e)
{
	AUTO_FD int file = fds[0];

	assert(nfds > 0 && file >= 0);
	if (map_spilled(in, file, e) == -1) {
		while (--nfds > 0)
			close(fds[nfds]);
		return -1;
	}
	return msg_decode(m, in->map, in->map_len, fds + 1, nfds - 1, from, e);
}

int
chan_recv(int fd, struct chan_in *in, struct msg *m, unsigned from, struct err *e)
{
	union {
		struct cmsghdr align;
		char           space[CMSG_SPACE(FDS * sizeof(int))];
	} control;
	int fds[FDS];

	*m = (struct msg){ 0 };
	unmap(in);
	if (in->bytes == NULL && (in->bytes = malloc(LIM_PACKET)) == NULL)
		return err_set(e, E_SYS, "no memory for a packet");
	struct iovec  iov = { .iov_base = in->bytes, .iov_len = LIM_PACKET };
	struct msghdr h = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)
	};
	ssize_t n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	/* told once by a peer that left our messages unread; its own last ones are behind it */
	if (n == -1 && errno == ECONNRESET)
		n = recvmsg(fd, &h, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return 1;
	if (n == -1)
		return err_sys(e, "receive a message");

	size_t nfds = take_fds(&h, fds);
	if (n == 0) { /* the end, or an empty packet: that can carry descriptors */
		while (nfds > 0)
			close(fds[--nfds]);
		return 2;
	}
	bool spilled = n == 1 && in->bytes[0] == SPILLED && nfds > 0;
	if ((h.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) || nfds > LIM_PACKET_FDS + (size_t)spilled) {
		while (nfds > 0)
			close(fds[--nfds]);
		return err_set(e, E_PROTO, "a packet is too large");
	}
	if (spilled)
		return decode_spilled(in, m, fds, nfds, from, e);
	return msg_decode(m, in->bytes, (size_t)n, fds, nfds, from, e);
}

void
chan_in_clear(struct chan_in *in)
{
	unmap(in);
	free(in->bytes);
	in->bytes = NULL;
}
