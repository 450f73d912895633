#include "config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "path.h"

enum conf_kind { NUM, REAL, TEXT, PATH, PATHS, BOOL, LEVEL, REQUIRE, BACKEND, PROFILE, TEMPLATE };

struct option {
	const char    *name;
	enum conf_kind kind;
	size_t         offset;
	double         least, most; /* every whole number in the table is exact in a double */
	const char    *dflt;        /* as it would stand in the file */
	const char    *help;
};

static const struct option options[] = {
#define CONF(K, n, lo, hi, d, h) { #n, K, offsetof(struct config, n), lo, hi, d, h },
#define CONF_IN(K, g, n, lo, hi, d, h) { #g "." #n, K, offsetof(struct config, g##_##n), lo, hi, d, h },
#include "config.def"
#undef CONF
#undef CONF_IN
};

enum { OPTIONS = sizeof(options) / sizeof(*options) };

static int
set_num(const struct option *o, uint64_t *to, const char *text, struct err *e)
{
	char *end;

	errno = 0;
	unsigned long long v = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end != '\0' || errno != 0)
		return err_set(e, E_INVALID, "%s: '%s' is not a whole number", o->name, text);
	if ((double)v < o->least || (double)v > o->most)
		return err_set(e, E_INVALID, "%s: %s is not in %.0f..%.0f", o->name, text, o->least, o->most);
	*to = v;
	return 0;
}

static int
set_real(const struct option *o, double *to, const char *text, struct err *e)
{
	char  *end;
	double v = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !isfinite(v))
		return err_set(e, E_INVALID, "%s: '%s' is not a number", o->name, text);
	if (v < o->least || v > o->most)
		return err_set(e, E_INVALID, "%s: %s is not in %g..%g", o->name, text, o->least, o->most);
	*to = v;
	return 0;
}

static int
set_text(const struct option *o, char *to, const char *text, struct err *e)
{
	size_t n = strlen(text);

	if ((double)n < o->least || (double)n > o->most)
		return err_set(e, E_INVALID, "%s: %zu characters, must be %.0f to %.0f", o->name, n, o->least, o->most);
	memcpy(to, text, n + 1);
	return 0;
}

bool
config_next_path(const char **list, char path[LIM_PATH + 1])
{
	char   one[LIM_PATH + 1];
	size_t n;

	*list += strspn(*list, ", \t");
	if (**list == '\0')
		return false;
	n = strcspn(*list, ",");
	memcpy(one, *list, n);
	*list += n;
	while (n > 0 && isspace((unsigned char)one[n - 1]))
		n--;
	one[n] = '\0';
	if (!path_normal(one, path))
		snprintf(path, LIM_PATH + 1, "%s", one); /* refused before it was stored */
	return true;
}

static int
set_paths(const struct option *o, char *to, const char *text, struct err *e)
{
	char        path[LIM_PATH + 1], normal[LIM_PATH + 1];
	const char *list = to;

	if (set_text(o, to, text, e) == -1)
		return -1;
	while (config_next_path(&list, path))
		if (!path_normal(path, normal))
			return err_set(e, E_INVALID, "%s: '%s' is not an absolute path without '..'", o->name,
			    log_escape(path, strlen(path)));
	return 0;
}

static int
set_bool(const struct option *o, bool *to, const char *text, struct err *e)
{
	if (strcmp(text, "yes") != 0 && strcmp(text, "no") != 0)
		return err_set(e, E_INVALID, "%s: '%s' should be yes or no", o->name, text);
	*to = strcmp(text, "yes") == 0;
	return 0;
}

static int
set_level(const struct option *o, enum log_level *to, const char *text, struct err *e)
{
	for (int l = 0; l < LOG__COUNT; l++)
		if (strcmp(text, log_level_name(l)) == 0) {
			*to = l;
			return 0;
		}
	return err_set(e, E_INVALID, "%s: '%s' should be error, warn, info or debug", o->name, text);
}

/* Cut blanks off both ends, in place. */
static char *
trim(char *s)
{
	while (isspace((unsigned char)*s))
		s++;
	for (size_t n = strlen(s); n > 0 && isspace((unsigned char)s[n - 1]); n--)
		s[n - 1] = '\0';
	return s;
}

/* A tier's name, or a wall's. */
static int
require_one(conf_REQUIRE *to, const char *word, struct err *e)
{
	enum wall w;

	for (int t = TIER_REDUCED; t <= TIER_FULL; t++)
		if (strcmp(word, msg_enum_name(MSG_ISOLATION, "tier", t)) == 0) {
			to->tier = t;
			return 0;
		}
	if (wall_find(word, &w, e) == -1)
		return -1;
	to->walls[w] = true;
	return 0;
}

static int
set_require(const struct option *o, conf_REQUIRE *to, const char *text, struct err *e)
{
	char copy[LIM_TEXT], *rest = copy;

	if (strlen(text) >= sizeof(copy))
		return err_set(e, E_INVALID, "%s: %zu characters are too many", o->name, strlen(text));
	strcpy(copy, text);
	*to = (conf_REQUIRE){ .tier = TIER_REDUCED };
	for (char *word; (word = strsep(&rest, ",")) != NULL;)
		if (require_one(to, trim(word), e) == -1)
			return err_prefix(e, "%s: should be reduced, full or names of walls", o->name);
	return 0;
}

static int
set_backend(const struct option *o, enum backend *to, const char *text, struct err *e)
{
	for (int b = BACKEND_AUTO; b <= BACKEND_BTRFS; b++)
		if (strcmp(text, msg_enum_name(MSG_WORKER_START, "backend", b)) == 0) {
			*to = b;
			return 0;
		}
	return err_set(e, E_INVALID, "%s: '%s' should be auto, tmpfs, loop or btrfs", o->name, text);
}

static int
set_profile(const struct option *o, enum profile *to, const char *text, struct err *e)
{
	return profile_find(text, to, e) == -1 ? err_prefix(e, "%s", o->name) : 0;
}

static int
set_template(const struct option *o, char *to, const char *text, struct err *e)
{
	if (template_check(text, e) == -1)
		return err_prefix(e, "%s", o->name);
	return set_text(o, to, text, e);
}

static int
option_set(const struct option *o, struct config *c, const char *value, struct err *e)
{
	void *to = (char *)c + o->offset;

	switch (o->kind) {
	case NUM:
		return set_num(o, to, value, e);
	case REAL:
		return set_real(o, to, value, e);
	case PATH:
		if (*value != '\0' && *value != '/')
			return err_set(e, E_INVALID, "%s: '%s' is not an absolute path", o->name, value);
		return set_text(o, to, value, e);
	case TEXT:
		return set_text(o, to, value, e);
	case PATHS:
		return set_paths(o, to, value, e);
	case BOOL:
		return set_bool(o, to, value, e);
	case LEVEL:
		return set_level(o, to, value, e);
	case REQUIRE:
		return set_require(o, to, value, e);
	case BACKEND:
		return set_backend(o, to, value, e);
	case PROFILE:
		return set_profile(o, to, value, e);
	case TEMPLATE:
		return set_template(o, to, value, e);
	}
	return 0;
}

int
config_set(struct config *c, const char *name, const char *value, struct err *e)
{
	for (size_t i = 0; i < OPTIONS; i++)
		if (strcmp(options[i].name, name) == 0)
			return option_set(&options[i], c, value, e);
	return err_set(e, E_INVALID, "there is no option '%s'", log_escape(name, strlen(name)));
}

int
config_check(const struct config *c, struct err *e)
{
	uint64_t end = c->uid_base + 65536 * c->max_sessions * 2;

	if (c->gateway_uid >= c->uid_base && c->gateway_uid < end)
		return err_set(e, E_INVALID, "gateway_uid: %lu is one of the sandboxes' uids (%lu..%lu)",
		    c->gateway_uid, c->uid_base, end - 1);
	if (strcmp(c->network_on, "refuse") != 0 && strcmp(c->network_on, "loopback") != 0)
		return err_set(e, E_INVALID, "network_on: '%s' is neither refuse nor loopback", c->network_on);
	return 0;
}

void
config_defaults(struct config *c)
{
	struct err e;

	for (size_t i = 0; i < OPTIONS; i++)
		if (option_set(&options[i], c, options[i].dflt, &e) == -1)
			abort(); /* config.def contradicts itself */
}

static int
parse_line(struct config *c, char *line, struct err *e)
{
	char *text = trim(line);
	char *equals = strchr(text, '=');

	if (*text == '\0' || *text == '#')
		return 0;
	if (equals == NULL)
		return err_set(e, E_INVALID, "'%s' is not 'name = value'", log_escape(text, strlen(text)));
	*equals = '\0';
	return config_set(c, trim(text), trim(equals + 1), e);
}

int
config_parse(struct config *c, FILE *f, const char *name, struct err *e)
{
	char  *line = NULL;
	size_t size = 0;
	int    r = 0;

	for (int n = 1; r == 0 && getline(&line, &size, f) != -1; n++)
		if (parse_line(c, line, e) == -1)
			r = err_prefix(e, "%s:%d", name, n);
	if (r == 0 && ferror(f))
		r = err_sys(e, "read %s", name);
	free(line);
	return r;
}

int
config_read(struct config *c, const char *path, struct err *e)
{
	FILE *f = fopen(path, "re");

	if (f == NULL)
		return err_sys(e, "open %s", path);
	int r = config_parse(c, f, path, e);
	fclose(f);
	return r;
}

void
config_print(FILE *f)
{
	fprintf(f, "# boxd.conf: every option with its default.  See boxd.conf(5).\n");
	for (size_t i = 0; i < OPTIONS; i++)
		fprintf(f, "\n# %s\n#%s = %s\n", options[i].help, options[i].name, options[i].dflt);
}
