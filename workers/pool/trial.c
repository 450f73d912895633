#include "trial.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "image.h"
#include "place.h"
#include "volume.h"

static int
begin(int pool, struct place *p, const struct msg_pool_trial *ask, struct err *e)
{
	struct record r;
	struct stat   like;

	if (p->dir != -1)
		return err_set(e, E_CONFLICT, "%s is there already", p->path);
	record_name(&r, p->path);
	r.trial = true;
	r.size_mb = ask->volume ? LIM_VOLUME_MB : 0;
	if (fstat(p->parent, &like) == -1)
		return err_sys(e, "look at the parent of %s", p->path);
	if (record_write(pool, &r, e) == -1 || place_make(p, &like, e) == -1)
		return -1;
	return ask->volume ? volume_trial(pool, p, e) : 0;
}

int
trial_begin(const char *pool_path, const struct msg_pool_trial *ask, struct err *e)
{
	struct place p;
	struct err   ignored;
	AUTO_FD int  pool = pool_dir_open(pool_path, true, e);

	if (pool == -1)
		return -1;
	int result = place_open(&p, ask->path, true, e);
	if (result == 0)
		result = begin(pool, &p, ask, e);
	place_close(&p);
	if (result == -1 && e->code != E_CONFLICT)
		trial_end(pool, ask->path, &ignored);
	return result;
}

int
trial_look(const struct msg_pool_look *ask, bool *seen, struct err *e)
{
	struct place p;
	char         text[LIM_NAME + 1];

	*seen = false;
	if (place_open(&p, ask->path, false, e) == -1 || p.dir == -1) {
		place_close(&p);
		return -1;
	}
	AUTO_FD int fd = openat(p.dir, ask->name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	place_close(&p);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text));
	*seen = n >= 0 && (size_t)n == strlen(ask->text) && memcmp(text, ask->text, (size_t)n) == 0;
	return 0;
}

/* What is mounted there goes at once, though a sandbox may still have it; the directory is a flat one. */
static int
end(struct place *p, struct err *e)
{
	struct err ignored;

	if (p->dir == -1)
		return 0;
	if (image_is_at(-1, p->dir, p->path, &ignored) != 0 &&
	    (volume_unmount(p, true, e) == -1 || place_again(p, e) == -1))
		return -1;
	if (p->dir != -1 && dir_empty(p->dir, e) == -1)
		return -1;
	if (unlinkat(p->parent, place_name(p), AT_REMOVEDIR) == -1 && errno != ENOENT)
		return err_sys(e, "remove %s", p->path);
	return 0;
}

int
trial_end(int pool, const char *path, struct err *e)
{
	struct record r;
	struct place  p;
	int           result = place_open(&p, path, false, e);

	record_name(&r, p.path);
	if (result == 0)
		result = end(&p, e);
	place_close(&p);
	return result == -1 ? -1 : record_remove(pool, &r, e);
}
