/*
 * Where a copy goes follows docker cp: onto a directory means into it, under the source's
 * own name; a source that ends in "/." means what is in it; what is not there is made
 * under the name that was given.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "cmd.h"
#include "copy/copy.h"
#include "render.h"
#include "text.h"
#include "wire/owned_msg.h"

int
copy_join(char out[LIM_PATH + 1], const char *dir, const char *name, struct err *e)
{
	int n = strcmp(dir, ".") == 0 ? snprintf(out, LIM_PATH + 1, "%s", name)
				      : snprintf(out, LIM_PATH + 1, "%s/%s", dir, name);

	if (n > LIM_PATH)
		return err_set(e, E_INVALID, "%.64s.../%.64s: the path is over %d bytes long", text_safe(dir),
		    text_safe(name), LIM_PATH);
	return 0;
}

void
copy_leave_out(struct copy *c, const char *what)
{
	progress_clear(&c->progress);
	complain("%s is neither a file nor a directory nor a symlink; left out", what);
	c->left_out++;
}

/* ---- into a session ------------------------------------------------------------------- */

/* Is it there, and a directory?  1 yes, 0 it is something else, -1 it is not there, but its session is; -2 and why not. */
static int
session_dir(struct copy *c, const char *path, struct err *e)
{
	struct msg_file_stat ask = { .session = c->session, .path = path };
	struct msg_file_stat workspace = { .session = c->session, .path = "." };
	struct msg           reply;

	if (client_call(c->client, MSG_FILE_STAT, &ask, &reply, e) == -1) {
		if (e->code != E_NOTFOUND || client_call(c->client, MSG_FILE_STAT, &workspace, &reply, e) == -1)
			return -2;
		msg_clear(&reply);
		return -1;
	}
	bool is_dir = ((const struct msg_file_info *)reply.body)->kind == FILE_KIND_DIR;
	msg_clear(&reply);
	return is_dir;
}

static bool
has_name(const char *name)
{
	return *name != '\0' && strcmp(name, "..") != 0;
}

static int
put(struct copy *c, const struct place *from, const struct place *to, struct err *e)
{
	char        name[LIM_PATH + 1], path[LIM_PATH + 1];
	struct stat st = { .st_mode = S_IFREG };

	if (!from->is_stdio && stat(from->path, &st) == -1)
		return err_sys(e, "%s", text_safe(from->path));
	place_name(from, name);
	bool dir = S_ISDIR(st.st_mode), contents = dir && (from->contents || !has_name(name));
	int  there = session_dir(c, to->path, e);
	if (there == -2)
		return -1;
	if (there == 0 && (dir || to->wants_dir))
		return err_set(e, E_INVALID, "%s is not a directory", text_safe(to->path));
	if (there == -1 && !dir && to->wants_dir)
		return err_set(e, E_NOTFOUND, "%s is not there", text_safe(to->path));
	if (there == 1 && from->is_stdio)
		return err_set(
		    e, E_INVALID, "%s is a directory: name the file that '-' shall become", text_safe(to->path));
	snprintf(path, sizeof(path), "%s", to->path);
	if (there == 1 && !contents && copy_join(path, to->path, name, e) == -1)
		return -1;
	return from->is_stdio ? put_stdin(c, path, e) : put_path(c, from->path, contents, path, e);
}

/* ---- out of a session ----------------------------------------------------------------- */

/* The directory to make it in and its name there, or with contents the directory itself. */
static int
local_target(
    const struct place *to, const char *own, bool dir, bool *contents, int *fd, char name[LIM_PATH + 1], struct err *e)
{
	struct stat st;
	bool        there = stat(to->path, &st) == 0;
	char        parent[LIM_PATH + 1];

	if (there && S_ISDIR(st.st_mode)) {
		snprintf(name, LIM_PATH + 1, "%s", own);
		*fd = open(to->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		return *fd == -1 ? err_sys(e, "open %s", text_safe(to->path)) : 0;
	}
	if (there && (dir || to->wants_dir))
		return err_set(e, E_INVALID, "%s is not a directory", text_safe(to->path));
	if (!there && !dir && to->wants_dir)
		return err_set(e, E_NOTFOUND, "%s is not there", text_safe(to->path));
	*contents = false; /* it becomes that name */
	place_name(to, name);
	snprintf(parent, sizeof(parent), "%s", to->path);
	char *slash = strrchr(parent, '/');
	if (slash == NULL)
		snprintf(parent, sizeof(parent), ".");
	else
		slash[slash == parent] = '\0';
	*fd = open(parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return *fd == -1 ? err_sys(e, "open %s", text_safe(parent)) : 0;
}

static int
look(struct copy *c, const char *path, struct owned_msg *kept, struct msg_file_info *info, struct err *e)
{
	struct msg_file_stat ask = { .session = c->session, .path = path };
	struct msg           reply;

	if (client_call(c->client, MSG_FILE_STAT, &ask, &reply, e) == -1)
		return -1;
	*info = *(const struct msg_file_info *)reply.body;
	int r = owned_msg_copy(kept, MSG_FILE_INFO, info, e);
	msg_clear(&reply);
	return r;
}

static int
get(struct copy *c, const struct place *from, const struct place *to, struct err *e)
{
	struct owned_msg     kept = { 0 };
	struct msg_file_info info;
	char                 own[LIM_PATH + 1], name[LIM_PATH + 1];
	AUTO_FD int          dir = -1;

	if (to->is_stdio)
		return get_stdout(c, from->path, e);
	if (look(c, from->path, &kept, &info, e) == -1)
		return -1;
	place_name(from, own);
	bool is_dir = info.kind == FILE_KIND_DIR;
	bool contents = is_dir && (from->contents || !has_name(own));
	int  r = local_target(to, own, is_dir, &contents, &dir, name, e);
	if (r == 0)
		r = get_path(c, from->path, &info, dir, name, contents, e);
	owned_msg_clear(&kept);
	return r;
}

/* ---- the command ---------------------------------------------------------------------- */

static void
say(const struct args *a, const struct copy *c)
{
	json_t *o = json_object();

	json_object_set_new(o, "files", json_integer((json_int_t)c->progress.files));
	json_object_set_new(o, "directories", json_integer((json_int_t)c->dirs));
	json_object_set_new(o, "symlinks", json_integer((json_int_t)c->links));
	json_object_set_new(o, "left_out", json_integer((json_int_t)c->left_out));
	json_object_set_new(o, "bytes", json_integer((json_int_t)c->progress.bytes));
	if (a->json)
		render_print_json(json_incref(o));
	json_decref(o);
}

static int
copy_run(struct client *client, const struct args *a, void *none)
{
	struct copy  c = { .client = client };
	struct place from, to;
	struct err   e = { 0 };

	client->patience = 1;
	if (place_parse(&from, a->v[0], client, &e) == -1 || place_parse(&to, a->v[1], client, &e) == -1)
		return usage_error("cp", &e);
	if (from.in_session == to.in_session) {
		err_set(&e, E_INVALID, "exactly one of source and destination must be SESSION:PATH");
		return usage_error("cp", &e);
	}
	c.session = from.in_session ? from.session : to.session;
	snprintf(c.stem, sizeof(c.stem), ".boxctl-cp.%d", (int)getpid());
	progress_start(&c.progress, a->quiet || a->json);
	int r = from.in_session ? get(&c, &from, &to, &e) : put(&c, &from, &to, &e);
	progress_clear(&c.progress);
	if (r == 0) {
		say(a, &c);
		return c.left_out > 0 ? EXIT_REFUSED : EXIT_OK;
	}
	if (client->interrupt->count > 0)
		return 128 + client->interrupt->signal;
	complain("%s", e.text);
	return client->broken ? EXIT_BOXD : EXIT_REFUSED;
}

int
cmd_cp(const struct args *a)
{
	return cmd_interruptible(a, copy_run, NULL);
}
