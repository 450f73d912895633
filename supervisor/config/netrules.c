#include "config/netrules.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "config/netrule.h"

struct line {
	struct netrule rule;
	size_t         section; /* 0: for all */
};

struct netrules {
	char              *file;  /* owned */
	struct line       *lines; /* owned; as they were written */
	size_t             n_lines;
	char              *names[LIM_NET_SETS]; /* owned; of the sections, the first is "" */
	struct msg_net_set sets[LIM_NET_SETS];  /* of which each owns its list, and borrows from lines */
	size_t             n_sets;
};

/* ---- reading ------------------------------------------------------------------ */

static int
add_line(struct netrules *r, const char *text, size_t section, struct err *e)
{
	struct netrule rule;

	if (netrule_parse(&rule, text, e) == -1)
		return -1;
	if (r->n_lines == LIM_NET_RULES)
		return err_set(e, E_INVALID, "more than %d rules", LIM_NET_RULES);
	if (r->n_lines % 64 == 0) {
		struct line *more = realloc(r->lines, (r->n_lines + 64) * sizeof(*more));

		if (more == NULL)
			return err_set(e, E_SYS, "no memory for a rule");
		r->lines = more;
	}
	r->lines[r->n_lines++] = (struct line){ rule, section };
	return 0;
}

static int
add_section(struct netrules *r, const char *name, size_t len, size_t *section, struct err *e)
{
	for (*section = 0; *section < r->n_sets; ++*section)
		if (strlen(r->names[*section]) == len && strncmp(r->names[*section], name, len) == 0)
			return len == 0 ? 0 : err_set(e, E_INVALID, "section [%.*s] occurs twice", (int)len, name);
	if (r->n_sets == LIM_NET_SETS)
		return err_set(e, E_INVALID, "more than %d sections", LIM_NET_SETS - 1);
	r->names[r->n_sets] = strndup(name, len);
	if (r->names[r->n_sets] == NULL)
		return err_set(e, E_SYS, "no memory for a section");
	r->n_sets++;
	return 0;
}

static char *
trim_line(char *text)
{
	text += strspn(text, " \t");
	text[strcspn(text, "#\r\n")] = '\0';
	for (size_t n = strlen(text); n > 0 && strchr(" \t", text[n - 1]) != NULL;)
		text[--n] = '\0';
	return text;
}

static int
parse_line(struct netrules *r, char *line, size_t *section, struct err *e)
{
	char  *text = trim_line(line);
	size_t n = strlen(text);

	if (n == 0)
		return 0;
	if (*text != '[')
		return add_line(r, text, *section, e);
	if (text[n - 1] != ']' || n < 3 || n - 2 > LIM_NAME)
		return err_set(e, E_INVALID, "'%s' should be [profile]", log_escape(text, n));
	return add_section(r, text + 1, n - 2, section, e);
}

/* A section's own rules first, then what all get. */
static int
compose_section(struct netrules *r, size_t section, struct err *e)
{
	struct msg_net_set *s = &r->sets[section];
	size_t              n = 0;

	s->name = r->names[section];
	s->rules.v = calloc(r->n_lines + 1, sizeof(*s->rules.v));
	if (s->rules.v == NULL)
		return err_set(e, E_SYS, "no memory for rules");
	for (int own = section > 0; own >= 0; own--)
		for (size_t i = 0; i < r->n_lines; i++) {
			const struct netrule *l = &r->lines[i].rule;

			if (r->lines[i].section == (own ? section : 0))
				s->rules.v[n++] = (struct msg_net_rule){ l->action, l->name, l->address, l->prefix,
					l->port_low, l->port_high, l->text };
		}
	s->rules.n = n;
	return 0;
}

static struct netrules *
netrules_new(const char *file, struct err *e)
{
	struct netrules *r = calloc(1, sizeof(*r));
	size_t           first;

	if (r == NULL || (r->file = strdup(file)) == NULL || add_section(r, "", 0, &first, e) == -1) {
		err_set(e, E_SYS, "no memory for rules");
		netrules_free(&r);
	}
	return r;
}

/* All lines are there; NULL and why. */
static struct netrules *
netrules_finish(struct netrules *r, int so_far, struct err *e)
{
	for (size_t i = 0; so_far == 0 && i < r->n_sets; i++)
		so_far = compose_section(r, i, e);
	if (so_far == -1)
		netrules_free(&r);
	return r;
}

static int
read_lines(struct netrules *r, FILE *f, struct err *e)
{
	char  *line = NULL;
	size_t size = 0, section = 0;
	int    done = 0;

	for (int n = 1; done == 0 && getline(&line, &size, f) != -1; n++)
		if (parse_line(r, line, &section, e) == -1)
			done = err_prefix(e, "%s:%d", r->file, n);
	if (done == 0 && ferror(f))
		done = err_sys(e, "read %s", r->file);
	free(line);
	return done;
}

struct netrules *
netrules_read(const char *path, struct err *e)
{
	struct netrules *r = netrules_new(path, e);
	FILE            *f = NULL;
	int              done = 0;

	if (r == NULL)
		return NULL;
	if (*path != '\0' && (f = fopen(path, "re")) == NULL)
		done = err_sys(e, "open %s (network.rules)", path);
	if (f != NULL) {
		done = read_lines(r, f, e);
		fclose(f);
	}
	return netrules_finish(r, done, e);
}

struct netrules *
netrules_of(const struct strs *texts, struct err *e)
{
	struct netrules *r = netrules_new("", e);
	int              done = 0;

	if (r == NULL)
		return NULL;
	for (size_t i = 0; done == 0 && i < texts->n; i++)
		if (add_line(r, texts->v[i], 0, e) == -1)
			done = err_prefix(e, "spec.network_rules[%zu]", i);
	return netrules_finish(r, done, e);
}

void
netrules_free(struct netrules **rp)
{
	struct netrules *r = *rp;

	if (r == NULL)
		return;
	*rp = NULL;
	for (size_t i = 0; i < r->n_sets; i++) {
		free(r->names[i]);
		free(r->sets[i].rules.v);
	}
	free(r->lines);
	free(r->file);
	free(r);
}

/* ---- looking ---------------------------------------------------------------------- */

const char *
netrules_file(const struct netrules *r)
{
	return r->file;
}

size_t
netrules_count(const struct netrules *r)
{
	return r->n_lines;
}

const struct msg_net_set *
netrules_sets(const struct netrules *r, size_t *n)
{
	*n = r->n_sets;
	return r->sets;
}

const struct msg_net_set *
netrules_set(const struct netrules *r, const char *name)
{
	for (size_t i = 1; i < r->n_sets; i++)
		if (strcmp(r->names[i], name) == 0)
			return &r->sets[i];
	return &r->sets[0];
}

bool
netrules_has(const struct netrules *r, const char *name)
{
	return *name == '\0' || netrules_set(r, name) != &r->sets[0];
}

static bool
rule_opens(const struct msg_net_rule *r)
{
	return r->action == RULE_ACTION_ALLOW && *r->address != '\0';
}

struct strs *
netrules_opened(const struct msg_net_set *s)
{
	enum { TEXT = NETADDR_TEXT + 8 };
	size_t n = 0;

	for (size_t i = 0; i < s->rules.n; i++)
		n += rule_opens(&s->rules.v[i]);
	struct strs *all = malloc(sizeof(*all) + (n + 1) * (sizeof(char *) + TEXT));
	if (all == NULL)
		return NULL;
	all->n = 0;
	all->v = (const char **)(all + 1);
	char *text = (char *)(all->v + n + 1);
	for (size_t i = 0; i < s->rules.n; i++)
		if (rule_opens(&s->rules.v[i])) {
			snprintf(text, TEXT, "%s/%lu", s->rules.v[i].address, s->rules.v[i].prefix);
			all->v[all->n++] = text;
			text += TEXT;
		}
	all->v[all->n] = NULL;
	return all;
}
