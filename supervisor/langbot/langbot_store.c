/* Actions that box-store serves: the workspace's name is added, and the answer is passed on unchanged. */
#include <stdlib.h>
#include <string.h>

#include "langbot/langbot_impl.h"

static void
on_answer(struct action *a, const struct msg *reply)
{
	if (reply->failed)
		action_fail(a, &reply->error);
	else
		action_reply(a, reply->type, reply->body);
}

static const char **
ns_of(enum msg_type t, void *body)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, "ns") == 0)
			return (const char **)((char *)body + f->offset);
	return NULL;
}

void
on_skill_action(struct action *a)
{
	size_t     size = msg_def(a->type)->size;
	char       ns[NAMESPACE_LEN + 1];
	void      *body = malloc(size);
	struct err e;

	if (body == NULL) {
		err_set(&e, E_SYS, "no memory for a request");
		action_fail(a, &e);
		return;
	}
	memcpy(body, a->body, size);
	tenancy_namespace(&a->context, ns);
	*ns_of(a->type, body) = ns;
	action_ask_store(a, a->type, body, on_answer);
	free(body);
}

void
on_box_verify_workspace(struct action *a)
{
	action_ask_store(a, a->type, a->body, on_answer);
}
