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
	struct json_object *o = json_object_new_object();
	json_object_object_add(o, "version", json_object_new_string(BOXD_VERSION));
	render_print_json(o);
	return EXIT_OK;
}
