#include "base/memfd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"

#ifndef MFD_NOEXEC_SEAL
#define MFD_NOEXEC_SEAL 0x0008U
#endif
#ifndef MFD_EXEC
#define MFD_EXEC 0x0010U
#endif

enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE };

/* Kernels before 6.3 know neither flag. */
static int
create(const char *name, unsigned exec_flag)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING | exec_flag);

	if (fd == -1 && errno == EINVAL)
		fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	return fd;
}

static int
write_all(int fd, const char *p, size_t n)
{
	while (n > 0) {
		ssize_t w = write(fd, p, n);
		if (w == -1 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

int
memfd_seal(int fd, struct err *e)
{
	if (fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) == -1)
		return err_sys(e, "seal a memfd");
	return 0;
}

int
memfd_new(const char *name, struct err *e)
{
	int fd = create(name, MFD_NOEXEC_SEAL);

	return fd == -1 ? err_sys(e, "memfd_create") : fd;
}

int
memfd_of(const char *name, const void *bytes, size_t n, struct err *e)
{
	AUTO_FD int fd = create(name, MFD_NOEXEC_SEAL);

	if (fd == -1)
		return err_sys(e, "memfd_create");
	if (write_all(fd, bytes, n) == -1 || lseek(fd, 0, SEEK_SET) == -1)
		return err_sys(e, "write %zu bytes to a memfd", n);
	if (memfd_seal(fd, e) == -1)
		return -1;
	return fd_take(&fd);
}

int64_t
memfd_sealed_size(int fd, struct err *e)
{
	struct stat st;

	int seals = fcntl(fd, F_GET_SEALS);
	if (seals == -1 || (seals & SEALS) != SEALS)
		return err_set(e, E_PROTO, "a payload's descriptor is not a sealed memfd");
	if (fstat(fd, &st) == -1)
		return err_sys(e, "fstat a payload");
	return st.st_size;
}

int
memfd_copy_program(const char *path, struct err *e)
{
	AUTO_FD int from = open(path, O_RDONLY | O_CLOEXEC);
	AUTO_FD int to = -1;
	struct stat st;

	if (from == -1 || fstat(from, &st) == -1)
		return err_sys(e, "open %s", path);
	const char *slash = strrchr(path, '/');
	to = create(slash != NULL ? slash + 1 : path, MFD_EXEC);
	if (to == -1)
		return err_sys(e, "memfd_create for %s", path);
	for (off_t left = st.st_size; left > 0;) {
		ssize_t n = sendfile(to, from, NULL, (size_t)left);
		if (n <= 0)
			return err_sys(e, "copy %s", path);
		left -= n;
	}
	/*
	 * Who executes a file that it may not read has a /proc directory that belongs to
	 * root of the file's own user namespace, not of the sandbox: the kernel keeps
	 * what such a program has in memory from its caller, and for us its settings too.
	 */
	if (fchmod(to, 0111) == -1 || memfd_seal(to, e) == -1)
		return err_sys(e, "seal the copy of %s", path);
	return fd_take(&to);
}
