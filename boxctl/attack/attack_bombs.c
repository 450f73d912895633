/*
 * A bomb goes off in a session of its own while the neighbour is asked all the time: does it answer, can it still have
 * one of everything, does the daemon answer?  The bomb's own session may suffer, but must answer or be gone.
 *
 * A hoard says by itself how much it got.  Being ended for its memory is an answer, too.
 */
#include <stdio.h>
#include <string.h>

#include "attack/attack.h"
#include "base/clock.h"

enum {
	BOMB_MS = 1500, /* most have taken all there is long before */
	HOARD_MS = 30000,
	ASK_MS = 30000, /* for the neighbour: a later answer does not count */
	PAUSE_MS = 50,
};

/* What bounds a bomb; without it the bomb would hit the host, and we know that without trying. */
enum need { NOTHING, MEMORY_LIMIT, OWN_UIDS };

static const struct {
	const char *name;
	enum need   need;
} needs[] = {
	{ "bombs.memory", MEMORY_LIMIT },
	{ "bombs.shared-memory", MEMORY_LIMIT },
	{ "bombs.pipes", MEMORY_LIMIT },
	{ "bombs.sockets", MEMORY_LIMIT },
	{ "bombs.inotify", OWN_UIDS },
	{ "bombs.signals", OWN_UIDS },
	{ "bombs.queues", OWN_UIDS },
};

/* What the neighbour has said so far. */
struct watch {
	struct attack *attack;
	const char    *share; /* the attack it runs; NULL: none is listed */
	unsigned       asked;
	uint64_t       slowest_ms;
	bool           is_fine; /* it has told so, this time */
	char           trouble[ERR_TEXT];
};

static enum need
need_of(const char *name)
{
	for (size_t i = 0; i < sizeof(needs) / sizeof(*needs); i++)
		if (strcmp(needs[i].name, name) == 0)
			return needs[i].need;
	return NOTHING;
}

static void
trouble(struct watch *w, const char *what, const char *why)
{
	if (w->trouble[0] == '\0')
		snprintf(w->trouble, sizeof(w->trouble), "%s: %.800s", what, why);
}

/* ---- the neighbour ---- */

static void
on_share(void *arg, const char *line)
{
	struct watch *w = arg;

	if (strncmp(line, "held\t", 5) == 0)
		w->is_fine = true;
	else if (strncmp(line, "open\t", 5) == 0)
		trouble(w, "the neighbour has less", line + 5);
}

static int
ask_share(struct watch *w, struct err *e)
{
	const char                 *argv[] = { ATTACK_INSIDE, "--inside", "--only", w->share, NULL };
	const struct attack_command ask = { .session = w->attack->neighbour, .argv = argv, .timeout_ms = ASK_MS };
	struct attack_exec          x = { .on_line = on_share, .on_line_arg = w };

	w->is_fine = false;
	int r = attack_exec_start(&x, &w->attack->second, &ask, e);
	if (r == 0)
		r = attack_exec_wait(&x, e);
	if (r == 0 && x.result == NULL) {
		*e = x.why;
		r = -1;
	} else if (r == 0 && !w->is_fine)
		r = err_set(e, E_STATE, "its command ended by %s with %ld",
		    msg_enum_name(MSG_EXEC_RESULT, "cause", (int)x.result->cause), x.result->exit_code);
	attack_exec_clear(&x);
	return r;
}

static int
ask_daemon(struct watch *w, struct err *e)
{
	struct msg_status ask;
	struct msg        reply;

	msg_defaults(MSG_STATUS, &ask);
	if (client_call(&w->attack->second, MSG_STATUS, &ask, &reply, e) == -1)
		return -1;
	msg_clear(&reply);
	return 0;
}

/* -1: the connection or our time is over; trouble of the neighbour's is kept in *w. */
static int
ask_once(struct watch *w, struct err *e)
{
	uint64_t start = span_ms();
	int      r = w->share != NULL ? ask_share(w, e)
				      : attack_answers(w->attack, &w->attack->second, w->attack->neighbour, e);

	if (r == -1 && w->attack->interrupt.count == 0)
		trouble(w, "the neighbour does not answer as it should", e->text);
	if (!w->attack->second.broken && ask_daemon(w, e) == -1 && w->attack->interrupt.count == 0)
		trouble(w, "the daemon does not answer", e->text);
	uint64_t took = span_ms() - start;
	w->slowest_ms = took > w->slowest_ms ? took : w->slowest_ms;
	w->asked++;
	return w->attack->second.broken || w->attack->interrupt.count > 0 ? -1 : 0;
}

/* ---- the bomb ---- */

/* How it ended, for the row. */
static const char *
end_of(const struct attack_exec *x)
{
	return x->result != NULL ? msg_enum_name(MSG_EXEC_RESULT, "cause", (int)x->result->cause) : x->why.text;
}

/*
 * Its own session answers, or is gone with a reason; one that stands still is neither.  "Killed, no memory" is an
 * answer: files that fill the session's memory stay until somebody removes them.
 */
static void
check_session(struct watch *w, struct err *e)
{
	struct attack              *a = w->attack;
	const char                 *argv[] = { "true", NULL };
	const struct attack_command ask = { .session = a->bomb, .argv = argv, .timeout_ms = ASK_MS };
	struct attack_exec          x = { 0 };
	struct msg_get              get = { .session = a->bomb };
	struct msg                  reply;
	struct err                  ignored;

	int  r = attack_exec_start(&x, &a->client, &ask, e) == -1 || attack_exec_wait(&x, e) == -1 ? -1 : 0;
	bool is_answered = r == 0 && x.result != NULL && x.result->cause != CAUSE_TIMEOUT;
	if (r == 0 && x.result == NULL)
		*e = x.why;
	else if (r == 0)
		err_set(e, E_STATE, "'true' does not end");
	attack_exec_clear(&x);
	if (is_answered || a->interrupt.count > 0 || client_call(&a->client, MSG_GET, &get, &reply, &ignored) == -1)
		return;
	msg_clear(&reply);
	trouble(w, "its own session is there and does not answer", e->text);
}

static int
explode(struct watch *w, const char *name, struct err *e)
{
	struct attack              *a = w->attack;
	const char                 *argv[] = { ATTACK_INSIDE, "--inside", "--only", name, NULL };
	const struct attack_command what = { .session = a->bomb, .argv = argv, .timeout_ms = BOMB_MS };
	struct attack_exec          x = { 0 };
	int                         r = attack_exec_start(&x, &a->client, &what, e);

	while (r == 0 && !x.ended) {
		r = ask_once(w, e);
		if (r == 0)
			r = attack_exec_poll(&x, PAUSE_MS, e);
	}
	if (r == 0) {
		check_session(w, e);
		if (w->trouble[0] != '\0')
			rows_add(&a->rows, name, ATTACK_OPEN, "%s", w->trouble);
		else
			rows_add(&a->rows, name, ATTACK_HELD,
			    "the neighbour answered %u times, in %lu ms at most; the bomb ended by %s", w->asked,
			    w->slowest_ms, end_of(&x));
	}
	attack_exec_clear(&x);
	return r;
}

static int
one_bomb(struct attack *a, const char *name, const char *share, struct err *e)
{
	struct watch w = { .attack = a, .share = share };
	enum need    need = need_of(name);

	if (need == MEMORY_LIMIT && !a->has_memory_limit) {
		rows_add(&a->rows, name, ATTACK_SKIPPED, "nothing limits memory here, see boxctl doctor");
		return 0;
	}
	if (need == OWN_UIDS && !a->has_uids) {
		rows_add(&a->rows, name, ATTACK_SKIPPED, "all sandboxes of an ordinary user share that user's quotas");
		return 0;
	}
	if (attack_session(a, &a->client, a->bomb, NULL, e) == -1 || explode(&w, name, e) == -1)
		return -1;
	return attack_session_end(a, &a->client, a->bomb, e);
}

/* ---- hoards ---- */

static void
on_hoard(void *arg, const char *line)
{
	struct watch *w = arg;
	long          end = -1;

	if (rows_take_line(&w->attack->rows, line, &end) && end == -1)
		w->is_fine = true;
}

static int
one_hoard(struct attack *a, const char *name, struct err *e)
{
	const char                 *argv[] = { ATTACK_INSIDE, "--inside", "--only", name, NULL };
	const struct attack_command what = { .session = a->bomb, .argv = argv, .timeout_ms = HOARD_MS };
	struct watch                w = { .attack = a };
	struct attack_exec          x = { .on_line = on_hoard, .on_line_arg = &w };

	if (!a->has_memory_limit) {
		rows_add(&a->rows, name, ATTACK_SKIPPED, "nothing limits memory here, see boxctl doctor");
		return 0;
	}
	if (attack_session(a, &a->client, a->bomb, NULL, e) == -1)
		return -1;
	int r = attack_exec_start(&x, &a->client, &what, e);
	if (r == 0)
		r = attack_exec_wait(&x, e);
	if (r == 0 && !w.is_fine) {
		bool is_memory = x.result != NULL && x.result->cause == CAUSE_MEMORY;

		rows_add(&a->rows, name, is_memory ? ATTACK_HELD : ATTACK_OPEN,
		    "it ended by %s before it could report%s%s", end_of(&x),
		    is_memory && x.result->error[0] != '\0' ? ": " : "", is_memory ? x.result->error : "");
	}
	attack_exec_clear(&x);
	return r == -1 ? -1 : attack_session_end(a, &a->client, a->bomb, e);
}

int
attack_bombs(struct attack *a, struct err *e)
{
	const char *share = NULL;

	for (size_t i = 0; i < a->rows.listed_n; i++)
		if (strcmp(a->rows.listed[i].kind, "share") == 0)
			share = a->rows.listed[i].name;
	for (size_t i = 0; i < a->rows.listed_n; i++)
		if (strcmp(a->rows.listed[i].kind, "bomb") == 0 && one_bomb(a, a->rows.listed[i].name, share, e) == -1)
			return -1;
	for (size_t i = 0; i < a->rows.listed_n; i++)
		if (strcmp(a->rows.listed[i].kind, "hoard") == 0 && one_hoard(a, a->rows.listed[i].name, e) == -1)
			return -1;
	return 0;
}
