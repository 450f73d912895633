#include "config/config.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/netaddr.h"
#include "base/path.h"
#include "auth/instance.h"

enum conf_kind {
	NUM,
	REAL,
	TEXT,
	PATH,
	PATHS,
	BOOL,
	LEVEL,
	REQUIRE,
	BACKEND,
	CHOICE,
	INSTANCE,
	ORIGINS,
	HOSTS,
	SERVERS,
	ADDRESS,
	PROFILE,
	TEMPLATE,
};

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
#include "config/config.def"
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
config_next_name(const char **list, char name[LIM_PATH + 1])
{
	*list += strspn(*list, ", \t");
	if (**list == '\0')
		return false;
	size_t n = strcspn(*list, ",");
	memcpy(name, *list, n);
	*list += n;
	while (n > 0 && isspace((unsigned char)name[n - 1]))
		n--;
	name[n] = '\0';
	return true;
}

bool
config_next_path(const char **list, char path[LIM_PATH + 1])
{
	char one[LIM_PATH + 1];

	if (!config_next_name(list, one))
		return false;
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
trim_blanks(char *s)
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
		if (require_one(to, trim_blanks(word), e) == -1)
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

static const struct choice {
	const char *option;
	const char *words[5]; /* NULL behind the last */
} choices[] = {
	{ "auth", { "token", "none" } },
	{ "image_missing", { "host-view", "refuse" } },
	{ "network_on", { "egress", "slirp", "loopback", "refuse" } },
	{ "agent.profiles", { "0.5", "0.7" } },
};

static int
set_choice(const struct option *o, char *to, const char *text, struct err *e)
{
	const struct choice *c = choices;
	char                 all[64];
	size_t               n = 0;

	while (strcmp(c->option, o->name) != 0)
		c++;
	for (const char *const *w = c->words; *w != NULL; w++)
		if (strcmp(*w, text) == 0) {
			strcpy(to, text);
			return 0;
		}
	for (const char *const *w = c->words; *w != NULL; w++)
		n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n == 0 ? "" : w[1] == NULL ? " or " : ", ", *w);
	return err_set(e, E_INVALID, "%s: '%s' should be %s", o->name, log_escape(text, strlen(text)), all);
}

static int
set_instance(const struct option *o, char *to, const char *text, struct err *e)
{
	if (*text != '\0' && !instance_is_valid(text))
		return err_set(e, E_INVALID, "%s: A valid trusted LangBot instance UUID is required", o->name);
	return set_text(o, to, text, e);
}

static bool
is_host(const char *name)
{
	return *name != '\0' && name[strcspn(name, " \t/@\"")] == '\0';
}

/* scheme://host or scheme://host:port, as a browser sends it: nothing behind. */
static bool
is_origin(const char *name)
{
	const char *colon = strstr(name, "://");

	return colon != NULL && colon != name && is_host(colon + 3);
}

static bool
is_server(const char *name)
{
	struct netaddr a;
	struct address with_port;
	struct err     ignored;

	return netaddr_parse(name, &a) || (strcmp(name, "none") != 0 && address_parse(&with_port, name, &ignored) == 0);
}

enum { NAMES = 64 }; /* of a list; as many as gateway_start takes */

static int
set_names(
    const struct option *o, char *to, const char *text, bool (*is_good)(const char *), const char *what, struct err *e)
{
	char        name[LIM_PATH + 1];
	const char *list = to;
	int         n = 0;

	if (set_text(o, to, text, e) == -1)
		return -1;
	while (config_next_name(&list, name)) {
		if (!is_good(name))
			return err_set(
			    e, E_INVALID, "%s: '%s' is not %s", o->name, log_escape(name, strlen(name)), what);
		if (++n > NAMES)
			return err_set(e, E_INVALID, "%s: at most %d are allowed", o->name, NAMES);
	}
	return 0;
}

static int
set_address(const struct option *o, struct address *to, const char *text, struct err *e)
{
	return address_parse(to, text, e) == -1 ? err_prefix(e, "%s", o->name) : 0;
}

static int
set_profile(const struct option *o, enum profile *to, const char *text, struct err *e)
{
	return profile_find("0.7", text, to, e) == -1 ? err_prefix(e, "%s", o->name) : 0;
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
	case CHOICE:
		return set_choice(o, to, value, e);
	case INSTANCE:
		return set_instance(o, to, value, e);
	case ORIGINS:
		return set_names(o, to, value, is_origin, "an origin, such as https://example.org", e);
	case HOSTS:
		return set_names(o, to, value, is_host, "the name of a host", e);
	case SERVERS:
		return set_names(
		    o, to, value, is_server, "an address, such as 9.9.9.9, 9.9.9.9:53 or [2620:fe::fe]:53", e);
	case ADDRESS:
		return set_address(o, to, value, e);
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

bool
config_trusts_everybody(const struct config *c)
{
	return strcmp(c->auth, "none") == 0;
}

/* listen must not let in more clients than it was meant for. */
static int
check_listen(const struct config *c, struct err *e)
{
	bool tls = *c->tls_certificate != '\0';
	char at[ADDRESS_TEXT];

	address_text(&c->listen, at);
	if (tls != (*c->tls_key != '\0'))
		return err_set(e, E_INVALID, "tls_certificate and tls_key: set both or neither");
	if (address_is_loopback(&c->listen))
		return 0;
	if (config_trusts_everybody(c))
		return err_set(e, E_INVALID,
		    "listen = %s: with auth = none whoever reaches this address could run commands; it is only for the "
		    "loopback",
		    at);
	if (!tls && !c->plaintext_beyond_loopback)
		return err_set(e, E_INVALID,
		    "listen = %s: without TLS the token could be read on its way; set tls_certificate and tls_key, or "
		    "plaintext_beyond_loopback = yes",
		    at);
	return 0;
}

int
config_check(const struct config *c, struct err *e)
{
	uint64_t end = c->uid_base + 65536 * c->max_sessions * 2;

	if (c->gateway_uid >= c->uid_base && c->gateway_uid < end)
		return err_set(e, E_INVALID, "gateway_uid: %lu is one of the sandboxes' uids (%lu..%lu)",
		    c->gateway_uid, c->uid_base, end - 1);
	if (c->egress_uid == c->gateway_uid || (c->egress_uid >= c->uid_base && c->egress_uid < end))
		return err_set(e, E_INVALID, "egress_uid: %lu is %s", c->egress_uid,
		    c->egress_uid == c->gateway_uid ? "gateway_uid as well" : "one of the sandboxes' uids");
	if (profile_get(c->agent_profiles, c->agent_profile) == NULL)
		return err_set(e, E_INVALID, "agent.profile: the table of agent.profiles = %s has no %s",
		    c->agent_profiles, profile_get("0.7", c->agent_profile)->name);
	return check_listen(c, e);
}

void
config_defaults(struct config *c)
{
	struct err e;

	for (size_t i = 0; i < OPTIONS; i++) {
		int r = option_set(&options[i], c, options[i].dflt, &e);

		assert(r == 0); /* or config.def contradicts itself */
	}
}

static int
parse_line(struct config *c, char *line, struct err *e)
{
	char *text = trim_blanks(line);
	char *equals = strchr(text, '=');

	if (*text == '\0' || *text == '#')
		return 0;
	if (equals == NULL)
		return err_set(e, E_INVALID, "'%s' is not 'name = value'", log_escape(text, strlen(text)));
	*equals = '\0';
	return config_set(c, trim_blanks(text), trim_blanks(equals + 1), e);
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
