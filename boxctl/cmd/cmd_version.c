#include <stdio.h>

#include "cmd.h"
#include "render.h"

int
cmd_version(const struct args *a)
{
	if (!a->json) {
		printf("boxctl %s\n", BOXD_VERSION);
		return EXIT_OK;
	}
	json_t *o = json_object();
	json_object_set_new(o, "version", json_string(BOXD_VERSION));
	render_print_json(o);
	return EXIT_OK;
}
