#include "core/errorring.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"

struct entry {
	char          timestamp[48];
	enum err_code code;
	char          message[ERR_TEXT];
	char          query_id[LIM_TENANT + 1], instance[LIM_TENANT + 1], workspace[LIM_TENANT + 1];
};

struct errorring {
	struct entry v[LIM_RECENT_ERRORS];
	uint64_t     n; /* ever added; the next goes to n modulo the size */
};

struct errorring *
errorring_open(struct err *e)
{
	struct errorring *r = calloc(1, sizeof(*r));

	if (r == NULL)
		err_set(e, E_SYS, "no memory");
	return r;
}

void
errorring_close(struct errorring **rp)
{
	free(*rp);
	*rp = NULL;
}

/* 2026-11-15T23:42:30.855903+00:00 */
static void
entry_timestamp(char out[48])
{
	uint64_t  us = clock_us(CLOCK_REALTIME);
	time_t    sec = (time_t)(us / 1000000);
	struct tm tm;

	gmtime_r(&sec, &tm);
	size_t n = strftime(out, 48, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(out + n, 48 - n, ".%06u+00:00", (unsigned)(us % 1000000));
}

void
errorring_add(struct errorring *r, const struct errorring_who *who, const struct err *e)
{
	struct entry *en = &r->v[r->n++ % LIM_RECENT_ERRORS];

	entry_timestamp(en->timestamp);
	en->code = e->code;
	snprintf(en->message, sizeof(en->message), "%s", e->text);
	snprintf(en->query_id, sizeof(en->query_id), "%s", who->query_id);
	snprintf(en->instance, sizeof(en->instance), "%s", who->instance);
	snprintf(en->workspace, sizeof(en->workspace), "%s", who->workspace);
}

static bool
is_theirs(const struct entry *en, const struct errorring_who *who)
{
	return who == NULL || (strcmp(en->instance, who->instance) == 0 && strcmp(en->workspace, who->workspace) == 0);
}

size_t
errorring_list(const struct errorring *r, const struct errorring_who *who, struct msg_agent_error *v)
{
	size_t n = 0;

	for (uint64_t i = r->n > LIM_RECENT_ERRORS ? r->n - LIM_RECENT_ERRORS : 0; i < r->n; i++) {
		const struct entry *en = &r->v[i % LIM_RECENT_ERRORS];

		if (!is_theirs(en, who))
			continue;
		v[n++] = (struct msg_agent_error){
			.timestamp = en->timestamp,
			.type = err_class(en->code),
			.message = en->message,
			.query_id = en->query_id,
			.instance = en->instance,
			.workspace = en->workspace,
		};
	}
	return n;
}
