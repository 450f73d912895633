#include "base/restart.h"

double
restart_after_crash(struct restart *r, const struct restart_policy *p, double now)
{
	if (r->recent == 0 || now - r->opened > p->window_sec) {
		r->opened = now;
		r->recent = 0;
		r->delay = 0;
	}
	r->recent++;
	if (p->limit > 0 && r->recent >= p->limit)
		return -1;
	r->delay = r->delay == 0 ? p->first_sec : r->delay * 2;
	if (r->delay > p->most_sec)
		r->delay = p->most_sec;
	return r->delay;
}
