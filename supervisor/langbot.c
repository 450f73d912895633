#include "langbot.h"

#include <stdlib.h>

struct langbot {
	struct house          *house;
	struct msg_box_limits  limits;
	struct msg_store_ready paths;
};

struct langbot *
langbot_open(struct house *h, struct err *e)
{
	struct langbot *l = calloc(1, sizeof(*l));

	if (l == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	l->house = h;
	msg_defaults(MSG_BOX_LIMITS, &l->limits);
	msg_defaults(MSG_STORE_READY, &l->paths);
	return l;
}

void
langbot_close(struct langbot **lp)
{
	free(*lp);
	*lp = NULL;
}

int
langbot_deliver(struct house *h, const struct msg *m, struct err *e)
{
	(void)h;
	return err_set(e, E_PROTO, "%s is not served", msg_name(m->type));
}

void
langbot_conn_gone(struct langbot *l, uint64_t conn)
{
	(void)l;
	(void)conn;
}

void
langbot_drop_sessions(struct langbot *l, const struct msg_context *c, const char *keep, void (*fn)(void *), void *arg)
{
	(void)l;
	(void)c;
	(void)keep;
	fn(arg);
}

const char *
langbot_backend(const struct langbot *l)
{
	(void)l;
	return "native";
}

const struct msg_box_limits *
langbot_limits(const struct langbot *l)
{
	return &l->limits;
}

const struct msg_store_ready *
langbot_paths(const struct langbot *l)
{
	return &l->paths;
}

size_t
langbot_sessions(struct langbot *l, const struct msg_context *c)
{
	(void)l;
	(void)c;
	return 0;
}
