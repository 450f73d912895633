#include "readiness.h"

#include "langbot.h"
#include "machine.h"

void
readiness_ask(struct house *h, ask_fn *fn, void *arg)
{
	bool                 available = h->machine->barrier.code == E_NONE && *langbot_backend(h->langbot) != '\0';
	struct msg_check     check = { .name = "backend_available", .passed = available };
	struct msg_readiness r = {
		.ready = available,
		.backend = langbot_backend(h->langbot),
		.available = available,
		.checks = { 1, &check },
		.error = "",
	};

	fn(arg, &(struct msg){ .envelope = ENV_REPLY, .type = MSG_READINESS, .body = &r });
}

void
readiness_forget(struct house *h)
{
	(void)h;
}

int
readiness_refusal(const struct msg_readiness *r, struct err *e)
{
	return r->ready ? 0 : err_set(e, E_READINESS, "Managed sandbox isolation is not ready");
}
