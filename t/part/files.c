/* box-files alone on a directory: what it does, and all that it refuses. */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/un.h>

#include "filebox.h"
#include "tap.h"

enum { MANY = 100000, DEEP = 5000 };

static char           top[40];
static char           ws[64], outside[64];
static struct filebox box;

static const char *
at(const char *dir, const char *name)
{
	static char     ring[4][PATH_MAX];
	static unsigned turn;
	char           *out = ring[turn++ % 4];

	snprintf(out, PATH_MAX, "%s/%s", dir, name);
	return out;
}

static void
write_file(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	must(f != NULL && fputs(text, f) != EOF && fclose(f) != EOF, "write %s: %s", path, strerror(errno));
}

static const char *
read_file(const char *path)
{
	static char text[256];
	FILE       *f = fopen(path, "r");

	if (f == NULL)
		return strerror(errno);
	text[fread(text, 1, sizeof(text) - 1, f)] = '\0';
	fclose(f);
	return text;
}

static void
link_to(const char *target, int dir, const char *name)
{
	must(symlinkat(target, dir, name) != -1, "symlink: %s", strerror(errno));
}

/* Entries of a directory of ours. */
static int
count(const char *dir)
{
	char command[200], text[32] = "";
	snprintf(command, sizeof(command), "ls -A %s | wc -l", dir);
	FILE *f = popen(command, "r");

	must(f != NULL && fgets(text, sizeof(text), f) != NULL, "ls: %s", strerror(errno));
	pclose(f);
	return atoi(text);
}

static uint64_t
open_handle(const char *path, enum file_access access, uint64_t mode)
{
	struct msg_file_open ask = { .session = "s", .path = path, .access = access, .mode = mode };

	if (*filebox_call(&box, MSG_FILE_OPEN, &ask) != '\0')
		return 0;
	return ((const struct msg_file_handle *)box.work.reply.body)->handle;
}

static const char *
write_at(uint64_t handle, uint64_t offset, const void *data, size_t n)
{
	struct msg_file_write w = { .session = "s", .handle = handle, .offset = offset, .data = blob_of(data, n) };

	return filebox_call(&box, MSG_FILE_WRITE, &w);
}

static const char *
end_handle(uint64_t handle, bool commit)
{
	struct msg_file_close c = { .session = "s", .handle = handle, .commit = commit };

	return filebox_call(&box, MSG_FILE_CLOSE, &c);
}

static const char *
make_dir(const char *path, bool parents)
{
	struct msg_file_mkdir m = { .session = "s", .path = path, .mode = 0750, .parents = parents };

	return filebox_call(&box, MSG_FILE_MKDIR, &m);
}

/* ---- what it does ---------------------------------------------------------------------- */

TEST(whole_files)
{
	struct stat st;
	char       *big = calloc(1, LIM_FILE_CHUNK);

	is(filebox_put(&box, "f", "first"), "", "a file is put");
	is(read_file(at(ws, "f")), "first", "and is there");
	uint64_t h = open_handle("f", FILE_ACCESS_WRITE, 0640);
	is(write_at(h, 0, "secon", 5), "", "another is begun in its place");
	is(write_at(h, 5, "d", 1), "", "in pieces");
	is(read_file(at(ws, "f")), "first", "until it is committed the old one is there");
	cmp_ok(count(ws), "==", 1, "and no other name");
	is(end_handle(h, true), "", "it is committed");
	is(filebox_get(&box, "f"), "second", "then it is the new one");
	stat(at(ws, "f"), &st);
	cmp_ok(st.st_mode & 07777, "==", 0640, "with the mode that was asked for");
	h = open_handle("f", FILE_ACCESS_WRITE, 0644);
	write_at(h, 0, "third", 5);
	is(end_handle(h, false), "", "one that is not committed");
	is(read_file(at(ws, "f")), "second", "changes nothing");
	like(end_handle(h, true), "not_found: handle [0-9]+ is not open; the transfer must be started again",
	    "and its handle is gone");
	like(write_at(h, 0, "x", 1), "not_found: handle", "for writing too");

	h = open_handle("big", FILE_ACCESS_WRITE, 0644);
	for (size_t i = 0; i < LIM_FILE_CHUNK; i++)
		big[i] = (char)(i * 7);
	is(write_at(h, LIM_FILE_CHUNK, big, LIM_FILE_CHUNK), "", "a whole chunk, behind a hole");
	is(end_handle(h, true), "", "committed");
	h = open_handle("big", FILE_ACCESS_READ, 0);
	const struct msg_file_handle *opened = box.work.reply.body;
	cmp_ok(opened->file.size_bytes, "==", 2 * LIM_FILE_CHUNK, "opening tells its size");
	struct msg_file_read r = {
		.session = "s", .handle = h, .offset = LIM_FILE_CHUNK, .size_bytes = LIM_FILE_CHUNK
	};
	struct buf got = { 0 };
	struct err e;
	is(filebox_call(&box, MSG_FILE_READ, &r), "", "it is read");
	const struct msg_file_data *d = box.work.reply.body;
	blob_read(&d->data, &got, &e);
	ok(d->end && got.len == LIM_FILE_CHUNK && memcmp(got.data, big, got.len) == 0,
	    "byte for byte, and its end is told");
	r.offset = INT64_MAX;
	like(filebox_call(&box, MSG_FILE_READ, &r), "invalid: file_read.offset", "behind every end");
	r.offset = 100 * MIB;
	is(filebox_call(&box, MSG_FILE_READ, &r), "", "behind its end there is");
	ok(((const struct msg_file_data *)box.work.reply.body)->data.len == 0, "nothing");
	like(write_at(h, 0, "x", 1), "state: handle .* is open for reading", "a reader is not written to");
	like(end_handle(h, true), "state: ", "nor committed");
	is(end_handle(h, false), "", "but closed");
	buf_clear(&got);
	free(big);
	filebox_remove(&box, "big", false);
}

TEST(in_one_go)
{
	uint64_t              h = open_handle("go", FILE_ACCESS_WRITE, 0644), ids[64];
	struct msg_file_close end = { .session = "s", .handle = h, .commit = true, .modified_ms = 1580608922007 };
	struct stat           st;
	bool                  good = true;

	for (size_t i = 0; i < 63; i++) {
		struct msg_file_write w = { .session = "s", .handle = h, .offset = i, .data = blob_of("x", 1) };
		ids[i] = filebox_send(&box, MSG_FILE_WRITE, &w);
	}
	ids[63] = filebox_send(&box, MSG_FILE_CLOSE, &end);
	for (size_t i = 0; i < 64; i++)
		good = *filebox_take(&box, ids[i], MSG_DONE) == '\0' && good;
	ok(good, "a file can be sent without waiting for an answer");
	stat(at(ws, "go"), &st);
	cmp_ok(st.st_size, "==", 63, "all of it");
	ok(st.st_mtim.tv_sec == 1580608922 && st.st_mtim.tv_nsec == 7000000, "with its time");
	filebox_remove(&box, "go", false);
}

TEST(directories)
{
	struct stat st;

	is(make_dir("d", false), "", "a directory is made");
	stat(at(ws, "d"), &st);
	cmp_ok(st.st_mode & 07777, "==", 0750, "with its mode");
	like(make_dir("d", false), "state: d is there already", "once");
	is(make_dir("d", true), "", "with parents it may be there");
	like(make_dir("x/y/z", false), "not_found: x is not there", "without parents they must be there");
	is(make_dir("x/y/z", true), "", "with parents they are made");
	like(make_dir("f/y", true), "invalid: f is not a directory", "a file is none");
	like(make_dir("f", true), "invalid: f is not a directory", "nor becomes one");
	is(filebox_put(&box, "x/y/z/file", "deep"), "", "a file in it");
	char absolute[128];
	snprintf(absolute, sizeof(absolute), "%s/x/y/z/file", ws);
	is(filebox_stat(&box, absolute), "", "the workspace's own path is understood");
	is(((const struct msg_file_info *)box.work.reply.body)->name, absolute, "and told as it was asked for");
	like(filebox_remove(&box, "x", false), "state: x is not empty; recursive",
	    "a full directory is not removed unasked");
	is(filebox_remove(&box, "x", true), "", "but when asked");
	like(filebox_stat(&box, "x"), "not_found: x is not there", "with all that was in it");
	is(filebox_remove(&box, "d", false), "", "an empty one goes as it is");
	like(filebox_remove(&box, "d", true), "not_found: d is not there", "what is not there is told");
	like(filebox_remove(&box, ".", true), "invalid: path: the workspace itself cannot be removed",
	    "the workspace stays");
	is(filebox_stat(&box, "."), "", "it can be looked at");
	cmp_ok(((const struct msg_file_info *)box.work.reply.body)->kind, "==", FILE_KIND_DIR, "and is a directory");
	like(filebox_put(&box, ".", "x"), "invalid: path: this is the workspace itself", "and no file");
}

/* ---- what it refuses --------------------------------------------------------------------- */

TEST(no_symlink)
{
	struct msg_file_symlink l = { .session = "s", .path = "link", .target = outside };
	struct msg_file_list    list = { .session = "s", .path = "link" };

	is(filebox_call(&box, MSG_FILE_SYMLINK, &l), "", "a symlink can be made");
	is(filebox_stat(&box, "link"), "", "and looked at");
	const struct msg_file_info *info = box.work.reply.body;
	ok(info->kind == FILE_KIND_LINK && strcmp(info->target, outside) == 0, "itself, and where it leads");
	like(filebox_get(&box, "link/secret"), "invalid: link is a symlink; symlinks are not followed",
	    "nobody reads through it");
	like(filebox_put(&box, "link/new", "x"), "invalid: link is a symlink", "nor writes");
	like(make_dir("link/new", true), "invalid: link is a symlink", "nor makes a directory");
	like(filebox_remove(&box, "link/secret", true), "invalid: link is a symlink", "nor removes");
	like(filebox_call(&box, MSG_FILE_LIST, &list), "invalid: link is a symlink", "nor lists");
	link_to(at(outside, "secret"), AT_FDCWD, at(ws, "flink"));
	like(filebox_get(&box, "flink"), "invalid: flink is a symlink", "one to a file is not read");
	like(filebox_put(&box, "flink", "x"), "invalid: flink is a symlink", "nor replaced unasked");
	l.target = "elsewhere";
	is(filebox_call(&box, MSG_FILE_SYMLINK, &l), "", "a symlink can be changed");
	filebox_stat(&box, "link");
	is(((const struct msg_file_info *)box.work.reply.body)->target, "elsewhere", "to lead elsewhere");
	l.path = "f";
	like(filebox_call(&box, MSG_FILE_SYMLINK, &l), "state: f is there already", "a file does not become one");

	/* swapped in between */
	uint64_t h = open_handle("late", FILE_ACCESS_WRITE, 0644);
	write_at(h, 0, "x", 1);
	link_to(at(outside, "secret"), AT_FDCWD, at(ws, "late"));
	is(end_handle(h, true), "", "one that comes before the commit");
	is(read_file(at(outside, "secret")), "secret", "is not written through");
	is(filebox_get(&box, "late"), "x", "but replaced");
	h = open_handle("dir", FILE_ACCESS_WRITE, 0644);
	mkdir(at(ws, "dir"), 0755);
	like(end_handle(h, true), "invalid: dir is a directory|state: dir is there", "a directory that comes is not");
	cmp_ok(count(ws), "==", 5, "and nothing temporary stays");
	is(filebox_remove(&box, "link", true), "", "a symlink is removed itself");
	filebox_remove(&box, "flink", false);
	filebox_remove(&box, "late", false);
	filebox_remove(&box, "dir", false);
	is(read_file(at(outside, "secret")), "secret", "and not what it leads to");
}

TEST(no_device)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };
	int                s = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(a.sun_path, sizeof(a.sun_path), "%s/socket", ws);
	mkfifo(at(ws, "fifo"), 0666);
	must(bind(s, (struct sockaddr *)&a, sizeof(a)) != -1, "bind: %s", strerror(errno));
	close(s);
	like(filebox_get(&box, "fifo"), "invalid: fifo is a FIFO, not a file", "a FIFO is not read");
	like(filebox_put(&box, "fifo", "x"), "invalid: fifo is a FIFO", "nor written");
	like(filebox_get(&box, "socket"), "invalid: socket is a socket", "a socket neither");
	like(filebox_put(&box, "socket", "x"), "invalid: socket is a socket", "nor written");
	like(filebox_get(&box, "."), "invalid: path: this is the workspace itself", "nor is a directory a file");
	skip(mknod(at(ws, "device"), S_IFCHR | 0666, makedev(1, 5)) == -1, 3, "mknod: %s", strerror(errno));
	like(filebox_get(&box, "device"), "invalid: device is a device", "a device is not read");
	like(filebox_put(&box, "device", "x"), "invalid: device is a device", "nor written");
	is(filebox_remove(&box, "device", false), "", "but removed");
	end_skip;
	is(filebox_stat(&box, "fifo"), "", "a FIFO can be looked at");
	cmp_ok(
	    ((const struct msg_file_info *)box.work.reply.body)->kind, "==", FILE_KIND_OTHER, "and is something else");
	is(filebox_remove(&box, "fifo", false), "", "and removed");
	is(filebox_remove(&box, "socket", true), "", "as is a socket");
	/* a lease would make open wait for its holder */
	write_file(at(ws, "leased"), "x");
	int fd = open(at(ws, "leased"), O_RDWR);
	signal(SIGIO, SIG_IGN);
	skip(fcntl(fd, F_SETLEASE, F_WRLCK) == -1, 1, "leases: %s", strerror(errno));
	like(filebox_get(&box, "leased"), "busy: .*lease", "nobody waits for a lease");
	end_skip;
	close(fd);
	filebox_remove(&box, "leased", false);
}

TEST(no_way_out)
{
	static const char *const paths[] = { "..", "../x", "d/../../x", "/etc/passwd", "/", "/tmp" };

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		like(filebox_get(&box, paths[i]), "invalid: path: .*(has a '\\.\\.'|is not beneath)", "%s is not read",
		    paths[i]);
		like(filebox_remove(&box, paths[i], true), "invalid: path: ", "%s is not removed", paths[i]);
	}
	cmp_ok(open_handle("suid", FILE_ACCESS_WRITE, 04755), "==", 0, "setuid cannot be asked for");
	like(box.work.why, "invalid: file_open.mode", "and the field is named");
	uint64_t id = filebox_send(&box, MSG_PING, &(struct msg_ping){});
	like(filebox_take(&box, id, MSG_PONG), "protocol: box-files takes no ping", "what it does not know is refused");
	is(filebox_stat(&box, "."), "", "and it lives on");
}

/* ---- names ------------------------------------------------------------------------------- */

TEST(odd_names)
{
	struct msg_file_list ask = { .session = "s", .path = "." };
	struct buf           raw = { 0 };
	struct err           e;

	is(filebox_put(&box, "\xff\xfe", "bytes"), "", "a name need not be UTF-8");
	is(filebox_put(&box, "a\n\033b", "control"), "", "nor printable");
	link_to("to\xff", AT_FDCWD, at(ws, "bl"));
	is(filebox_call(&box, MSG_FILE_LIST, &ask), "", "they are listed");
	const struct msg_files *f = box.work.reply.body;
	cmp_ok(f->entries.n, "==", 4, "all of them");
	is(f->entries.v[0].name, "a\n\033b", "by the order of bytes");
	ok(f->entries.v[0].raw_name.len == 0, "UTF-8 as it is");
	is(f->entries.v[3].name, "\xef\xbf\xbd\xef\xbf\xbd", "what is not UTF-8 as text that is");
	blob_read(&f->entries.v[3].raw_name, &raw, &e);
	ok(raw.len == 2 && memcmp(raw.data, "\xff\xfe", 2) == 0, "and as its bytes");
	is(f->entries.v[1].target, "to\xef\xbf\xbd", "targets too");
	ok(f->entries.v[1].raw_target.len == 3, "with their bytes");
	buf_clear(&raw);
	is(filebox_get(&box, "\xff\xfe"), "bytes", "a name's bytes lead to it");
	like(filebox_stat(&box, "no\033such"), "not_found: no.x1bsuch is", "and are escaped in texts");
	filebox_remove(&box, "\xff\xfe", false);
	filebox_remove(&box, "a\n\033b", false);
	filebox_remove(&box, "bl", false);
}

TEST(many_entries)
{
	char   name[300], last[300] = "";
	size_t seen = 0, pages = 0, wrong = 0;

	mkdir(at(ws, "many"), 0755);
	int dir = open(at(ws, "many"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "%d", i * 7919 % MANY);
		close(openat(dir, name, O_WRONLY | O_CREAT, 0644));
	}
	for (;;) {
		struct msg_file_list ask = { .session = "s", .path = "many", .after = blob_of(last, strlen(last)) };

		if (*filebox_call(&box, MSG_FILE_LIST, &ask) != '\0')
			break;
		const struct msg_files *f = box.work.reply.body;
		for (size_t i = 0; i < f->entries.n; i++) {
			wrong += strcmp(f->entries.v[i].name, last) <= 0;
			snprintf(last, sizeof(last), "%s", f->entries.v[i].name);
		}
		seen += f->entries.n;
		pages++;
		wrong += f->entries.n > LIM_FILES;
		if (f->next.len == 0)
			break;
		if (pages == 3) { /* it may change meanwhile */
			unlinkat(dir, "0", 0);
			unlinkat(dir, "99999", 0);
		}
	}
	cmp_ok(seen, "==", MANY - 1, "%d entries come in pages; one is gone before its turn", MANY);
	cmp_ok(wrong, "==", 0, "sorted, each once, no page too large");
	cmp_ok(pages, "==", MANY / LIM_FILES, "in as many pages as it takes");
	close(dir);
	is(filebox_remove(&box, "many", true), "", "they are removed");
}

/* A page that targets of symlinks would make too large ends early. */
TEST(large_entries)
{
	static char target[4001];
	size_t      seen = 0, pages = 0;
	struct buf  next = { 0 };
	struct err  e;

	memset(target, 't', 4000);
	mkdir(at(ws, "links"), 0755);
	int dir = open(at(ws, "links"), O_RDONLY | O_DIRECTORY);
	for (int i = 0; i < 600; i++) {
		char name[16];

		snprintf(name, sizeof(name), "%04d", i);
		link_to(target, dir, name);
	}
	close(dir);
	do {
		struct msg_file_list ask = { .session = "s", .path = "links", .after = blob_of(next.data, next.len) };

		if (*filebox_call(&box, MSG_FILE_LIST, &ask) != '\0')
			break;
		const struct msg_files *f = box.work.reply.body;
		seen += f->entries.n;
		pages++;
		next.len = 0;
		if (f->next.len > 0)
			blob_read(&f->next, &next, &e);
	} while (next.len > 0);
	cmp_ok(seen, "==", 600, "600 large entries are listed");
	cmp_ok(pages, "==", 3, "in three pages of at most a MiB");
	buf_clear(&next);
	is(filebox_remove(&box, "links", true), "", "and removed");
}

/* ---- trees ------------------------------------------------------------------------------- */

TEST(deep_tree)
{
	int dir = open(ws, O_RDONLY | O_DIRECTORY), next;

	for (int i = 0; i < DEEP; i++) {
		must(mkdirat(dir, "deep", 0755) != -1 && (next = openat(dir, "deep", O_RDONLY | O_DIRECTORY)) != -1,
		    "a deep tree: %s", strerror(errno));
		close(openat(dir, "file", O_WRONLY | O_CREAT, 0644));
		link_to(outside, dir, "link");
		close(dir);
		dir = next;
	}
	close(dir);
	is(filebox_remove(&box, "deep", true), "", "a tree %d deep is removed", DEEP);
	filebox_remove(&box, "file", false);
	filebox_remove(&box, "link", false);
	cmp_ok(count(ws), "==", 1, "all of it");
	is(read_file(at(outside, "secret")), "secret", "its symlinks were not followed");

	make_dir("closed/in/side", true);
	filebox_put(&box, "closed/in/side/file", "x");
	chmod(at(ws, "closed/in/side"), 0555);
	chmod(at(ws, "closed/in"), 0);
	is(filebox_remove(&box, "closed", true), "", "directories that were closed are opened for it");
}

static void
in_mounts(void)
{
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tree/mounted", ws);
	if (unshare(CLONE_NEWNS) == -1 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == -1 ||
	    mount("tmpfs", path, "tmpfs", 0, "size=1m,nr_inodes=16") == -1)
		_exit(126);
}

TEST(mounts)
{
	char *two = calloc(1, 2 * MIB);

	make_dir("tree/mounted", true);
	struct filebox plain = box;
	skip(geteuid() != 0, 8, "only root can mount");
	filebox_start(&box, ws, "7", in_mounts);
	is(filebox_put(&box, "tree/mounted/f", "in"), "", "a mount inside is entered");
	is(filebox_put(&box, "tree/mounted/f", "again"), "", "and files in it are replaced");
	is(filebox_get(&box, "tree/mounted/f"), "again", "and read");
	like(filebox_remove(&box, "tree", true), "state: remove tree/mounted: something is mounted there",
	    "but not removed");
	is(filebox_get(&box, "tree/mounted/f"), "again", "and nothing of it is");
	uint64_t h = open_handle("tree/mounted/f", FILE_ACCESS_WRITE, 0644);
	write_at(h, 0, two, MIB);
	like(write_at(h, MIB, two, MIB),
	    "capacity: write tree/mounted/f: the workspace is full: 0 KiB are left of 1024 KiB",
	    "what is full is told");
	like(end_handle(h, true), "capacity: .* is full", "half a file is not committed");
	is(filebox_get(&box, "tree/mounted/f"), "again", "the old one is there");
	filebox_end(&box, false);
	end_skip;
	free(two);
	box = plain;
	filebox_remove(&box, "tree", true);
}

/* ---- limits, and ends ---------------------------------------------------------------------- */

TEST(handles_are_few)
{
	uint64_t h[LIM_FILE_HANDLES];
	bool     good = true;

	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		good = (h[i] = open_handle("f", i % 2 ? FILE_ACCESS_READ : FILE_ACCESS_WRITE, 0644)) != 0 && good;
	ok(good, "%d files can be open", LIM_FILE_HANDLES);
	cmp_ok(open_handle("f", FILE_ACCESS_READ, 0), "==", 0, "and no more");
	like(box.work.why, "capacity: 64 files of the session are open", "which is told");
	end_handle(h[5], false);
	h[5] = open_handle("f", FILE_ACCESS_READ, 0);
	ok(h[5] > h[LIM_FILE_HANDLES - 1], "a number is not used again");
	for (size_t i = 0; i < LIM_FILE_HANDLES; i++)
		end_handle(h[i], false);
}

static void
with_small_files(void)
{
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){ MIB, MIB });
}

TEST(limits)
{
	struct filebox plain = box;
	char          *chunk = calloc(1, LIM_FILE_CHUNK);

	filebox_start(&box, ws, "7", with_small_files);
	uint64_t h = open_handle("f", FILE_ACCESS_WRITE, 0644);
	is(write_at(h, 0, chunk, LIM_FILE_CHUNK), "", "up to a resource limit");
	like(write_at(h, LIM_FILE_CHUNK, chunk, 1), "capacity: write f: the file would be too large", "and over it");
	like(write_at(h, 0, "x", 1), "capacity: write f", "a file that lost bytes stays broken");
	like(end_handle(h, true), "capacity: write f", "and is not committed");
	is(filebox_get(&box, "f"), "second", "the old one is there");
	is(filebox_end(&box, false) == 0 ? "0" : "not", "0", "box-files ends with its channel, at peace");
	free(chunk);
	box = plain;
}

/* As a file system without O_TMPFILE would answer. */
static void
without_tmpfile(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, O_TMPFILE & ~O_DIRECTORY, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EOPNOTSUPP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(*code), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == -1 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == -1)
		_exit(126);
}

TEST(without_nameless_files)
{
	struct filebox plain = box;

	filebox_start(&box, ws, "7", without_tmpfile);
	is(make_dir("sub", false), "", "without nameless files:");
	is(filebox_put(&box, "sub/f", "one"), "", "a file is put");
	is(filebox_put(&box, "sub/f", "two"), "", "and replaced");
	is(filebox_get(&box, "sub/f"), "two", "whole");
	cmp_ok(count(ws), "==", 2, "no temporary name is left");
	uint64_t h = open_handle("sub/f", FILE_ACCESS_WRITE, 0644);
	write_at(h, 0, "three", 5);
	cmp_ok(count(ws), "==", 3, "there is one while it is written");
	end_handle(h, false);
	cmp_ok(count(ws), "==", 2, "and none when it is given up");
	open_handle("sub/f", FILE_ACCESS_WRITE, 0644);
	filebox_end(&box, false);
	cmp_ok(count(ws), "==", 2, "nor when box-files ends");

	filebox_start(&box, ws, "7", without_tmpfile);
	open_handle("sub/f", FILE_ACCESS_WRITE, 0644);
	filebox_end(&box, true);
	cmp_ok(count(ws), "==", 3, "killed, it leaves one");
	write_file(at(ws, ".boxd-put.8.0123456789abcdef"), "fresh");
	write_file(at(ws, ".boxd-put.9.0123456789abcdef"), "old");
	utimensat(AT_FDCWD, at(ws, ".boxd-put.9.0123456789abcdef"), (struct timespec[2]){ { 1, 0 }, { 1, 0 } }, 0);
	filebox_start(&box, ws, "7", NULL);
	is(filebox_get(&box, "sub/f"), "two", "the next one finds the old content");
	cmp_ok(count(ws), "==", 3, "and removes what was left of itself, and of others long ago");
	is(read_file(at(ws, ".boxd-put.8.0123456789abcdef")), "fresh", "but not what another session is writing");
	filebox_end(&box, false);
	unlink(at(ws, ".boxd-put.8.0123456789abcdef"));
	box = plain;
	filebox_remove(&box, "sub", true);
}

/* Killed at any moment of replacing a file, one of the two is there and the next start leaves nothing else. */
TEST(killed_in_between)
{
	struct filebox plain = box;
	unsigned       wrong = 0;

	for (int i = 0; i < 60; i++) {
		filebox_start(&box, ws, "7", NULL);
		uint64_t              h = open_handle("f", FILE_ACCESS_WRITE, 0644);
		struct msg_file_write w = { .session = "s", .handle = h, .data = blob_of("third!", 6) };
		struct msg_file_close c = { .session = "s", .handle = h, .commit = true };
		filebox_send(&box, MSG_FILE_WRITE, &w);
		filebox_send(&box, MSG_FILE_CLOSE, &c);
		usleep((unsigned)(i % 20) * 10);
		filebox_end(&box, true);
		filebox_start(&box, ws, "7", NULL);
		const char *got = filebox_get(&box, "f");
		wrong += strcmp(got, "second") != 0 && strcmp(got, "third!") != 0;
		wrong += count(ws) != 1;
		filebox_put(&box, "f", "second");
		filebox_end(&box, false);
	}
	cmp_ok(wrong, "==", 0, "killed at any moment: the old or the new file, and nothing else");
	box = plain;
}

int
main(void)
{
	char command[128];

	/* in memory where there is room: a hundred thousand files are made */
	snprintf(top, sizeof(top), "%s/boxd-t-files.XXXXXX", access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp");
	must(mkdtemp(top) != NULL, "mkdtemp: %s", strerror(errno));
	snprintf(ws, sizeof(ws), "%s/ws", top);
	snprintf(outside, sizeof(outside), "%s/outside", top);
	mkdir(ws, 0755);
	mkdir(outside, 0755);
	write_file(at(outside, "secret"), "secret");
	filebox_start(&box, ws, "5", NULL);
	run_tests();
	is(filebox_end(&box, false) == 0 ? "0" : "not", "0", "and at the end it goes by itself");
	snprintf(command, sizeof(command), "rm -rf --one-file-system %s", top);
	ok(system(command) == 0, "nothing is left");
	done_testing();
}
