#include "core/adopt.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log.h"
#include "core/dirs.h"
#include "core/machine.h"
#include "core/registry.h"
#include "host/statefile.h"

/* -1: the reason why this session cannot be adopted. */
static int
check_adoptable(const struct boxd *h, uint64_t id, const struct msg_session_state *st, struct err *e)
{
	if (st->id != id)
		return err_set(e, E_PROTO, "its state is that of session %lu", st->id);
	if (process_start((pid_t)st->init_pid) != st->init_start)
		return err_set(e, E_NOTFOUND, "its init is gone");
	if (session_was_spare(st->session))
		return err_set(e, E_STATE, "it is an unused spare");
	if (registry_find(h->registry, st->session) != NULL)
		return err_set(e, E_CONFLICT, "another session has its name");
	return 0;
}

/* The session whose state directory this is, adopted or to be swept. */
static struct session *
adopt_dir(struct boxd *h, uint64_t id, int dir, struct err *e)
{
	struct buf                      bytes = { 0 };
	struct msg                      m;
	struct err                      why = { .text = "it has no state" };
	int                             found = statefile_read(dir, &bytes, &m, &why);
	const struct msg_session_state *st = found == 0 ? m.body : NULL;
	struct session                 *s;

	if (st != NULL && check_adoptable(h, id, st, &why) == 0) {
		log_info("session=%lu name=%s adopted", id, st->session);
		registry_claim(h->registry, (uint32_t)st->uid_base);
		s = session_adopt(h, st, dir, e);
	} else {
		log_info("session=%lu cannot be adopted and is swept: %s", id, why.text);
		s = session_sweep(h, id, st, dir, e);
	}
	msg_clear(&m);
	buf_clear(&bytes);
	return s;
}

static int
take_entry(struct boxd *h, const char *name, struct err *e)
{
	char    *end;
	uint64_t id = strtoull(name, &end, 10);

	if (*end != '\0' || id == 0)
		return 0; /* not ours */
	AUTO_FD int dir = openat(h->dirs->sessions, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	if (dir == -1)
		return err_sys(e, "open %s/sessions/%s", h->dirs->state, name);
	struct session *s = adopt_dir(h, id, dir, e);
	if (s == NULL)
		return -1;
	fd_take(&dir);
	registry_add(h->registry, s);
	return 0;
}

int
adopt_all(struct boxd *h, struct err *e)
{
	int  fd = fcntl(h->dirs->sessions, F_DUPFD_CLOEXEC, 0);
	DIR *d = fd == -1 ? NULL : fdopendir(fd);
	int  r = 0;

	if (d == NULL)
		return err_sys(e, "read %s/sessions", h->dirs->state);
	for (struct dirent *en = readdir(d); en != NULL && r == 0; en = readdir(d))
		r = take_entry(h, en->d_name, e);
	closedir(d);
	return r;
}
