#include <stdio.h>

#include "cmd.h"
#include "text.h"

/* Only the name is printed, for s=$(boxctl create). */
static void
print_name(const void *body)
{
	const struct msg_session_info *made = body;

	printf("%s\n", text_safe(made->session));
}

int
cmd_create(const struct args *a)
{
	return cmd_show(a, MSG_CREATE, &(struct msg_create){ .session = a->name, .spec = a->spec }, print_name);
}
