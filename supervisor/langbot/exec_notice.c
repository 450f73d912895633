#include "langbot/exec_notice.h"

#include <stdio.h>
#include <string.h>

#include "python/pystr.h"

int64_t
exec_exit_code(const struct msg_exec_result *x)
{
	if (x->exit_code >= 0)
		return x->exit_code;
	return x->signal != 0 ? 128 + (int64_t)x->signal : x->cause == CAUSE_SPAWN ? 126 : -1;
}

/* Nothing that would be left of it when blanks are taken off its ends. */
static bool
is_blank(const struct blob *b)
{
	return b->data != NULL ? py_is_blank(b->data, b->len) : b->len == 0;
}

void
exec_notice(const struct msg_exec_result *x, const struct msg_spec *s, uint64_t timeout_sec, char *out, size_t size)
{
	*out = '\0';
	switch (x->cause) {
	case CAUSE_TIMEOUT:
		if (is_blank(&x->stderr))
			snprintf(out, size, "Command timed out after %lu seconds.", timeout_sec);
		break;
	case CAUSE_MEMORY:
		snprintf(out, size, "boxd: killed: the session has no more than %lu MiB of memory (memory_mb).",
		    s->memory_mb);
		break;
	case CAUSE_PIDS:
		snprintf(out, size,
		    "boxd: a process could not be started: the session may have %lu at one time (pids_limit).",
		    s->pids_limit);
		break;
	case CAUSE_CANCELLED:
		snprintf(out, size, "boxd: the command was cancelled.");
		break;
	case CAUSE_SPAWN:
		snprintf(out, size, "boxd: %s", x->error);
		break;
	case CAUSE_EXIT:
	case CAUSE_SIGNAL:
	case CAUSE_DISK:
		break;
	}
	size_t n = strlen(out);
	if (*x->hint != '\0')
		snprintf(out + n, size - n, "%sboxd: %s", n > 0 ? "\n" : "", x->hint);
}
