#include "measure.h"

#include <fcntl.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/usage.h"

/*
 * Each in its parent, so that a symlink in its place is seen as one.  The parent may be a symlink: /root leads to /home
 * where the root directory is boxd's.  Wherever a session leads it, the count is of what the session can read itself.
 */
static const struct {
	const char *parent, *name;
} places[MEASURED] = { { "/", "workspace" }, { "/root", ".cache" }, { "/", "tmp" } };

int
measure(struct msg_amount out[MEASURED], struct err *e)
{
	struct usage u;

	if (usage_open(&u, USAGE_ALLOCATED, LIM_USAGE_ENTRIES, LIM_USAGE_MS, e) == -1)
		return -1;
	for (int i = 0; i < MEASURED; i++) {
		struct usage_tally t = { 0 };
		AUTO_FD int        dir = open(places[i].parent, O_PATH | O_DIRECTORY | O_CLOEXEC);

		if (dir != -1)
			usage_count(&u, dir, places[i].name, NULL, &t);
		out[i] = (struct msg_amount){ t.exists, t.cut, t.bytes, t.files, t.errors };
	}
	usage_close(&u);
	return 0;
}
