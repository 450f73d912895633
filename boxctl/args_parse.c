/* The words of a command line, by the tables. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "text.h"

static const struct opt *
find_opt(const struct opt *const groups[OPT_GROUPS], char letter, const char *name, size_t n)
{
	for (size_t g = 0; g < OPT_GROUPS && groups[g] != NULL; g++)
		for (const struct opt *o = groups[g]; o->name != NULL; o++)
			if (letter != 0 ? o->letter == letter : strlen(o->name) == n && memcmp(o->name, name, n) == 0)
				return o;
	return NULL;
}

static int
apply(struct args *a, const struct opt *o, const char *value, struct err *e)
{
	if (o->set(a, o, value, e) == -1)
		return err_prefix(e, "--%s", o->name);
	return 0;
}

/* "--name value" or "--name=value"; the number of argv entries used. */
static int
parse_long(struct args *a, const struct opt *const groups[OPT_GROUPS], char **argv, struct err *e)
{
	const char       *word = argv[0] + 2;
	size_t            n = strcspn(word, "=");
	const struct opt *o = find_opt(groups, 0, word, n);
	const char       *value = word[n] == '=' ? word + n + 1 : NULL;

	if (o == NULL)
		return err_set(e, E_INVALID, "unknown option '--%.*s'", (int)n, text_safe(word));
	if (o->arg == NULL && value != NULL)
		return err_set(e, E_INVALID, "--%s takes no value", o->name);
	if (o->arg == NULL || value != NULL)
		return apply(a, o, value, e) == -1 ? -1 : 1;
	if (argv[1] == NULL)
		return err_set(e, E_INVALID, "--%s needs a value: %s", o->name, o->arg);
	return apply(a, o, argv[1], e) == -1 ? -1 : 2;
}

/* "-ab", "-t5" or "-t 5"; the number of argv entries used. */
static int
parse_short(struct args *a, const struct opt *const groups[OPT_GROUPS], char **argv, struct err *e)
{
	for (const char *p = argv[0] + 1; *p != '\0'; p++) {
		const struct opt *o = find_opt(groups, *p, NULL, 0);

		if (o == NULL)
			return err_set(e, E_INVALID, "unknown option '-%s'", text_safe((char[]){ *p, '\0' }));
		if (o->arg == NULL) {
			if (apply(a, o, NULL, e) == -1)
				return -1;
			continue;
		}
		const char *value = p[1] != '\0' ? p + 1 : argv[1];
		if (value == NULL)
			return err_set(e, E_INVALID, "-%c needs a value: %s", *p, o->arg);
		if (apply(a, o, value, e) == -1)
			return -1;
		return p[1] != '\0' ? 1 : 2;
	}
	return 1;
}

int
args_parse(
    struct args *a, const struct opt *const groups[OPT_GROUPS], size_t mixed, int argc, char **argv, struct err *e)
{
	int i = 0;

	free(a->v);
	a->n = 0;
	a->v = calloc((size_t)argc + 1, sizeof(*a->v));
	if (a->v == NULL)
		return err_set(e, E_SYS, "no memory");
	while (i < argc) {
		bool is_option = argv[i][0] == '-' && argv[i][1] != '\0';
		int  used = 1;

		if (is_option && strcmp(argv[i], "--") == 0) {
			i++;
			break;
		}
		if (!is_option && a->n == mixed)
			break;
		if (!is_option)
			a->v[a->n++] = argv[i];
		else if (argv[i][1] == '-')
			used = parse_long(a, groups, argv + i, e);
		else
			used = parse_short(a, groups, argv + i, e);
		if (used == -1)
			return -1;
		i += used;
	}
	int rest = i;
	while (i < argc)
		a->v[a->n++] = argv[i++];
	return rest;
}

void
args_print_options(const struct opt *o)
{
	for (; o->name != NULL; o++) {
		char left[64], letter[8] = "    ";

		if (o->help == NULL)
			continue;
		if (o->letter != 0)
			snprintf(letter, sizeof(letter), "-%c, ", o->letter);
		snprintf(left, sizeof(left), "%s--%s%s%s", letter, o->name, o->arg != NULL ? " " : "",
		    o->arg != NULL ? o->arg : "");
		printf("  %-33s %s\n", left, o->help);
	}
}
