#include "record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "base/newfile.h"
#include "wire/msg.h"

#define SUFFIX ".volume"

int
pool_dir_open(const char *path, bool make, struct err *e)
{
	if (make && mkdir(path, 0700) == -1 && errno != EEXIST)
		return err_sys(e, "make %s", path);
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1 && errno == ENOENT)
		return err_set(e, E_NOTFOUND, "there is no volume: no %s", path);
	return fd == -1 ? err_sys(e, "open %s", path) : fd;
}

void
record_name(struct record *r, const char *path)
{
	unsigned char hash[RECORD_ID / 2];

	*r = (struct record){ 0 };
	snprintf(r->path, sizeof(r->path), "%s", path);
	crypto_generichash(hash, sizeof(hash), (const unsigned char *)path, strlen(path), NULL, 0);
	sodium_bin2hex(r->id, sizeof(r->id), hash, sizeof(hash));
}

void
record_image(const struct record *r, char name[64])
{
	snprintf(name, 64, "%s.img", r->id);
}

static int
decode(struct record *r, const char *bytes, size_t n, struct err *e)
{
	struct msg                    m;
	int                           result = msg_decode(&m, bytes, n, NULL, 0, FROM_FILE, e);
	const struct msg_pool_record *reported = m.body;

	if (result == 0 && m.type != MSG_POOL_RECORD)
		result = err_set(e, E_PROTO, "%s does not belong there", msg_name(m.type));
	if (result == 0) {
		snprintf(r->path, sizeof(r->path), "%s", reported->path);
		r->size_mb = reported->size_mb;
		r->trial = reported->trial;
	}
	msg_clear(&m);
	return result;
}

static int
read_file(int pool, const char *name, struct record *r, struct err *e)
{
	char        bytes[LIM_PATH + 1024];
	AUTO_FD int fd = openat(pool, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	ssize_t     n = fd == -1 ? -1 : read(fd, bytes, sizeof(bytes));

	if (fd == -1 && errno == ENOENT)
		return 1;
	if (n == -1)
		return err_sys(e, "read %s", name);
	return decode(r, bytes, (size_t)n, e);
}

int
record_read(int pool, struct record *r, struct err *e)
{
	struct record found = *r;
	char          name[64];

	snprintf(name, sizeof(name), "%s" SUFFIX, r->id);
	int result = read_file(pool, name, &found, e);
	if (result == 0 && strcmp(found.path, r->path) != 0)
		return err_set(e, E_PROTO, "%s is of %s", name, found.path);
	if (result == 0)
		*r = found;
	return result;
}

int
record_write(int pool, const struct record *r, struct err *e)
{
	struct msg_pool_record reported = { .path = r->path, .size_mb = r->size_mb, .trial = r->trial };
	struct packet          p = { 0 };
	struct newfile         file;
	char                   name[64];
	int                    result = -1;

	snprintf(name, sizeof(name), "%s" SUFFIX, r->id);
	AUTO_FD int dir = openat(pool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir == -1 || newfile_open(&file, dir, -1, ".record.", 0600) == -1)
		return err_sys(e, "make the record of %s", r->path);
	fd_take(&dir);
	if (msg_encode(&p, MSG_POOL_RECORD, 0, 0, &reported, e) == -1)
		newfile_drop(&file);
	else if (write(file.fd, p.bytes.data, p.bytes.len) != (ssize_t)p.bytes.len || fsync(file.fd) == -1) {
		err_sys(e, "write the record of %s", r->path);
		newfile_drop(&file);
	} else if (newfile_commit(&file, name) == -1 || fsync(pool) == -1)
		err_sys(e, "write the record of %s", r->path);
	else
		result = 0;
	packet_clear(&p);
	return result;
}

int
record_remove(int pool, const struct record *r, struct err *e)
{
	char name[64];

	record_image(r, name);
	if (unlinkat(pool, name, 0) == -1 && errno != ENOENT)
		return err_sys(e, "remove the image of %s", r->path);
	snprintf(name, sizeof(name), "%s" SUFFIX, r->id);
	if (unlinkat(pool, name, 0) == -1 && errno != ENOENT)
		return err_sys(e, "remove the record of %s", r->path);
	return 0;
}

static bool
is_record(const char *name)
{
	return strlen(name) == RECORD_ID + strlen(SUFFIX) && strcmp(name + RECORD_ID, SUFFIX) == 0;
}

int
record_each(int pool, void (*fn)(void *, struct record *), void *arg, struct err *e)
{
	int            fd = openat(pool, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR           *d = fd == -1 ? NULL : fdopendir(fd);
	struct dirent *entry;

	if (d == NULL) {
		err_sys(e, "read the pool directory");
		fd_close(&fd);
		return -1;
	}
	while ((entry = readdir(d)) != NULL) {
		struct record r = { 0 };
		struct err    why = { 0 };

		if (!is_record(entry->d_name))
			continue;
		snprintf(r.id, sizeof(r.id), "%.*s", RECORD_ID, entry->d_name);
		if (read_file(pool, entry->d_name, &r, &why) == 0)
			fn(arg, &r);
		else
			log_error("volume %s: %s", entry->d_name, why.text);
	}
	closedir(d);
	return 0;
}
