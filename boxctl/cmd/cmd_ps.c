#include <stdio.h>

#include "cmd.h"
#include "render.h"
#include "text.h"

/* Most sessions name no image, and then nobody has to look past an empty column. */
static bool
any_image(const struct msg_session_list *list)
{
	for (size_t i = 0; i < list->sessions.n; i++)
		if (*list->sessions.v[i].spec.image != '\0')
			return true;
	return false;
}

static void
add_image(struct table *t, const struct msg_session_info *s)
{
	bool missing = *s->notice != '\0';

	table_cell(t, missing ? YELLOW : PLAIN, "%s%s", s->spec.image, missing ? " (missing)" : "");
}

static void
add_row(struct table *t, const struct msg_session_info *s, bool images)
{
	table_cell(t, PLAIN, "%s", s->session);
	if (s->paused)
		table_cell(t, YELLOW, "paused");
	else
		table_cell(
		    t, render_state_colour(s->state), "%s", msg_enum_name(MSG_SESSION_INFO, "state", (int)s->state));
	table_cell(t, PLAIN, "%s", text_duration(text_age_us(s->created_ms)));
	table_cell(t, PLAIN, "%s", s->running + s->processes > 0 ? "" : text_duration(text_age_us(s->last_used_ms)));
	table_cell(t, PLAIN, "%lu", s->running);
	table_cell(t, PLAIN, "%lu", s->execs);
	table_cell(t, PLAIN, "%lu", s->processes);
	table_cell(t, PLAIN, "%s", text_size(s->spec.memory_mb * MIB));
	table_cell(t, PLAIN, "%s", text_double(s->spec.cpus));
	table_cell(t, PLAIN, "%lu", s->spec.pids_limit);
	table_cell(t, PLAIN, "%s", msg_enum_name(MSG_ISOLATION, "tier", (int)s->isolation.tier));
	if (images)
		add_image(t, s);
}

static void
print_table(const void *body)
{
	const struct msg_session_list *list = body;
	const bool                     images = any_image(list);
	const char *const              heads[] = {
			     "SESSION",
			     "STATE",
			     "AGE",
			     "IDLE",
			     "RUNNING",
			     "EXECS",
			     "PROCS",
			     "MEM",
			     "CPUS",
			     "PIDS",
			     "TIER",
                images ? "IMAGE" : NULL,
			     NULL,
	};
	struct table *t = table_open(heads);

	if (t == NULL)
		return;
	for (size_t i = 0; i < list->sessions.n; i++)
		add_row(t, &list->sessions.v[i], images);
	table_print(t);
	table_close(&t);
}

static void
print_names(const void *body)
{
	const struct msg_session_list *list = body;

	for (size_t i = 0; i < list->sessions.n; i++)
		printf("%s\n", text_safe(list->sessions.v[i].session));
}

int
cmd_ps(const struct args *a)
{
	struct msg_list ask;

	msg_defaults(MSG_LIST, &ask);
	return cmd_show(a, MSG_LIST, &ask, a->names_only ? print_names : print_table);
}
