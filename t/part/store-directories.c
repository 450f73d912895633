/* box-store finds the directories that a configuration means, makes them for their owner, and has no others. */
#include <sched.h>
#include <sys/mount.h>

#include "storebox.h"
#include "tap.h"

static char dir[] = "/tmp/boxd-t-store-XXXXXX";

static struct msg_box_local
local(const char *host_root, const char *workspace, const char *skills)
{
	struct msg_box_local l;

	msg_defaults(MSG_BOX_LOCAL, &l);
	l.host_root = host_root;
	l.default_workspace = workspace;
	l.skills_root = skills;
	return l;
}

/* "host_root|default_workspace|skills_root" without the test's directory, or why not */
static const char *
found(const struct msg_box_local *l)
{
	static char     out[2048];
	struct storebox b;
	size_t          n = strlen(dir);

	if (*storebox_start(&b, dir, l) != '\0')
		snprintf(out, sizeof(out), "%s", b.work.why);
	else {
		const struct msg_store_ready *r = b.work.reply.body;
		const char                   *p[] = { r->host_root, r->default_workspace, r->skills_root };

		out[0] = '\0';
		for (int i = 0; i < 3; i++)
			snprintf(out + strlen(out), sizeof(out) - strlen(out), "%s%s", i > 0 ? "|" : "",
			    strncmp(p[i], dir, n) == 0 ? p[i] + n : p[i]);
	}
	storebox_end(&b, false);
	return out;
}

static void
test_resolution(void)
{
	struct msg_box_local l = local("", "", "");
	const char          *roots[2] = { " ./data/box ", "/tmp" };
	char                 path[256];

	is(found(&l), "||/data/box/skills", "nothing is configured");
	l = local("./data/box", "", "skills");
	is(found(&l), "/data/box|/data/box/default|/data/box/skills", "as LangBot ships it");
	ok(is_there("%s/data/box/default", dir), "the default workspace is made");
	l = local(" data/../data/box/ ", "ws", "/tmp/../tmp");
	l.skills_root = path;
	snprintf(path, sizeof(path), "%s/own//skills/.", dir);
	is(found(&l), "/data/box|/data/box/ws|/own/skills", "paths are made normal");
	snprintf(path, sizeof(path), "%s/link", dir);
	ok(symlink("data/box", path) == 0, "a symlink");
	l = local("link", "link-ws", "sk");
	is(found(&l), "/data/box|/data/box/link-ws|/data/box/sk", "is resolved");
	l = local("", "plain", "");
	l.allowed_mount_roots = (struct strs){ 2, roots };
	is(found(&l), "|/plain|/data/box/skills", "without a host root, from the base");
	l = local("data/box", "/nowhere/ws", "");
	like(found(&l), "^invalid: box.local.default_workspace is outside allowed_mount_roots: /.*/data/box$",
	    "not elsewhere");
	ok(!is_there("/nowhere"), "and nothing was made there");
	l.allowed_mount_roots = (struct strs){ 2, roots };
	like(found(&l), "^invalid: box.local.default_workspace is outside allowed_mount_roots: /.*/data/box, /tmp$",
	    "all that are allowed are told");
	l.allowed_mount_roots.v = (const char *[]){ "/boxd-t-nowhere/x/../y", "//boxd-t-nowhere" };
	is(found(&l),
	    "invalid: box.local.default_workspace is outside allowed_mount_roots: /boxd-t-nowhere/y, /boxd-t-nowhere",
	    "and normal, whether they are there or not");
	l = local("", "plain2", "");
	is(found(&l),
	    "invalid: box.local.default_workspace cannot be created because no allowed_mount_roots are configured",
	    "without any");
	put_file("", "%s/file", dir);
	snprintf(path, sizeof(path), "%s/file", dir);
	l = local("data/box", path, "");
	is(found(&l), "invalid: box.local.default_workspace must point to a directory on the Box runtime host",
	    "a file");
	l = local("data/box", dir, "");
	is(found(&l), "/data/box||/data/box/skills", "one that is there may be anywhere");
	l = local("data/box", "", "/etc/skills");
	is(found(&l), "invalid: box.local.skills_root: /etc/skills belongs to the system", "but the system's are not");
	ok(!is_there("/etc/skills"), "and stay as they are");
	l = local("file/x", "", "");
	like(found(&l), "^(system|invalid): ", "what cannot be made is told");
}

static void
test_owner(void)
{
	struct msg_box_local l = local("owned/box", "", "");
	struct storebox      b;
	struct stat          st;
	char                 path[256];

	make_dir("%s/owned", dir);
	snprintf(path, sizeof(path), "%s/owned", dir);
	skip(geteuid() != 0, 6, "only root has other owners");
	ok(chown(path, 12345, 54321) == 0 && chmod(dir, 0755) == 0, "a directory of somebody");
	is(storebox_start(&b, dir, &l), "", "is where skills are");
	snprintf(path, sizeof(path), "%s/owned/box/skills", dir);
	ok(stat(path, &st) == 0 && st.st_uid == 12345 && st.st_gid == 54321, "what is made is theirs");
	is(store_create(&b, "mine", ""), "", "a skill");
	snprintf(path, sizeof(path), "%s/mine/SKILL.md", b.root);
	ok(stat(path, &st) == 0 && st.st_uid == 12345 && st.st_gid == 54321, "too");
	is(storebox_call(&b, MSG_STORE_WORKSPACE, &(struct msg_store_workspace){ .path = "tenants/ws-a" }), "",
	    "a workspace");
	snprintf(path, sizeof(path), "%s/owned/box/default/tenants/ws-a", dir);
	ok(stat(path, &st) == 0 && st.st_uid == 12345, "too");
	storebox_end(&b, false);
	end_skip;
}

static const char *
status_of(pid_t pid, const char *field)
{
	static char value[128];
	char        line[256], path[64];

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *f = fopen(path, "re");
	value[0] = '\0';
	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
		if (strncmp(line, field, strlen(field)) == 0)
			sscanf(line + strlen(field), ": %127[^\n]", value);
	if (f != NULL)
		fclose(f);
	return value;
}

static void
test_walls(struct storebox *b)
{
	is(status_of(b->work.pid, "CapEff"), "0000000000000000", "no capability is left");
	is(status_of(b->work.pid, "CapPrm"), "0000000000000000", "nor one to be had");
	is(status_of(b->work.pid, "NoNewPrivs"), "1", "no new privileges");
	is(status_of(b->work.pid, "Seccomp"), "2", "a seccomp filter");
	char path[64], target[256];
	int  n = 0;
	while (store_child(b, NULL) != 0) /* the first sweep, and the socket to it */
		usleep(1000);
	for (int fd = 4; fd < 64; fd++) {
		snprintf(path, sizeof(path), "/proc/%d/fd/%d", b->work.pid, fd);
		ssize_t len = readlink(path, target, sizeof(target) - 1);
		if (len == -1)
			continue;
		target[len] = '\0';
		if (strncmp(target, dir, strlen(dir)) != 0 && strncmp(target, "anon_inode:", 11) != 0) {
			diag("fd %d is %s", fd, target);
			n++;
		}
	}
	cmp_ok(n, "==", 0, "no descriptor leads elsewhere");
}

#define MARK ".langbot-box-volume-probe-0123456789abcdef0123456789abcdef"

static const char *
verify(struct storebox *b, const char *name)
{
	struct msg_box_verify_workspace m;

	msg_defaults(MSG_BOX_VERIFY_WORKSPACE, &m);
	m.marker_name = name;
	return storebox_call(b, MSG_BOX_VERIFY_WORKSPACE, &m);
}

static void
test_verify(struct storebox *b, const char *ws)
{
	static char big[2000];
	char        path[512];

	put_file("abc", "%s/" MARK, ws);
	is(verify(b, MARK), "", "a marker is seen");
	const struct msg_box_marker *m = b->work.reply.body;
	is(m->sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad", "by its content");
	cmp_ok(m->size_bytes, "==", 3, "and size");
	is(verify(b, " " MARK "\n"), "", "blanks around its name do not matter");
	static const char *const bad[] = { "", "x", "../" MARK,
		".langbot-box-volume-probe-0123456789ABCDEF0123456789abcdef", MARK "0", ".langbot-box-volume-probe-" };
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		is(verify(b, bad[i]), "not_ready: Invalid Box shared Workspace probe basename", "'%s' is no marker",
		    bad[i]);
	snprintf(path, sizeof(path), "%s/" MARK, ws);
	put_file("", "%s", path);
	is(verify(b, MARK), "not_ready: Box shared Workspace probe has an invalid size", "an empty one");
	memset(big, 'x', 1025);
	put_file(big, "%s", path);
	is(verify(b, MARK), "not_ready: Box shared Workspace probe has an invalid size", "a large one");
	unlink(path);
	is(verify(b, MARK), "not_ready: Box Runtime cannot read the Core shared Workspace probe", "none");
	ok(symlink("/etc/hostname", path) == 0, "a symlink");
	is(verify(b, MARK), "not_ready: Box Runtime cannot read the Core shared Workspace probe", "is not followed");
	unlink(path);
	mkfifo(path, 0666);
	is(verify(b, MARK), "not_ready: Box shared Workspace probe is not a regular file", "a FIFO");
	unlink(path);
}

static const char *
workspace(struct storebox *b, const char *path)
{
	if (*storebox_call(b, MSG_STORE_WORKSPACE, &(struct msg_store_workspace){ .path = path }) != '\0')
		return b->work.why;
	return ((const struct msg_store_path *)b->work.reply.body)->path + strlen(dir);
}

static void
test_workspace(struct storebox *b, const char *ws)
{
	char path[512];

	is(workspace(b, "tenants/ws-1"), "/data/box/default/tenants/ws-1", "a workspace's directory is made");
	is(workspace(b, "tenants//ws-1/."), "/data/box/default/tenants/ws-1", "once");
	ok(is_there("%s/tenants/ws-1", ws), "really");
	like(workspace(b, "../x"), "^invalid: '../x' is no path beneath", "not above");
	like(workspace(b, "/etc"), "^invalid: '/etc' is no path beneath", "nor elsewhere");
	snprintf(path, sizeof(path), "%s/tenants/ws-2", ws);
	ok(symlink("/tmp", path) == 0, "a symlink in its place");
	like(workspace(b, "tenants/ws-2/x"), "^system: make .*/tenants/ws-2/x: ", "is not followed");
}

static void
test_probe(void)
{
	struct msg_box_local         l = local("", "", "mnt");
	struct msg_store_probe       ask;
	struct storebox              b;
	char                         path[256];
	const struct msg_store_disk *d;

	is(storebox_start(&b, dir, &l), "", "skills on a file system with everything else");
	is(storebox_call(&b, MSG_STORE_PROBE, &ask), "", "are probed");
	d = b.work.reply.body;
	ok(!d->hard_bytes && !d->hard_inodes && *d->why != '\0', "and not bounded: %s", d->why);
	storebox_end(&b, false);
	snprintf(path, sizeof(path), "%s/data/box/mnt", dir);
	/* where nobody else sees it, and gone with us */
	bool mounted = unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
		       mount("boxd-t", path, "tmpfs", 0, "size=4m,nr_inodes=500,mode=755") == 0;
	skip(!mounted, 7, "no file system can be mounted: %s", strerror(errno));
	is(storebox_start(&b, dir, &l), "", "skills on a file system of their own");
	is(storebox_call(&b, MSG_STORE_PROBE, &ask), "", "are probed");
	d = b.work.reply.body;
	ok(d->hard_bytes && d->hard_inodes, "and bounded: %s", d->why);
	is(store_create(&b, "still", "room"), "", "there is room again");
	cmp_ok(store_staged(&b), "==", 0, "and nothing left");
	is(storebox_call(&b, MSG_STORE_PROBE, &ask), "", "once more");
	d = b.work.reply.body;
	ok(d->hard_bytes && d->hard_inodes, "the same");
	storebox_end(&b, false);
	umount2(path, MNT_DETACH);
	end_skip;
}

/* What must not be sent, or not yet, does no harm. */
static void
test_protocol(void)
{
	struct storebox        b;
	struct msg_store_start again;

	is(storebox_plain(&b, dir), "", "it is ready");
	like(storebox_call(&b, MSG_PING, &(struct msg_ping){}), "^gone|^protocol: ", "what is not for it is refused");
	storebox_end(&b, true);
	is(storebox_plain(&b, dir), "", "and again");
	msg_defaults(MSG_STORE_START, &again);
	again.base = "/tmp";
	storebox_send(&b, MSG_STORE_START, &again);
	is(store_list(&b), "", "a second start is ignored");
	cmp_ok(storebox_end(&b, false), "==", 0, "it ends with its channel");
}

int
main(void)
{
	struct storebox b;
	char            ws[256];

	must(mkdtemp(dir) != NULL, "mkdtemp");
	test_resolution();
	test_owner();
	struct msg_box_local none = local("", "", "");
	is(storebox_start(&b, dir, &none), "", "without a default workspace");
	is(verify(&b, MARK), "not_ready: Managed sandbox admission requires box.local.default_workspace",
	    "none is verified");
	is(workspace(&b, "x"), "invalid: box.local.default_workspace is not configured", "or made");
	storebox_end(&b, false);
	struct msg_box_local far = local("data/box", dir, "");
	is(storebox_start(&b, dir, &far), "", "with one outside of what is allowed");
	is(verify(&b, MARK), "not_ready: Managed sandbox workspace is outside box.local.allowed_mount_roots",
	    "none either");
	storebox_end(&b, false);
	is(storebox_plain(&b, dir), "", "with one");
	snprintf(ws, sizeof(ws), "%s/data/box/default", dir);
	test_walls(&b);
	test_verify(&b, ws);
	test_workspace(&b, ws);
	ok(chmod(ws, 0555) == 0, "closed");
	is(verify(&b, MARK), "not_ready: Managed sandbox workspace path is not writable", "it is not writable");
	char away[300];
	snprintf(away, sizeof(away), "%s-away", ws);
	ok(rename(ws, away) == 0, "moved away");
	is(verify(&b, MARK), "not_ready: Managed sandbox workspace path is not a directory", "it is not there");
	storebox_end(&b, false);
	test_probe();
	test_protocol();
	remove_all(dir);
	done_testing();
}
