/* box-egress has no right, no root, no file and no other socket than those it needs. */
#include "egressbox.h"
#include "tap.h"

enum { NOBODY = 65534 };

static char dir[] = "/tmp/boxd-t-egress-XXXXXX";

/* A line of /proc/PID/status, without its name. */
static const char *
status(const struct egressbox *b, const char *name)
{
	static char line[256];
	char        path[64];
	size_t      n = strlen(name);

	snprintf(path, sizeof(path), "/proc/%d/status", b->work.pid);
	FILE *f = fopen(path, "re");
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, name, n) == 0 && line[n] == ':') {
			fclose(f);
			line[strcspn(line, "\n")] = '\0';
			return line + n + 2;
		}
	if (f != NULL)
		fclose(f);
	return "";
}

static void
test_walls(const struct egressbox *b)
{
	char        path[64], root[256] = "";
	struct stat here, there;

	is(status(b, "Uid"), "65534\t65534\t65534\t65534", "it is nobody");
	is(status(b, "Gid"), "65534\t65534\t65534\t65534", "of no group");
	like(status(b, "Groups"), "^ *$", "and of no other");
	is(status(b, "CapEff"), "0000000000000000", "without a capability");
	is(status(b, "CapPrm"), "0000000000000000", "or a way to one");
	is(status(b, "CapBnd"), "0000000000000000", "by any file");
	is(status(b, "NoNewPrivs"), "1", "for ever");
	is(status(b, "Seccomp"), "2", "behind a filter of calls");
	snprintf(path, sizeof(path), "/proc/%d/root", b->work.pid);
	ok(readlink(path, root, sizeof(root) - 1) > 0 && strcmp(root, dir) == 0, "locked into a directory");
	snprintf(path, sizeof(path), "/proc/%d/ns/net", b->work.pid);
	ok(stat(path, &there) == 0 && stat("/proc/self/ns/net", &here) == 0 && here.st_ino == there.st_ino,
	    "in the namespace of the host");
}

/* What it may do is enough for its work. */
static void
test_works(struct egressbox *b)
{
	struct sandbox inside;
	int            web = net_listen(80);

	sandbox_make(&inside, 81);
	egressbox_open(b, &inside, NULL, NULL);
	is(inside_resolve(&inside, "good.example"), SERVER, "names are resolved");
	int client = inside_connect(&inside, SERVER, 80), server = net_accept(web, NULL);
	put(client, "hello");
	ok(got(server, "hello"), "and connections made");
	int six = inside_connect(&inside, SERVER6, 80), server6 = net_accept(web, NULL);
	put(six, "hello");
	ok(got(server6, "hello"), "of IPv6 too");
	close(client);
	close(server);
	close(six);
	close(server6);
	close(web);
	sandbox_free(&inside);
}

static void
be_silent(void)
{
	dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
}

/* Its first message decides: anything else ends it. */
static void
test_first_message(void)
{
	char *const    argv[] = { "box-egress", NULL };
	struct workbox w;
	struct err     e;

	workbox_start(&w, FROM_EGRESS, 3, argv, be_silent);
	workbox_send(&w, MSG_EGRESS_CLOSE, &(struct msg_egress_close){ .id = 1 });
	cmp_ok(workbox_receive(&w, &e), "!=", 0, "without its configuration it does not start");
	isnt(workbox_end(&w, false) == 0 ? "fine" : "failed", "fine", "and says so");
}

int
main(void)
{
	struct egressbox        box;
	struct msg_egress_start m;

	world_begin();
	must(mkdtemp(dir) != NULL, "mkdtemp");
	net_names("good.example " SERVER "\n");
	msg_defaults(MSG_EGRESS_START, &m);
	m.uid = NOBODY;
	m.chroot = dir;
	m.connections = 100;
	m.dns_bytes = 1 << 20;
	egressbox_start(&box, "", &m);
	test_walls(&box);
	test_works(&box);
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends with its channel");
	test_first_message();
	rmdir(dir);
	done_testing();
}
