#include "disk/disk.h"

#include <string.h>

#include "base/clock.h"
#include "base/fd.h"
#include "base/log.h"

/*
 * In order of preference.  Both take about 1.5 ms to make; but a full subvolume goes at once,
 * while the kernel first writes what is cached of a loop device's file system to its image.
 */
static const struct disk_mechanism *const mechanisms[] = { &disk_btrfs, &disk_loop, NULL };

void
disk_init(struct disk *d)
{
	*d = (struct disk){ .tree = -1 };
	msg_defaults(MSG_DISK, &d->reported);
}

int
disk_remember(struct disk *d, const struct msg_disk *reported, struct err *e)
{
	d->reported = *reported;
	return owned_msg_copy(&d->kept, MSG_DISK, &d->reported, e);
}

static int
tell_memory(struct disk *d, const struct msg_worker_start *s, const char *why, struct err *e)
{
	struct buf      quota = { 0 };
	struct msg_disk reported = {
		.workspace = "tmpfs",
		.limit_bytes = s->spec.workspace_mb * MIB,
		.limit_inodes = s->inodes,
		.hard_bytes = true,
		.hard_inodes = true,
	};

	buf_printf(
	    &quota, "size and nr_inodes of a tmpfs; it counts as memory%s%s", *why ? "; not on a disk: " : "", why);
	buf_append(&quota, "", 1);
	reported.quota = quota.failed ? "" : quota.data;
	int r = disk_remember(d, &reported, e);
	buf_clear(&quota);
	return r;
}

static int
tell_made(struct disk *d, const struct disk_mechanism *m, const struct disk_made *made, uint64_t since, struct err *e)
{
	struct msg_disk reported = {
		.workspace = m->name,
		.quota = m->quota,
		.limit_bytes = made->bytes,
		.limit_inodes = made->inodes,
		.hard_bytes = true,
		.hard_inodes = m->counts_inodes,
		.setup_us = span_us() - since,
	};

	d->tree = made->tree;
	return disk_remember(d, &reported, e);
}

static bool requires(const struct msg_spec *spec, const char *wall)
{
	for (size_t i = 0; i < spec->require.n; i++)
		if (strcmp(spec->require.v[i], wall) == 0)
			return true;
	return false;
}

/* Try one; 0 made, 1 not here and the reason is added to why, -1 failed for good. */
static int
try_one(
    struct disk *d, const struct disk_mechanism *m, const struct msg_worker_start *s, struct err *why, struct err *e)
{
	const struct disk_ask ask = {
		.bytes = s->spec.workspace_mb * MIB,
		.inodes = s->inodes,
		.uid = (uint32_t)s->uid_base,
		.templates = s->templates,
	};
	struct disk_made made = { .tree = -1 };
	struct err       cause = { 0 };
	uint64_t         since = span_us();
	size_t           used = strlen(why->text);

	if (s->uid_count == 1)
		err_set(&cause, E_BACKEND, "boxd is not root");
	else if (m->make(&ask, &made, &cause) == 0)
		return tell_made(d, m, &made, since, e);
	if (s->backend == m->backend)
		return err_set(e, E_BACKEND, "workspace_backend = %s: %s", m->name, cause.text);
	snprintf(why->text + used, sizeof(why->text) - used, "%s%s: %.300s", used > 0 ? "; " : "", m->name, cause.text);
	return 1;
}

/*
 * There is no probe ahead of this: a mechanism that cannot work here says so within
 * microseconds, and one that could this morning may not now.
 */
int
disk_make(struct disk *d, const struct msg_worker_start *s, struct err *e)
{
	struct err why = { 0 };
	int        r = 1;

	for (size_t i = 0; mechanisms[i] != NULL && r == 1; i++) {
		const struct disk_mechanism *m = mechanisms[i];

		if (s->backend != BACKEND_AUTO && s->backend != m->backend)
			continue;
		if (s->backend == BACKEND_AUTO && !m->counts_inodes && requires(&s->spec, "quota.inodes"))
			continue;
		r = try_one(d, m, s, &why, e);
	}
	if (r != 1)
		return r;
	if (*why.text != '\0')
		log_warn("session=%lu workspace of %lu MiB is in memory: %s", s->id, s->spec.workspace_mb, why.text);
	return tell_memory(d, s, why.text, e);
}

void
disk_handed_over(struct disk *d)
{
	fd_close(&d->tree);
}

/* Whoever made it, and however far it got. */
int
disk_drop(struct err *e)
{
	int worst = 0;

	for (size_t i = 0; mechanisms[i] != NULL && worst != -1; i++) {
		int r = mechanisms[i]->drop(e);

		if (r != 0)
			worst = r;
	}
	return worst;
}

void
disk_clear(struct disk *d)
{
	fd_close(&d->tree);
	owned_msg_clear(&d->kept);
	owned_msg_clear(&d->shown_kept);
}
