/* A directory of a session's workspace, or what one of its files is. */
#include <stdio.h>
#include <time.h>

#include "cmd.h"
#include "copy/place.h"
#include "render.h"
#include "text.h"

static const char *
time_text(uint64_t ms, char out[32])
{
	time_t    sec = (time_t)(ms / 1000);
	struct tm tm;

	if (localtime_r(&sec, &tm) == NULL || strftime(out, 32, "%Y-%m-%d %H:%M:%S", &tm) == 0)
		snprintf(out, 32, "?");
	return out;
}

static void
add_row(struct table *t, const struct msg_file_info *f)
{
	char when[32];
	bool is_file = f->kind == FILE_KIND_FILE;

	table_cell(t, PLAIN, "%s", msg_enum_name(MSG_FILE_INFO, "kind", (int)f->kind));
	table_cell(t, PLAIN, "%04lo", f->mode);
	table_cell(t, PLAIN, "%s", is_file ? text_size(f->size_bytes) : "");
	table_cell(t, PLAIN, "%s", time_text(f->modified_ms, when));
	if (f->kind == FILE_KIND_LINK)
		table_cell(t, PLAIN, "%s -> %s", f->name, f->target);
	else
		table_cell(t, PLAIN, "%s", f->name);
}

static void
add_page(const struct msg_files *page, struct table *t, json_t *all)
{
	for (size_t i = 0; i < page->entries.n; i++) {
		add_row(t, &page->entries.v[i]);
		json_array_append_new(all, render_json(MSG_FILE_INFO, &page->entries.v[i]));
	}
}

static int
list(struct client *c, const struct place *p, struct table *t, json_t *all, struct err *e)
{
	struct msg_file_list ask = { .session = p->session, .path = p->path };
	struct buf           next = { 0 };
	int                  r;

	do {
		struct msg reply;

		ask.after = blob_of(next.data, next.len);
		if ((r = client_call(c, MSG_FILE_LIST, &ask, &reply, e)) == -1)
			break;
		const struct msg_files *page = reply.body;
		add_page(page, t, all);
		next.len = 0;
		if (page->next.len > 0)
			r = blob_read(&page->next, &next, e);
		msg_clear(&reply);
	} while (r == 0 && next.len > 0);
	buf_clear(&next);
	return r;
}

/* List a directory, or describe anything else. */
static int
show(struct client *c, const struct place *p, struct table *t, json_t *all, struct err *e)
{
	struct msg_file_stat ask = { .session = p->session, .path = p->path };
	struct msg           reply;

	if (client_call(c, MSG_FILE_STAT, &ask, &reply, e) == -1)
		return -1;
	const struct msg_file_info *info = reply.body;
	bool                        is_dir = info->kind == FILE_KIND_DIR;
	if (!is_dir) {
		add_row(t, info);
		json_array_append_new(all, render_json(MSG_FILE_INFO, info));
	}
	msg_clear(&reply);
	return is_dir ? list(c, p, t, all, e) : 0;
}

int
cmd_files(const struct args *a)
{
	static const char *const heads[] = { "KIND", "MODE", "SIZE", "MODIFIED", "NAME", NULL };
	json_t                  *all = json_array();
	struct table            *t = table_open(heads);
	struct client            c = { .fd = -1 };
	struct place             p;
	struct err               e = { 0 };
	int                      code = EXIT_OK;

	if (t == NULL || client_open(&c, a->socket, &e) == -1 || place_parse_session(&p, a->v[0], &c, &e) == -1 ||
	    show(&c, &p, t, all, &e) == -1) {
		complain("%s", e.text);
		code = c.fd == -1 || c.broken ? EXIT_BOXD : EXIT_REFUSED;
	} else if (a->json)
		render_print_json(json_incref(all));
	else
		table_print(t);
	json_decref(all);
	table_close(&t);
	client_close(&c);
	return code;
}
