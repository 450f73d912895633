/* The way out of a sandbox beside the same way without one. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "bench.h"
#include "net.h"

enum {
	MEGABYTES = 512, /* in one turn */
	TURNS = 9,       /* of each way */
	CONNECTS = 500,  /* in one turn */
};

#define CLIENT "/tmp/bench"

/* Ourselves, into the session: the same program measures inside and outside. */
static void
send_client(const char *name)
{
	struct msg_exec x;
	struct msg      m;
	struct buf      bytes = { 0 };
	char            part[16384];
	ssize_t         n;
	AUTO_FD int     self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	while ((n = read(self, part, sizeof(part))) > 0)
		buf_append(&bytes, part, (size_t)n);
	msg_defaults(MSG_EXEC, &x);
	x.session = name;
	x.command = "cat >" CLIENT " && chmod +x " CLIENT;
	x.stdin = blob_of(bytes.data, bytes.len);
	call(MSG_EXEC, &x, &m);
	if (((const struct msg_exec_result *)m.body)->exit_code != 0)
		die("the client could not be sent into the sandbox");
	msg_clear(&m);
	buf_clear(&bytes);
}

static double
number_inside(const char *mode, unsigned port, int count)
{
	struct msg_exec x;
	struct msg      m;
	char            command[128], text[64] = "";
	struct buf      out = { 0 };
	struct err      e;

	snprintf(command, sizeof(command), CLIENT " net %s %u %d", mode, port, count);
	msg_defaults(MSG_EXEC, &x);
	x.session = "net";
	x.command = command;
	x.timeout_ms = 120000;
	call(MSG_EXEC, &x, &m);
	const struct msg_exec_result *r = m.body;
	if (r->exit_code != 0 || blob_read(&r->stdout, &out, &e) == -1)
		die("%s failed in the sandbox: %s", command, r->hint);
	snprintf(text, sizeof(text), "%.*s", (int)out.len, out.data);
	msg_clear(&m);
	buf_clear(&out);
	return atof(text);
}

static double
number_outside(const char *mode, unsigned port, int count)
{
	char  command[128], text[64] = "";
	FILE *f;

	snprintf(command, sizeof(command), "/proc/%d/exe net %s %u %d", getpid(), mode, port, count);
	if ((f = popen(command, "re")) == NULL || fgets(text, sizeof(text), f) == NULL)
		die("%s: nothing came", command);
	pclose(f);
	return atof(text);
}

static void
measure(const char *mode, unsigned port, int count, struct way *w)
{
	for (int i = 0; i < TURNS; i++) {
		w->inside.us[w->inside.n++] = number_inside(mode, port, count);
		w->outside.us[w->outside.n++] = number_outside(mode, port, count);
	}
}

void
measure_ways(struct way *down, struct way *up, struct way *connect)
{
	unsigned port = net_serve();

	if (port == 0)
		die("no server for the network: %s", strerror(errno));
	create_with("net", NETWORK_ON);
	send_client("net");
	measure("down", port, MEGABYTES, down);
	measure("up", port, MEGABYTES, up);
	measure("connect", port, CONNECTS, connect);
	delete ("net");
}
