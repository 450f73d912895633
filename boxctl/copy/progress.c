#include "copy/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "text.h"

enum { SAY_US = 200000 };

void
progress_start(struct progress *p, bool quiet)
{
	*p = (struct progress){ .shown = !quiet && isatty(STDERR_FILENO), .started_us = span_us() };
	p->said_us = p->started_us;
}

void
progress_add(struct progress *p, const char *name, uint64_t bytes, uint64_t done, uint64_t total)
{
	uint64_t now = span_us();

	p->bytes += bytes;
	if (!p->shown || now - p->said_us < SAY_US)
		return;
	p->said_us = now;
	uint64_t rate = p->bytes * 1000000 / (now - p->started_us);
	fprintf(stderr, "\r\033[K%.60s  %s", text_safe(name), text_size(done));
	if (total > 0)
		fprintf(stderr, " of %s", text_size(total));
	fprintf(stderr, "  %s/s  file %lu, %s in all", text_size(rate), p->files + 1, text_size(p->bytes));
	fflush(stderr);
	p->dirty = true;
}

void
progress_clear(struct progress *p)
{
	if (p->dirty)
		fputs("\r\033[K", stderr);
	p->dirty = false;
}
