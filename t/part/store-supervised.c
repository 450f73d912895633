/* The supervisor starts a box-store when it is needed, replaces it for a new configuration, and restarts a dead one. */
#include <ev.h>

#include "storebox.h"
#include "supervisor/children/store.h"
#include "supervisor/core/dirs.h"
#include "tap.h"
#include "zipmake.h"

static char          dir[] = "/tmp/boxd-t-store-XXXXXX";
static struct config config;
static struct dirs   dirs;
static struct boxd   boxd;

struct heard {
	int  times;
	char text[ERR_TEXT + 64]; /* "" or "code: message" */
	char root[LIM_PATH + 1];  /* of a STORE_READY */
};

static void
hear(void *arg, const struct msg *m)
{
	struct heard *h = arg;

	h->times++;
	h->text[0] = '\0';
	if (m->failed)
		snprintf(h->text, sizeof(h->text), "%s: %s", err_wire_name(m->error.code), m->error.text);
	else if (m->type == MSG_STORE_READY)
		snprintf(h->root, sizeof(h->root), "%s",
		    ((const struct msg_store_ready *)m->body)->skills_root + strlen(dir));
	else if (m->type == MSG_SKILLS)
		snprintf(h->text, sizeof(h->text), "%zu", ((const struct msg_skills *)m->body)->skills.n);
}

static void
wait_for(const struct heard *h, int times)
{
	while (h->times < times)
		ev_run(boxd.loop, EVRUN_ONCE);
}

static uint64_t
ask_list_of(struct heard *h, const char *ns, struct err *e)
{
	struct msg_skill_list m;

	msg_defaults(MSG_SKILL_LIST, &m);
	m.ns = ns;
	return store_ask(boxd.store, MSG_SKILL_LIST, &m, hear, h, e);
}

static uint64_t
ask_list(struct heard *h, struct err *e)
{
	return ask_list_of(h, "ws-a", e);
}

/* The answer to a list: "3", or an error. */
static const char *
list(void)
{
	static struct heard h;
	struct err          e = { 0 };

	h = (struct heard){ 0 };
	if (ask_list(&h, &e) == 0)
		return "refused";
	wait_for(&h, 1);
	return h.text;
}

static const char *
configure(const char *skills_root)
{
	static struct heard  h;
	struct msg_box_local l;
	struct err           e = { 0 };

	h = (struct heard){ 0 };
	msg_defaults(MSG_BOX_LOCAL, &l);
	l.skills_root = skills_root;
	if (store_configure(boxd.store, &l, hear, &h, &e) == -1)
		return "refused";
	wait_for(&h, 1);
	return *h.text != '\0' ? h.text : h.root;
}

/* A process of ours with that name; 0: there is none. */
static pid_t
store_pid(void)
{
	char  path[64], stat[64];
	pid_t pid = 0, p;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	FILE *f = fopen(path, "re");
	while (f != NULL && fscanf(f, "%d", &p) == 1) {
		/* "pid (box-store) S ...": one that is dead and not reaped yet is none */
		snprintf(stat, sizeof(stat), "%.60s", get_file("/proc/%d/stat", p));
		if (strstr(stat, " (box-store) ") != NULL && strstr(stat, ") Z") == NULL)
			pid = p;
	}
	if (f != NULL)
		fclose(f);
	return pid;
}

/* Its first sweep is over: killed before that, it would leave us a process of the same name for a moment. */
static pid_t
idle_store_pid(void)
{
	struct storebox b = { .work = { .pid = store_pid() } };

	while (b.work.pid != 0 && store_child(&b, NULL) != 0)
		usleep(1000);
	return b.work.pid;
}

TEST(first)
{
	cmp_ok(store_pid(), "==", 0, "nobody asked, and there is no box-store");
	is(list(), "0", "the first request starts one");
	ok(is_there("%s/state/langbot/data/box/skills/tenants/ws-a", dir), "in the state directory");
}

TEST(configure)
{
	pid_t old = store_pid();

	is(configure("first"), "/state/langbot/data/box/first", "another configuration");
	isnt(old == store_pid() ? "the same" : "another", "the same", "is another process");
	is(list(), "0", "that serves");
	old = store_pid();
	is(configure("/etc/x"), "invalid: box.local.skills_root: /etc/x belongs to the system", "one that cannot be");
	is(list(), "0", "leaves the old one");
	ok(kill(old, 0) == 0, "as it was");
	char own[256];
	snprintf(own, sizeof(own), "%s/state/sessions", dir);
	like(configure(own), "^invalid: box.local: .*/state/sessions is boxd's own$",
	    "boxd's own directories are refused");
	is(list(), "0", "and the old one serves");
}

TEST(busy_configure)
{
	struct heard         one = { 0 }, two = { 0 };
	struct msg_box_local l;
	struct err           e = { 0 };

	msg_defaults(MSG_BOX_LOCAL, &l);
	l.skills_root = "second";
	cmp_ok(store_configure(boxd.store, &l, hear, &one, &e), "==", 0, "one is tried");
	cmp_ok(store_configure(boxd.store, &l, hear, &two, &e), "==", -1, "a second meanwhile");
	cmp_ok(e.code, "==", E_BUSY, "is busy");
	ok(ask_list(&two, &e) != 0, "a request meanwhile");
	wait_for(&one, 1);
	wait_for(&two, 1);
	is(two.text, "0", "is answered");
	is(one.root, "/state/langbot/data/box/second", "and so is the first");
}

/* Requests in the hands of the old one are finished by it. */
TEST(leaving)
{
	struct msg_skill_install m;
	struct heard             h = { 0 };
	struct buf               zip = { 0 };
	struct err               e = { 0 };

	zip_honest(&zip, "SKILL.md", "---\nname: old\n---\n", NULL);
	msg_defaults(MSG_SKILL_INSTALL, &m);
	m.ns = "ws-a";
	m.archive = blob_of(zip.data, zip.len);
	m.filename = "old.zip";
	ok(store_ask(boxd.store, MSG_SKILL_INSTALL, &m, hear, &h, &e) != 0, "an installation is asked for");
	is(configure("third"), "/state/langbot/data/box/third", "and a new configuration");
	wait_for(&h, 1);
	is(h.text, "1", "the installation is done");
	ok(is_there("%s/state/langbot/data/box/second/tenants/ws-a/old/SKILL.md", dir), "where it was asked for");
	is(list(), "0", "the new one has none");
	buf_clear(&zip);
}

TEST(crash)
{
	struct heard h = { 0 };
	struct err   e = { 0 };
	pid_t        pid = idle_store_pid();

	must(pid != 0 && kill(pid, SIGSTOP) != -1, "no box-store to stop");
	ok(ask_list(&h, &e) != 0, "a request");
	kill(pid, SIGKILL);
	wait_for(&h, 1);
	is(h.text, "crashed: box-store died (signal=9)", "fails with its store");
	is(list(), "0", "the next is answered by another");
	for (int i = 0; i < 3; i++) {
		pid = idle_store_pid();
		must(pid != 0 && kill(pid, SIGKILL) != -1, "no box-store to kill");
		while (kill(pid, 0) == 0) /* until it is reaped */
			ev_run(boxd.loop, EVRUN_ONCE);
		is(list(), "0", "and so again");
	}
}

TEST(drop)
{
	struct heard never = { 0 }, last = { 0 };
	struct err   e = { 0 };

	ask_drop(&boxd, ask_list(&never, &e));
	ask_drop(&boxd, 12345);
	ok(ask_list(&last, &e) != 0, "one behind it");
	wait_for(&last, 1);
	cmp_ok(never.times, "==", 0, "an answer that is not wanted is not given");
}

/* As many as get in; the refusal is in e. */
static int
fill(struct heard *h, const char *ns, struct err *e)
{
	int n = 0;

	while (n <= LIM_STORE_WAITING && ask_list_of(h, ns, e) != 0)
		n++;
	return n;
}

TEST(bounds)
{
	static struct heard h;
	struct err          e = { 0 };

	pid_t pid = store_pid();
	must(pid != 0 && kill(pid, SIGSTOP) != -1, "no box-store to stop");
	int one = fill(&h, "ws-a", &e);
	cmp_ok(one, "==", LIM_STORE_WAITING * 3 / 4, "one workspace has its share of what waits");
	is(e.text,
	    "too many requests wait for box-store (192): one workspace may have 192 of 256 (workspace_share = 75 in "
	    "boxd.conf)",
	    "and is told so");
	int another = fill(&h, "ws-bbbbbbbbbbbbbbbbbbbbbbbb", &e);
	cmp_ok(one + another, "==", LIM_STORE_WAITING, "another one has the rest");
	cmp_ok(e.code, "==", E_BUSY, "and no more");
	kill(pid, SIGCONT);
	wait_for(&h, one + another);
	is(h.text, "0", "all of them are answered");
}

int
main(void)
{
	const char *build = getenv("BUILD");

	must(mkdtemp(dir) != NULL, "mkdtemp");
	log_init("t", LOG_ERROR);
	config.workspace_share = 75;
	snprintf(dirs.state, sizeof(dirs.state), "%s/state", dir);
	snprintf(dirs.libexec, sizeof(dirs.libexec), "%s", build != NULL ? build : "build");
	make_dir("%s/state", dir);
	boxd = (struct boxd){
		.loop = ev_default_loop(EVFLAG_AUTO),
		.config = &config,
		.dirs = &dirs,
		.next_id = 1,
	};
	struct err e = { 0 };
	boxd.asks = asks_open(&e);
	boxd.store = store_open(&boxd, &e);
	ok(boxd.store != NULL, "opened");
	run_tests();
	store_close(&boxd.store);
	asks_close(&boxd.asks);
	ok(boxd.store == NULL, "closed");
	while (store_pid() != 0 && waitpid(store_pid(), NULL, 0) == -1)
		;
	pass("and its process is gone");
	remove_all(dir);
	done_testing();
}
