/*
 * What this machine allows to the user who asks, what follows for sandboxes, and
 * what a running daemon says of its own.  They may differ: the daemon may be root.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attack/attack.h"
#include "cmd.h"
#include "host/probe.h"
#include "render.h"
#include "text.h"

/* The daemon's own view; false when it does not answer. */
static bool
ask_daemon(const struct args *a, struct client *c, struct msg *reply, struct err *e)
{
	struct msg_status ask;

	msg_defaults(MSG_STATUS, &ask);
	if (client_open(c, a->socket, e) == 0 && client_call(c, MSG_STATUS, &ask, reply, e) == 0)
		return true;
	client_close(c);
	return false;
}

static enum colour
state_colour(const struct probe *p)
{
	return p->state == PROBE_WORKS ? GREEN : p->required ? RED : YELLOW;
}

static void
print_probes(const struct probe *probes, size_t n)
{
	static const char *const heads[] = { "NAME", "STATE", "WHY", "REMEDY", NULL };
	struct table            *t = table_open(heads);

	for (size_t i = 0; t != NULL && i < n; i++) {
		table_cell(t, PLAIN, "%s", probes[i].name);
		table_cell(t, state_colour(&probes[i]), "%s", probe_state_name(probes[i].state));
		table_cell(t, PLAIN, "%s", probes[i].why);
		table_cell(t, PLAIN, "%s", probes[i].remedy);
	}
	if (t != NULL)
		table_print(t);
	table_close(&t);
}

static void
print_all(const struct args *a, const struct probe *probes, size_t n, const struct msg_isolation *here,
    const struct msg_status_result *daemon, const struct err *why)
{
	print_probes(probes, n);
	printf("\nisolation for a boxd of uid %u:\n", (unsigned)geteuid());
	render_lines(MSG_ISOLATION, here, 2);
	printf("\nisolation by the boxd at %s:\n", text_safe(a->socket));
	if (daemon != NULL)
		render_lines(MSG_ISOLATION, &daemon->isolation, 2);
	else
		printf("  no answer: %.*s\n", (int)strcspn(why->text, "\n"), why->text);
}

static json_t *
json_probe(const struct probe *p)
{
	json_t *o = json_object();

	json_object_set_new(o, "name", json_string(p->name));
	json_object_set_new(o, "gives", json_string(p->gives));
	json_object_set_new(o, "required", json_boolean(p->required));
	json_object_set_new(o, "state", json_string(probe_state_name(p->state)));
	json_object_set_new(o, "why", render_json_string(p->why));
	json_object_set_new(o, "remedy", render_json_string(p->remedy));
	return o;
}

static void
print_json(const struct args *a, const struct probe *probes, size_t n, const struct msg_isolation *here,
    const struct msg_status_result *daemon, const struct err *why)
{
	json_t *o = json_object(), *rows = json_array(), *there = json_object();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(rows, json_probe(&probes[i]));
	json_object_set_new(there, "socket", render_json_string(a->socket));
	if (daemon != NULL)
		json_object_set_new(there, "isolation", render_json(MSG_ISOLATION, &daemon->isolation));
	else
		json_object_set_new(there, "error", render_json_string(why->text));
	json_object_set_new(o, "uid", json_integer(geteuid()));
	json_object_set_new(o, "probes", rows);
	json_object_set_new(o, "isolation", render_json(MSG_ISOLATION, here));
	json_object_set_new(o, "daemon", there);
	render_print_json(o);
}

static int
examine(const struct args *a)
{
	size_t            n = probe_count();
	struct probe     *probes = calloc(n, sizeof(*probes));
	struct wall_lists lists;
	struct cg_found   found;
	struct walls      walls;
	struct client     c;
	struct msg        reply;
	struct err        why;

	for (size_t i = 0; probes != NULL && i < n; i++)
		probe_run(i, &probes[i]);
	cgfind(&found, "");
	probe_walls(&walls, &found);
	struct msg_isolation here = walls_isolation(&walls, &lists);
	bool                 answers = ask_daemon(a, &c, &reply, &why);

	(a->json ? print_json : print_all)(a, probes, probes != NULL ? n : 0, &here, answers ? reply.body : NULL, &why);
	if (answers)
		cmd_done(&c, &reply);
	free(probes);
	return walls.tier == TIER_NONE ? EXIT_REFUSED : EXIT_OK;
}

int
cmd_doctor(const struct args *a)
{
	struct err e;

	if (!a->attack && a->exec.timeout_ms > 0) {
		err_set(&e, E_INVALID, "--timeout is for --attack");
		return usage_error("doctor", &e);
	}
	return a->attack ? attack_main(a) : examine(a);
}
