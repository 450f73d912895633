/* box-session: started by boxd with its channel on descriptor 3, and by nobody else. */
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "host/startup.h"
#include "worker.h"

int
main(int argc, char **argv)
{
	struct worker   w;
	struct ev_loop *loop;
	bool            has_channel = startup_descriptors();

	if (argc > 1 && strcmp(argv[1], "--version") == 0)
		return puts("box-session " BOXD_VERSION) < 0;
	if (argc > 1 || !has_channel) {
		fprintf(stderr, "box-session: a part of boxd, which starts it; see boxd(8)\n");
		return 2;
	}
	log_init("box-session", log_level_from_env());
	loop = ev_loop_new(EVFLAG_AUTO);
	if (loop == NULL) {
		log_error("no event loop");
		return 1;
	}
	worker_open(&w, loop);
	ev_run(loop, 0);
	worker_close(&w);
	ev_loop_destroy(loop);
	return 0;
}
