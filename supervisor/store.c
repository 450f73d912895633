#include "store.h"

#include <stdlib.h>

struct store {
	struct house *house;
};

struct store *
store_open(struct house *h, struct err *e)
{
	struct store *s = calloc(1, sizeof(*s));

	if (s == NULL)
		err_set(e, E_SYS, "no memory");
	else
		s->house = h;
	return s;
}

void
store_close(struct store **sp)
{
	free(*sp);
	*sp = NULL;
}

int
store_configure(struct store *s, const struct msg_box_local *local, ask_fn *fn, void *arg, struct err *e)
{
	struct msg_store_ready ready;

	(void)s;
	(void)local;
	(void)e;
	msg_defaults(MSG_STORE_READY, &ready);
	fn(arg, &(struct msg){ .envelope = ENV_REPLY, .type = MSG_STORE_READY, .body = &ready });
	return 0;
}

uint64_t
store_ask(struct store *s, enum msg_type t, const void *body, ask_fn *fn, void *arg, struct err *e)
{
	(void)s;
	(void)body;
	(void)fn;
	(void)arg;
	err_set(e, E_STATE, "there is no box-store for %s", msg_name(t));
	return 0;
}

void
store_drop(struct store *s, uint64_t id)
{
	(void)s;
	(void)id;
}
