#include "base/tally.h"

#include <stdio.h>
#include <string.h>

#include "base/log.h"

static void
count(struct tally *t, const char *reason)
{
	size_t i = 0;

	while (i < TALLY_REASONS && t->rows[i].n > 0 && t->rows[i].reason != reason)
		i++;
	t->rows[i].reason = i < TALLY_REASONS ? reason : "other";
	t->rows[i].n++;
}

/* Whether there was anything to say. */
static bool
say(struct tally *t)
{
	char     list[1024] = "";
	size_t   used = 0;
	uint64_t all = 0;

	for (size_t i = 0; i <= TALLY_REASONS; i++) {
		if (t->rows[i].n == 0)
			continue;
		all += t->rows[i].n;
		if (used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s%lu %s", used > 0 ? ", " : "",
			    t->rows[i].n, t->rows[i].reason);
	}
	if (all > 0)
		log_warn("%lu more %s: %s", all, t->what, list);
	memset(t->rows, 0, sizeof(t->rows));
	return all > 0;
}

static void
on_period(struct ev_loop *loop, ev_timer *w, int revents)
{
	struct tally *t = w->data;

	if (say(t))
		return; /* it may go on: the next ones are counted too */
	ev_timer_stop(loop, w);
	t->lines = 0;
}

void
tally_init(struct tally *t, struct ev_loop *loop, const char *what)
{
	*t = (struct tally){ .loop = loop, .what = what };
	ev_timer_init(&t->period, on_period, TALLY_SEC, TALLY_SEC);
	t->period.data = t;
}

void
tally_clear(struct tally *t)
{
	if (t->loop == NULL)
		return;
	ev_timer_stop(t->loop, &t->period);
	say(t);
}

bool
tally_line(struct tally *t, const char *reason)
{
	if (!ev_is_active(&t->period))
		ev_timer_start(t->loop, &t->period); /* set once: it repeats */
	if (t->lines < TALLY_LINES) {
		t->lines++;
		return true;
	}
	count(t, reason);
	return false;
}
