#include "config/filter_parse.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/ioprio.h>
#include <linux/netlink.h>
#include <linux/prctl.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/bounds.h"
#include "base/log.h"

#ifndef PR_SCHED_CORE
#define PR_SCHED_CORE 62
#endif

struct name {
	const char *name;
	uint32_t    value;
};

#define NAME(n)       \
	{             \
#n, n \
	}

static const struct name errnos[] = {
	NAME(EPERM),
	NAME(EACCES),
	NAME(EINVAL),
	NAME(ENOSYS),
	NAME(ENOTTY),
	NAME(EOPNOTSUPP),
	NAME(ENOPROTOOPT),
	NAME(EAFNOSUPPORT),
	NAME(EPROTONOSUPPORT),
	NAME(ESOCKTNOSUPPORT),
};

/* Those whose value is the same in both ABIs of every machine we run on. */
static const struct name constants[] = {
	NAME(CLONE_NEWNS),
	NAME(CLONE_NEWCGROUP),
	NAME(CLONE_NEWUTS),
	NAME(CLONE_NEWIPC),
	NAME(CLONE_NEWUSER),
	NAME(CLONE_NEWPID),
	NAME(CLONE_NEWNET),
	{ "O_CREAT", 0100 },
	{ "O_TMPFILE", 020000000 }, /* the bit of its own; the C macro has O_DIRECTORY in it */
	NAME(S_ISUID),
	NAME(S_ISGID),
	NAME(TIOCSTI),
	{ "TIOCLINUX", 0x541C },
	NAME(TIOCSETD),
	NAME(AF_UNIX),
	NAME(AF_INET),
	NAME(AF_INET6),
	NAME(AF_NETLINK),
	NAME(SOCK_STREAM),
	NAME(SOCK_DGRAM),
	NAME(SOCK_RAW),
	{ "SOCK_TYPE_MASK", 0xf },
	NAME(IPPROTO_IP),
	NAME(IPPROTO_ICMP),
	NAME(IPPROTO_TCP),
	NAME(IPPROTO_UDP),
	NAME(IPPROTO_ICMPV6),
	NAME(IPPROTO_IPV6),
	{ "IPPROTO_MPTCP", 262 },
	NAME(NETLINK_ROUTE),
	NAME(PER_LINUX),
	NAME(PER_LINUX32),
	NAME(UNAME26),
	NAME(ADDR_NO_RANDOMIZE),
	NAME(F_OFD_SETLK),
	NAME(F_OFD_SETLKW),
	NAME(SOL_SOCKET),
	NAME(SO_RCVBUF),
	NAME(SO_ATTACH_FILTER),
	NAME(SO_ATTACH_BPF),
	NAME(SO_ATTACH_REUSEPORT_CBPF),
	NAME(SO_ATTACH_REUSEPORT_EBPF),
	NAME(PR_SET_SECCOMP),
	NAME(PR_SCHED_CORE),
	{ "PR_SET_VMA", 0x53564d41 },
	{ "PR_SET_PTRACER", 0x59616d61 },
	NAME(PRIO_USER),
	NAME(IOPRIO_WHO_USER),
	NAME(RLIMIT_CORE),
	{ "INIT", 1 },
};

static const struct name ops[] = {
	{ "==", FILTER_EQ },
	{ "!=", FILTER_NE },
	{ ">", FILTER_GT },
	{ ">=", FILTER_GE },
	{ "<", FILTER_LT },
	{ "<=", FILTER_LE },
};

#define COUNT(a) (sizeof(a) / sizeof(*(a)))

static const struct name *
name_find(const struct name *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return &v[i];
	return NULL;
}

static const char *
shown(const char *word)
{
	return log_escape(word, strlen(word));
}

enum { WORDS = 64 }; /* of one line */

struct words {
	char  *v[WORDS + 1]; /* NULL behind the last */
	char **at;
	char  *now; /* *at; read again and again */
};

static char *
next_word(struct words *w)
{
	if (w->now != NULL)
		w->now = *++w->at;
	return w->now;
}

static int
split_line(struct words *w, char *line, struct err *e)
{
	char  *rest = line, *word;
	size_t n = 0;

	while ((word = strtok_r(NULL, " \t\r\n", &rest)) != NULL) {
		if (n == WORDS)
			return err_set(e, E_INVALID, "more than %d words: make it two lines", WORDS);
		w->v[n++] = word;
	}
	w->v[n] = NULL;
	w->at = w->v;
	w->now = *w->at;
	return 0;
}

/* ---- a test ------------------------------------------------------------------ */

static int
parse_term(const char *word, uint32_t *out, struct err *e)
{
	const struct name *c = name_find(constants, COUNT(constants), word);
	char              *end;

	if (c != NULL) {
		*out = c->value;
		return 0;
	}
	errno = 0;
	unsigned long long v = strtoull(word, &end, 0);
	if (*word < '0' || *word > '9' || *end != '\0' || errno != 0 || v > UINT32_MAX)
		return err_set(e, E_INVALID, "'%s' is neither a number of 32 bits nor a constant", shown(word));
	*out = (uint32_t)v;
	return 0;
}

/* NUMBER or CONSTANT, or several of them with | between and no blanks. */
static int
parse_value(char *word, uint32_t *out, struct err *e)
{
	uint32_t one = 0;

	if (word == NULL)
		return err_set(e, E_INVALID, "a value is missing");
	*out = 0;
	while (word != NULL) {
		char *term = strsep(&word, "|");

		if (parse_term(term, &one, e) == -1)
			return -1;
		*out |= one;
	}
	return 0;
}

/* & MASK, or & MASK == VALUE; what follows is left as the current word. */
static int
parse_masked(struct filter_test *t, struct words *w, struct err *e)
{
	if (parse_value(next_word(w), &t->mask, e) == -1)
		return -1;
	if (t->mask == 0)
		return err_set(e, E_INVALID, "a mask of no bits");
	t->op = FILTER_ANY;
	const struct name *op = next_word(w) == NULL ? NULL : name_find(ops, COUNT(ops), w->now);
	if (op == NULL)
		return 0;
	t->op = op->value;
	if (parse_value(next_word(w), &t->value, e) == -1)
		return -1;
	next_word(w);
	return 0;
}

static int
parse_compare(struct filter_test *t, struct words *w, struct err *e)
{
	const struct name *op = w->now == NULL ? NULL : name_find(ops, COUNT(ops), w->now);

	if (op == NULL)
		return err_set(
		    e, E_INVALID, "'%s' should be one of == != > >= < <= &", w->now == NULL ? "" : shown(w->now));
	t->op = op->value;
	t->mask = UINT32_MAX;
	if (parse_value(next_word(w), &t->value, e) == -1)
		return -1;
	next_word(w);
	if (t->pointer && (t->value != 0 || t->op > FILTER_NE))
		return err_set(e, E_INVALID, "a pointer can only be compared by == 0 and != 0");
	return 0;
}

static int
parse_test(struct filter_test *t, struct words *w, struct err *e)
{
	const char *word = next_word(w);

	if (word == NULL || (strncmp(word, "arg", 3) != 0 && strncmp(word, "ptr", 3) != 0) || word[3] < '0' ||
	    word[3] > '5' || word[4] != '\0')
		return err_set(
		    e, E_INVALID, "'%s' should be arg0 to arg5, or ptr0 to ptr5", word == NULL ? "" : shown(word));
	*t = (struct filter_test){ .arg = (unsigned)(word[3] - '0'), .pointer = word[0] == 'p' };
	if (next_word(w) != NULL && strcmp(w->now, "&") == 0 && !t->pointer)
		return parse_masked(t, w, e);
	return parse_compare(t, w, e);
}

/* if TEST and TEST ... to the end of the line */
static int
parse_tests(struct filter_rule *r, struct words *w, struct err *e)
{
	do {
		if (r->ntests == FILTER_TESTS)
			return err_set(e, E_INVALID, "more than %d tests", FILTER_TESTS);
		if (parse_test(&r->tests[r->ntests], w, e) == -1)
			return -1;
		r->ntests++;
	} while (w->now != NULL && strcmp(w->now, "and") == 0);
	if (w->now != NULL)
		return err_set(e, E_INVALID, "'%s' should be 'and', or the end of the line", shown(w->now));
	return 0;
}

/* ---- calls -------------------------------------------------------------------- */

/* NAME=NUMBER; a number that libseccomp knows better is an error. */
static int
parse_number(struct filter_rule *r, const char *text, int known, struct err *e)
{
	char         *end;
	unsigned long n = strtoul(text, &end, 10);

	if (*text < '0' || *text > '9' || *end != '\0' || n < FILTER_SAME_FROM || n >= FILTER_SAME_BELOW)
		return err_set(e, E_INVALID, "%s=%s: only numbers from %d on are the same in every ABI", r->call,
		    shown(text), FILTER_SAME_FROM);
	if (known >= 0 && (unsigned long)known != n)
		return err_set(e, E_INVALID, "%s is number %d, not %lu", r->call, known, n);
	r->number = (int)n;
	return 0;
}

/* 1: a rule; 0: a call that may be unknown, and is. */
static int
parse_call(struct filter_rule *r, char *word, struct err *e)
{
	bool  may_be_unknown = *word == '?';
	char *equals = strchr(word, '=');

	if (may_be_unknown)
		word++;
	if (equals != NULL)
		*equals = '\0';
	if (strlen(word) > FILTER_CALL)
		return err_set(e, E_INVALID, "there is no system call '%s'", shown(word));
	strcpy(r->call, word);
	r->number = -1;
	int known = seccomp_syscall_resolve_name(word);
	if (equals != NULL && parse_number(r, equals + 1, known, e) == -1)
		return -1;
	if (strcmp(word, "clone3") == 0 || strcmp(word, "seccomp") == 0 || r->number == SYS_clone3)
		return err_set(e, E_INVALID, "%s is box-init's: it needs it, and refuses it to every command", word);
	if (strcmp(word, "setns") == 0) /* box-init's too; older policies refuse it, and so does init to commands */
		return 0;
	if (known != __NR_SCMP_ERROR || r->number != -1)
		return 1;
	if (may_be_unknown)
		return 0;
	return err_set(e, E_INVALID,
	    "there is no system call '%s' (?NAME: only where libseccomp knows it; NAME=NUMBER: where it does not)",
	    shown(word));
}

/* ---- a line ------------------------------------------------------------------- */

static bool
is_decided(const struct filter_policy *p, const char *call)
{
	for (size_t i = 0; i < p->n; i++)
		if (p->rules[i].ntests == 0 && strcmp(p->rules[i].call, call) == 0)
			return true;
	return false;
}

/* A list of allowed calls may name one that was refused above it: adding rules must not require taking the list apart. */
static int
add_rule(struct filter_policy *p, const struct filter_rule *r, struct err *e)
{
	if (is_decided(p, r->call)) {
		if (r->action == SECCOMP_RET_ALLOW && r->ntests == 0)
			return 0;
		return err_set(e, E_INVALID, "%s is decided by a line above: this one is never reached", r->call);
	}
	if (p->n == LIM_FILTER_RULES)
		return err_set(e, E_INVALID, "more than %d rules", LIM_FILTER_RULES);
	struct filter_rule *v = reallocarray(p->rules, p->n + 1, sizeof(*v));
	if (v == NULL)
		return err_set(e, E_SYS, "no memory for a rule");
	p->rules = v;
	p->rules[p->n++] = *r;
	return 0;
}

static const struct action {
	const char *name;
	uint32_t    value; /* as a filter returns it */
	bool        has_errno;
	bool        is_default; /* fit for calls that nobody named */
} actions[] = {
	{ "allow", SECCOMP_RET_ALLOW, false, true }, { "deny", SECCOMP_RET_ERRNO, true, true },
	{ "ignore", SECCOMP_RET_ERRNO | 0, false, false }, /* does nothing and says 0 */
};

static const struct action *
action_find(const char *name)
{
	for (size_t i = 0; i < COUNT(actions); i++)
		if (strcmp(actions[i].name, name) == 0)
			return &actions[i];
	return NULL;
}

static int
parse_action(const struct action *a, uint32_t *out, struct words *w, struct err *e)
{
	*out = a->value;
	if (!a->has_errno)
		return 0;
	const struct name *code = next_word(w) == NULL ? NULL : name_find(errnos, COUNT(errnos), w->now);
	if (code == NULL)
		return err_set(e, E_INVALID, "%s: '%s' should be an error such as EPERM or ENOSYS", a->name,
		    w->now == NULL ? "" : shown(w->now));
	*out |= code->value;
	return 0;
}

/* default ACTION */
static int
parse_default(struct filter_policy *p, struct words *w, struct err *e)
{
	const struct action *a = next_word(w) == NULL ? NULL : action_find(w->now);

	if (p->has_default)
		return err_set(e, E_INVALID, "a second default line");
	if (a == NULL || !a->is_default)
		return err_set(e, E_INVALID, "default: '%s' should be allow, or deny with an error",
		    w->now == NULL ? "" : shown(w->now));
	if (parse_action(a, &p->otherwise, w, e) == -1)
		return -1;
	if (next_word(w) != NULL)
		return err_set(e, E_INVALID, "'%s' should be the end of the line", shown(w->now));
	p->has_default = true;
	return 0;
}

/* ACTION CALL... [if TEST [and TEST]...], or the default */
static int
parse_line(struct filter_policy *p, char *line, struct err *e)
{
	struct filter_rule r = { 0 };
	struct words       w;

	if (split_line(&w, line, e) == -1)
		return -1;
	if (w.now == NULL)
		return 0;
	if (strcmp(w.now, "default") == 0)
		return parse_default(p, &w, e);
	const struct action *a = action_find(w.now);
	if (a == NULL)
		return err_set(e, E_INVALID, "'%s' should be allow, deny, ignore or default", shown(w.now));
	if (parse_action(a, &r.action, &w, e) == -1)
		return -1;
	char **call = w.at + 1;
	while (next_word(&w) != NULL && strcmp(w.now, "if") != 0)
		;
	char **end = w.at;
	if (call == end)
		return err_set(e, E_INVALID, "no system call is named");
	if (w.now != NULL && parse_tests(&r, &w, e) == -1)
		return -1;
	for (int known; call < end; call++)
		if ((known = parse_call(&r, *call, e)) == -1 || (known == 1 && add_rule(p, &r, e) == -1))
			return -1;
	return 0;
}

int
filter_parse(struct filter_policy *p, FILE *f, const char *name, struct err *e)
{
	char  *line = NULL;
	size_t size = 0;
	int    r = 0;

	*p = (struct filter_policy){ 0 };
	for (int n = 1; r == 0 && getline(&line, &size, f) != -1; n++) {
		line[strcspn(line, "#")] = '\0';
		if (parse_line(p, line, e) == -1)
			r = err_prefix(e, "%s:%d", name, n);
	}
	if (r == 0 && ferror(f))
		r = err_sys(e, "read %s", name);
	else if (r == 0 && !p->has_default) /* a file for an older boxd, which allowed what no line named */
		r = err_set(e, E_INVALID,
		    "%s: no default line: 'default deny ENOSYS' when the file lists what is allowed, "
		    "'default allow' when it lists what is refused",
		    name);
	free(line);
	if (r == -1)
		filter_policy_clear(p);
	return r;
}

void
filter_policy_clear(struct filter_policy *p)
{
	free(p->rules);
	*p = (struct filter_policy){ 0 };
}
