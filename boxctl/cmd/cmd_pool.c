/*
 * Volumes: directories that are file systems of their own, so that the kernel bounds what is in them.
 */
#include <stdio.h>
#include <string.h>

#include "cmd.h"
#include "table.h"
#include "text.h"

static void
print_volumes(const void *body)
{
	const struct msg_pool_volumes *all = body;
	static const char *const       heads[] = { "PATH", "SIZE", "USED", "FREE", "FILES", "STATE", NULL };
	struct table                  *t = table_open(heads);

	for (size_t i = 0; t != NULL && i < all->volumes.n; i++) {
		const struct msg_pool_volume *v = &all->volumes.v[i];

		table_cell(t, PLAIN, "%s", v->path);
		table_cell(t, PLAIN, "%lu MiB", v->size_mb);
		table_cell(t, PLAIN, "%lu MiB", v->used_bytes / MIB);
		table_cell(t, PLAIN, "%lu MiB", v->free_bytes / MIB);
		table_cell(t, PLAIN, "%lu of %lu", v->used_inodes, v->inodes);
		table_cell(t, v->mounted ? GREEN : RED, "%s", v->mounted ? "mounted" : v->problem);
	}
	if (t != NULL)
		table_print(t);
	table_close(&t);
}

static void
print_path(const void *body)
{
	const struct msg_pool_volume *v = body;

	printf("%s\n", text_safe(v->path));
}

static int
status(const struct args *a)
{
	return cmd_show(a, MSG_POOL_STATUS, &(struct msg_pool_status){}, print_volumes);
}

static int
create(const struct args *a)
{
	struct msg_pool_create ask = a->volume;
	struct err             e;

	ask.path = a->v[1];
	if (ask.size_mb >= LIM_VOLUME_MB)
		return cmd_show(a, MSG_POOL_CREATE, &ask, print_path);
	err_set(&e, E_INVALID, "--size is needed: %d MiB at the least", LIM_VOLUME_MB);
	return usage_error("pool", &e);
}

static int
remove_volume(const struct args *a)
{
	struct msg_pool_remove ask = { .path = a->v[1], .force = a->force };
	struct client          c;
	struct msg             reply;
	int                    code = cmd_ask(a, MSG_POOL_REMOVE, &ask, &c, &reply);

	if (code == EXIT_OK)
		cmd_done(&c, &reply);
	return code;
}

int
cmd_pool(const struct args *a)
{
	static const struct {
		const char *verb;
		size_t      words;
		int (*fn)(const struct args *);
	} verbs[] = { { "status", 1, status }, { "create", 2, create }, { "remove", 2, remove_volume } };
	struct err e;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		if (strcmp(a->v[0], verbs[i].verb) != 0)
			continue;
		if (a->n == verbs[i].words)
			return verbs[i].fn(a);
		err_set(&e, E_INVALID, "'pool %s' takes %s", a->v[0], verbs[i].words == 1 ? "no path" : "one path");
		return usage_error("pool", &e);
	}
	err_set(&e, E_INVALID, "'%s' should be 'create', 'status' or 'remove'", text_safe(a->v[0]));
	return usage_error("pool", &e);
}
