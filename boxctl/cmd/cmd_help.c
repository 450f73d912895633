#include <stdio.h>

#include "cmd.h"
#include "text.h"

void
help_overview(void)
{
	printf("boxctl: run commands in sandboxes, by boxd\n\n"
	       "usage: boxctl [OPTION...] COMMAND [ARGUMENT...]\n\ncommands:\n");
	for (const struct cmd *c = commands; c->name != NULL; c++)
		printf("  %-10s %s\n", c->name, c->summary);
	printf("\noptions:\n");
	args_print_options(common_options);
	args_print_options(global_options);
	printf("\n'boxctl COMMAND --help' describes a command; boxctl(1) describes all.\n");
}

void
help_print(const struct cmd *c)
{
	printf("boxctl %s: %s\n\nusage: boxctl %s%s%s\n", c->name, c->summary, c->name, c->usage[0] != '\0' ? " " : "",
	    c->usage);
	if (c->alias != NULL)
		printf("alias: %s\n", c->alias);
	printf("\noptions:\n");
	for (size_t g = 0; g < OPT_GROUPS && c->options[g] != NULL; g++)
		args_print_options(c->options[g]);
	printf("\nexamples:\n%s", c->examples);
}

int
cmd_help(const struct args *a)
{
	struct err e;

	if (a->n == 0) {
		help_overview();
		return EXIT_OK;
	}
	const struct cmd *c = cmd_find(a->v[0]);
	if (c == NULL) {
		err_set(&e, E_INVALID, "there is no command '%s'", text_safe(a->v[0]));
		return usage_error("", &e);
	}
	help_print(c);
	return EXIT_OK;
}
