#include "config/netrule.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"

enum { WORDS = 4 }; /* allow TARGET port PORTS */

static const char shape[] = "a rule is: allow|deny  all | NAME | *.NAME | ADDRESS[/PREFIX]  [port N[-M]]";

static int
word_is_wrong(struct err *e, const char *what, const char *word, const char *should)
{
	return err_set(e, E_INVALID, "%s '%s' %s", what, log_escape(word, strlen(word)), should);
}

static int
parse_action(struct netrule *r, const char *word, struct err *e)
{
	if (strcmp(word, "allow") == 0)
		r->action = RULE_ACTION_ALLOW;
	else if (strcmp(word, "deny") == 0)
		r->action = RULE_ACTION_DENY;
	else
		return word_is_wrong(e, "the first word", word, "should be allow or deny");
	return 0;
}

/* What of an address is behind its prefix; a network has nothing there. */
static bool
is_network(const struct netaddr *a, unsigned prefix)
{
	for (unsigned bit = prefix; bit < netaddr_bits(a); bit++)
		if (a->bytes[bit / 8] & 0x80 >> bit % 8)
			return false;
	return true;
}

static int
parse_prefix(struct netrule *r, const struct netaddr *a, const char *word, struct err *e)
{
	char         *end;
	unsigned long n = strtoul(word, &end, 10);

	if (!isdigit((unsigned char)*word) || *end != '\0' || n > netaddr_bits(a))
		return err_set(e, E_INVALID, "the prefix '%s' should be a number up to %u",
		    log_escape(word, strlen(word)), netaddr_bits(a));
	r->prefix = (unsigned)n;
	if (!is_network(a, r->prefix))
		return err_set(
		    e, E_INVALID, "%s/%u is not a network: bits after its prefix are set", r->address, r->prefix);
	return 0;
}

/* 1: it is not an address. */
static int
parse_address(struct netrule *r, const char *word, struct err *e)
{
	char           text[LIM_NET_RULE + 1];
	struct netaddr a;

	snprintf(text, sizeof(text), "%s", word);
	char *slash = strchr(text, '/');
	if (slash != NULL)
		*slash = '\0';
	if (!netaddr_parse(text, &a))
		return slash == NULL ? 1 : word_is_wrong(e, "the address", text, "is not valid");
	netaddr_text(&a, r->address);
	r->prefix = netaddr_bits(&a);
	return slash == NULL ? 0 : parse_prefix(r, &a, slash + 1, e);
}

/* Letters, digits, - and _ between dots; not digits alone at the end, which some programs take for an address. */
static bool
is_name(const char *name)
{
	bool   digits = true;
	size_t label = 0;

	for (const char *p = name; *p != '\0'; p++) {
		if (*p == '.') {
			if (label == 0)
				return false;
			label = 0;
			digits = true;
			continue;
		}
		if (!isalnum((unsigned char)*p) && *p != '-' && *p != '_')
			return false;
		digits &= isdigit((unsigned char)*p) != 0;
		if (++label > 63)
			return false;
	}
	return label > 0 && !digits;
}

static int
parse_name(struct netrule *r, const char *word, struct err *e)
{
	size_t n = strlen(word);

	if (n > 0 && word[n - 1] == '.')
		n--;
	if (n > LIM_DNS_NAME)
		return word_is_wrong(e, "the name", word, "is too long");
	for (size_t i = 0; i < n; i++)
		r->name[i] = (char)tolower((unsigned char)word[i]);
	r->name[n] = '\0';
	if (!is_name(strncmp(r->name, "*.", 2) == 0 ? r->name + 2 : r->name))
		return word_is_wrong(e, "the target", word,
		    "is not a name, an address or 'all'; a name is written in ASCII, and * stands only before its "
		    "first dot");
	return 0;
}

static int
parse_target(struct netrule *r, const char *word, struct err *e)
{
	if (strcmp(word, "all") == 0)
		return 0;
	int found = parse_address(r, word, e);
	return found == 1 ? parse_name(r, word, e) : found;
}

static int
parse_ports(struct netrule *r, const char *word, struct err *e)
{
	char         *end;
	unsigned long low = strtoul(word, &end, 10), high = low;

	if (isdigit((unsigned char)*word) && *end == '-' && isdigit((unsigned char)end[1]))
		high = strtoul(end + 1, &end, 10);
	if (!isdigit((unsigned char)*word) || *end != '\0' || low > high || high > 65535)
		return word_is_wrong(
		    e, "the port", word, "should be a number up to 65535, or two with - between, the smaller first");
	r->port_low = (unsigned)low;
	r->port_high = (unsigned)high;
	return 0;
}

int
netrule_parse(struct netrule *r, const char *text, struct err *e)
{
	char copy[LIM_NET_RULE + 1], *word[WORDS + 1], *rest = copy;
	int  n = 0;

	*r = (struct netrule){ .port_high = 65535 };
	if (snprintf(copy, sizeof(copy), "%s", text) >= (int)sizeof(copy))
		return err_set(e, E_INVALID, "a rule has at most %d characters", LIM_NET_RULE);
	for (char *w; n <= WORDS && (w = strtok_r(rest, " \t\r\n", &rest)) != NULL;)
		word[n++] = w;
	if (n != 2 && n != 4)
		return err_set(e, E_INVALID, "'%s' has %s words; %s", log_escape(text, strlen(text)),
		    n < 2    ? "too few"
		    : n == 3 ? "not enough"
			     : "too many",
		    shape);
	if (parse_action(r, word[0], e) == -1 || parse_target(r, word[1], e) == -1)
		return -1;
	if (n == 4 && strcmp(word[2], "port") != 0)
		return word_is_wrong(e, "the third word", word[2], "should be port");
	if (n == 4 && parse_ports(r, word[3], e) == -1)
		return -1;
	snprintf(
	    r->text, sizeof(r->text), "%s %s%s%s", word[0], word[1], n == 4 ? " port " : "", n == 4 ? word[3] : "");
	return 0;
}
