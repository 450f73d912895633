/*
 * Writes seeds into a directory: every message with defaults, minima and every
 * optional field, a control byte in front.  Made new each time, so that they follow
 * messages.def.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "values.h"
#include "wire/msg.h"

static void
write_seed(const char *dir, const char *name, const char *how, const struct packet *p)
{
	char  path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s-%s", dir, name, how);
	if (p->bytes.len > 4000) /* over the fuzzer's own maximum */
		return;
	if ((f = fopen(path, "w")) == NULL) {
		perror(path);
		exit(1);
	}
	fputc((int)p->nfds, f);
	fwrite(p->bytes.data, 1, p->bytes.len, f);
	fclose(f);
}

static void
seed(const char *dir, enum msg_type t, enum fill how)
{
	struct values v = { 0 };
	struct packet p = { 0 };
	struct err    e;
	const void   *body = fill_body(&v, t, how);
	bool          is_struct = msg_def(t)->envelope == ENV_STRUCT;

	if ((is_struct ? msg_encode_reply : msg_encode)(&p, t, 7, 0, body, &e) == 0)
		write_seed(dir, msg_name(t), fill_names[how], &p);
	packet_clear(&p);
	values_clear(&v);
}

int
main(int argc, char **argv)
{
	struct packet p = { 0 };
	struct err    e, why;

	if (argc != 2) {
		fprintf(stderr, "usage: seeds DIR\n");
		return 1;
	}
	for (enum msg_type t = MSG_NONE + 1; t < MSG__COUNT; t++)
		for (enum fill how = 0; how < FILL__COUNT; how++)
			seed(argv[1], t, how);
	err_set(&why, E_BUSY, "why");
	msg_encode_error(&p, 7, 0, &why, &e);
	write_seed(argv[1], "failure", "reply", &p);
	packet_clear(&p);
	return 0;
}
