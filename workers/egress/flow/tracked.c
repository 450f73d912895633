#include "flow/tracked.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/bounds.h"
#include "base/fd.h"
#include "base/log.h"

static const double LOOK_SEC = 0.05; /* at some thousand connections a second this is a hundred of them */
static const double WARN_SEC = 60.;

static int
open_in(const char *dir, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

void
tracked_open(struct tracked *t, const char *dir)
{
	*t = TRACKED_CLOSED;
	t->count = open_in(dir, "nf_conntrack_count");
	t->most = open_in(dir, "nf_conntrack_max");
}

void
tracked_close(struct tracked *t)
{
	fd_close(&t->count);
	fd_close(&t->most);
}

static unsigned long
number_in(int fd)
{
	char    text[32];
	ssize_t n = pread(fd, text, sizeof(text) - 1, 0);

	text[n > 0 ? n : 0] = '\0';
	return strtoul(text, NULL, 10);
}

/* 0 as the most is no limit. */
static enum tracked_room
room_now(struct tracked *t, double now)
{
	unsigned long most = number_in(t->most), count = number_in(t->count);

	if (most == 0 || count < most / 2)
		return TRACKED_ENOUGH;
	if (now - t->warned >= WARN_SEC) {
		log_warn("this host tracks %lu of %lu connections: sessions begin few or none; remedy: raise "
			 "net.netfilter.nf_conntrack_max",
		    count, most);
		t->warned = now;
	}
	return count < most - most / 8 ? TRACKED_SCARCE : TRACKED_NONE;
}

enum tracked_room
tracked_look(struct tracked *t, double now)
{
	if (t->count == -1 || t->most == -1)
		return TRACKED_ENOUGH;
	if (now - t->looked >= LOOK_SEC) {
		t->room = room_now(t, now);
		t->looked = now;
	}
	return t->room;
}

bool
trickle_take(struct trickle *s, double now)
{
	s->left += (now - s->at) * NET_SCARCE_PER_SEC;
	if (s->left > NET_SCARCE_BURST)
		s->left = NET_SCARCE_BURST;
	s->at = now;
	if (s->left < 1.)
		return false;
	s->left -= 1.;
	return true;
}
