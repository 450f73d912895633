#include "core/dirs.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/fd.h"

#define SOCKET_NAME "boxd.sock"

/* The configured directory, or the usual place for root, or for a user. */
static int
choose_dir(
    char *out, const char *configured, const char *for_root, const char *xdg, const char *below_home, struct err *e)
{
	const char *base = getenv(xdg);
	const char *home = getenv("HOME");

	if (*configured != '\0')
		snprintf(out, PATH_MAX, "%s", configured);
	else if (geteuid() == 0)
		snprintf(out, PATH_MAX, "%s", for_root);
	else if (base != NULL && *base == '/')
		snprintf(out, PATH_MAX, "%s/boxd", base);
	else if (home != NULL && *home == '/')
		snprintf(out, PATH_MAX, "%s/%s", home, below_home);
	else
		return err_set(e, E_INVALID, "neither %s nor HOME is set: use --state-dir and --runtime-dir", xdg);
	return 0;
}

/* mkdir -p: parents as usual, the last with this mode. */
static int
make_path(const char *path, mode_t mode, struct err *e)
{
	char        parent[PATH_MAX];
	struct stat st;

	snprintf(parent, sizeof(parent), "%s", path);
	for (char *slash = strchr(parent + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		if (mkdir(parent, 0755) == -1 && errno != EEXIST)
			return err_sys(e, "make %s", parent);
		*slash = '/';
	}
	if (mkdir(path, mode) == -1 && errno != EEXIST)
		return err_sys(e, "make %s", path);
	if (lstat(path, &st) == -1)
		return err_sys(e, "look at %s", path);
	if (!S_ISDIR(st.st_mode))
		return err_set(e, E_INVALID, "%s is not a directory", path);
	if (st.st_uid != geteuid())
		return err_set(
		    e, E_DENIED, "%s belongs to uid %u, but boxd runs as uid %u", path, st.st_uid, geteuid());
	if (chmod(path, mode) == -1)
		return err_sys(e, "chmod %s", path);
	return 0;
}

/* One boxd per state directory; the kernel drops the lock with us. */
static int
take_lock(struct dirs *d, struct err *e)
{
	char path[PATH_MAX + 8], pid[32] = "";

	snprintf(path, sizeof(path), "%s/lock", d->state);
	d->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (d->lock == -1)
		return err_sys(e, "open %s", path);
	if (flock(d->lock, LOCK_EX | LOCK_NB) == -1) {
		ssize_t n = read(d->lock, pid, sizeof(pid) - 1);
		if (n > 0)
			pid[strcspn(pid, "\n")] = '\0';
		return err_set(e, E_CONFLICT,
		    "another boxd (pid %s) uses %s: stop it, or give this one a --state-dir of its own",
		    *pid ? pid : "unknown", d->state);
	}
	int n = snprintf(pid, sizeof(pid), "%d\n", getpid());
	if (ftruncate(d->lock, 0) == -1 || pwrite(d->lock, pid, (size_t)n, 0) == -1)
		return err_sys(e, "write %s", path);
	return 0;
}

static void
name_instance(struct dirs *d)
{
	unsigned char hash[16];

	crypto_generichash(hash, sizeof(hash), (const unsigned char *)d->state, strlen(d->state), NULL, 0);
	sodium_bin2hex(d->instance, sizeof(d->instance), hash, 8);
}

/* Beside boxd itself in a build tree; in ../libexec/boxd when installed. */
static int
find_libexec(struct dirs *d, struct err *e)
{
	char    self[PATH_MAX], probe[PATH_MAX + 16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	if (n == -1)
		return err_sys(e, "find boxd's own program (/proc/self/exe)");
	self[n] = '\0';
	*strrchr(self, '/') = '\0';
	for (int i = 0; i < 2; i++) {
		if (snprintf(d->libexec, sizeof(d->libexec), i == 0 ? "%s" : "%s/../libexec/boxd", self) >= PATH_MAX)
			break;
		snprintf(probe, sizeof(probe), "%s/box-session", d->libexec);
		if (access(probe, X_OK) == 0)
			return 0;
	}
	return err_set(
	    e, E_SYS, "box-session is neither in %s nor in %s: build or install all of boxd", self, d->libexec);
}

static int
open_below(const struct dirs *d, const char *name, struct err *e)
{
	char path[PATH_MAX + 16];

	snprintf(path, sizeof(path), "%s/%s", d->state, name);
	if (make_path(path, 0700, e) == -1)
		return -1;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return fd == -1 ? err_sys(e, "open %s", path) : fd;
}

int
dirs_open(struct dirs *d, const struct config *c, struct err *e)
{
	*d = (struct dirs){ .lock = -1, .sessions = -1, .images = -1, .templates = -1 };
	if (choose_dir(d->state, c->state_dir, "/var/lib/boxd", "XDG_STATE_HOME", ".local/state/boxd", e) == -1)
		return err_prefix(e, "state_dir");
	if (choose_dir(d->runtime, c->runtime_dir, "/run/boxd", "XDG_RUNTIME_DIR", ".local/state/boxd/run", e) == -1)
		return err_prefix(e, "runtime_dir");
	if (find_libexec(d, e) == -1 || make_path(d->state, 0700, e) == -1 || take_lock(d, e) == -1)
		return -1;
	name_instance(d);
	snprintf(d->empty, sizeof(d->empty), "%.4000s/empty", d->runtime);
	if (make_path(d->runtime, 0755, e) == -1 || make_path(d->empty, 0555, e) == -1)
		return -1;
	d->images = open_below(d, "images", e);
	d->sessions = d->images == -1 ? -1 : open_below(d, "sessions", e);
	d->templates = d->sessions == -1 ? -1 : open_below(d, "templates", e);
	return d->templates == -1 ? -1 : 0;
}

/* One file name for each image's name, and none that leads elsewhere: '/' is %2F, ':' is %3A. */
static bool
image_file(const char *image, char name[NAME_MAX + 1])
{
	size_t n = 0;

	for (; *image != '\0'; image++) {
		if (n + 3 > NAME_MAX)
			return false;
		if (*image == '/' || *image == ':')
			n += (size_t)sprintf(name + n, "%%%02X", (unsigned)*image);
		else
			name[n++] = *image;
	}
	name[n] = '\0';
	return n > 0 && name[0] != '.';
}

int
dirs_image(const struct dirs *d, const char *image)
{
	char name[NAME_MAX + 1];

	if (!image_file(image, name))
		return -1;
	return openat(d->images, name, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

void
dirs_close(struct dirs *d)
{
	fd_close(&d->sessions);
	fd_close(&d->templates);
	fd_close(&d->images);
	fd_close(&d->lock);
}

static int
socket_address(const struct dirs *d, struct sockaddr_un *at, struct err *e)
{
	*at = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(d->runtime) + sizeof("/" SOCKET_NAME) > sizeof(at->sun_path))
		return err_set(e, E_INVALID, "%s/%s is longer than the %zu characters a socket's path may have",
		    d->runtime, SOCKET_NAME, sizeof(at->sun_path) - 1);
	snprintf(at->sun_path, sizeof(at->sun_path), "%.90s/%s", d->runtime, SOCKET_NAME);
	return 0;
}

/* A socket file without a listener is left from a crash; one with a listener is somebody's. */
static int
clear_stale(const struct sockaddr_un *at, struct err *e)
{
	AUTO_FD int s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s == -1)
		return err_sys(e, "socket");
	if (connect(s, (const struct sockaddr *)at, sizeof(*at)) == 0 || errno == EAGAIN)
		return err_set(e, E_CONFLICT,
		    "%s: another process listens there: stop it, or give this boxd a --runtime-dir of its own",
		    at->sun_path);
	if (errno != ENOENT && unlink(at->sun_path) == -1 && errno != ENOENT)
		return err_sys(e, "remove the stale %s", at->sun_path);
	return 0;
}

static int
socket_owner(const char *path, const char *group, struct err *e)
{
	struct group *g = *group == '\0' ? NULL : getgrnam(group);

	if (*group != '\0' && g == NULL)
		return err_set(e, E_INVALID, "socket_group: there is no group '%s'", group);
	if (g != NULL && chown(path, (uid_t)-1, g->gr_gid) == -1)
		return err_sys(e, "give %s to group %s", path, group);
	if (chmod(path, 0660) == -1)
		return err_sys(e, "chmod %s", path);
	return 0;
}

int
dirs_listen(struct dirs *d, const char *group, struct err *e)
{
	struct sockaddr_un at;
	AUTO_FD int        s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (s == -1)
		return err_sys(e, "socket");
	if (socket_address(d, &at, e) == -1 || clear_stale(&at, e) == -1)
		return -1;
	mode_t old = umask(0177);
	int    r = bind(s, (struct sockaddr *)&at, sizeof(at));
	umask(old);
	if (r == -1)
		return err_sys(e, "bind %s", at.sun_path);
	d->listening = true;
	if (socket_owner(at.sun_path, group, e) == -1)
		return -1;
	if (listen(s, 128) == -1)
		return err_sys(e, "listen on %s", at.sun_path);
	return fd_take(&s);
}

void
dirs_tidy(const struct dirs *d)
{
	struct sockaddr_un at;
	struct err         ignored; /* dirs_listen() found it good */

	if (!d->listening)
		return;
	if (socket_address(d, &at, &ignored) == 0)
		unlink(at.sun_path);
	rmdir(d->empty);
}
