/*
 * A session for one command: made, used, and deleted whatever happens.  We choose
 * its name, so that it can be deleted even when the answer to its making got lost.
 */
#include <stdio.h>
#include <sys/random.h>
#include <unistd.h>

#include "cmd.h"
#include "cmd/exec.h"

static void
make_name(char *out, size_t size)
{
	uint64_t random = (uint64_t)getpid();

	(void)!getrandom(&random, sizeof(random), 0);
	snprintf(out, size, "run-%016lx", random);
}

static int
create(struct client *c, const struct args *a, const char *name)
{
	struct msg_create ask = { .session = name, .spec = a->spec };
	struct msg        reply;
	struct err        e;

	if (client_call(c, MSG_CREATE, &ask, &reply, &e) == 0) {
		msg_clear(&reply);
		return EXIT_OK;
	}
	if (c->interrupt->count == 0)
		complain("%s", e.text);
	return EXIT_BOXD;
}

/*
 * A session outlives the connection it was made on, so a new one will do.  The
 * signals that have ended the command do not end this; one more does.
 */
static void delete (struct client *c, const struct args *a, const char *name)
{
	struct msg_delete ask = { .session = name };
	struct interrupt *in = c->interrupt;
	struct msg        reply;
	struct err        e;

	if (c->broken) {
		client_close(c);
		if (client_open(c, a->socket, &e) == -1) {
			complain("session %s may be left behind: %s", name, e.text);
			return;
		}
		c->interrupt = in;
	}
	c->patience = in->count + 1;
	if (client_call(c, MSG_DELETE, &ask, &reply, &e) == 0)
		msg_clear(&reply);
	else if (e.code != E_NOTFOUND)
		complain("session %s may be left behind: %s", name, e.text);
}

static int
create_run_delete(struct client *c, const struct args *a, void *input)
{
	struct interrupt *in = c->interrupt;
	char              name[32];

	make_name(name, sizeof(name));
	int code = create(c, a, name);
	if (code != EXIT_OK && in->count == 0 && !c->broken)
		return code; /* refused: there is nothing to delete */
	if (in->count > 0)
		code = 128 + in->signal;
	else if (code == EXIT_OK)
		code = exec_run(c, a, name, a->v, a->n, input);
	delete (c, a, name);
	return in->count > 0 ? 128 + in->signal : code;
}

int
cmd_run(const struct args *a)
{
	return exec_prepared(a, "run", a->v, a->n, create_run_delete);
}
