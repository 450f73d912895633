/*
 * How much is in a directory of the host's: what a session keeps there, in bytes and
 * in entries.
 *
 * Bytes are those the disk gives: allocated blocks.  The apparent size would blame a
 * sparse file for holes that cost nothing, and would not see what fallocate() keeps
 * behind a file's end, nor the block that each small file takes.  Only what a file
 * system keeps inside the inode has no blocks; that counts by its size.  Directories
 * count too: an entry that costs nothing could be made without end.
 *
 * A file is counted once, by its inode: hard links are one file, and so is one that is
 * renamed while we look.
 */
#ifndef SESSION_SCAN_H
#define SESSION_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum scan_end {
	SCAN_WHOLE,
	SCAN_MANY,   /* more than the entries allowed; the rest was not looked at */
	SCAN_DEEP,   /* directories below directories, more than LIM_SCAN_DEPTH */
	SCAN_BROKEN, /* could not be read; error tells */
};

struct scan_total {
	uint64_t      bytes;
	uint64_t      entries;
	uint64_t      took_us;
	int           error; /* errno */
	enum scan_end end;
};

struct inode {
	dev_t dev;
	ino_t ino;
};

/* The inodes that were counted. */
struct inodes {
	struct inode *v; /* owned; a hash table, ino 0 is free */
	size_t        n, size;
};

struct scan {
	struct scan_total total;
	uint64_t          max_entries;
	dev_t             dev; /* of the directory */
	struct inodes     seen;
};

void scan_begin(struct scan *, uint64_t max_entries);

/* All below a directory; by descriptor, across no mount and along no symbolic link. */
void scan_tree(struct scan *, int dir);

/*
 * Files of that file system that have no name any more but are still open, or mapped,
 * by a process in this /proc.
 */
void scan_open_files(struct scan *, int proc);

void scan_end(struct scan *);

/* ---- for the two above ---- */

struct stat;

/* Count it, unless it was; -1 without memory. */
int scan_count(struct scan *, const struct stat *);

/* The next name in a directory, by a buffer of ours: no allocation that a caller could forget. */
struct names {
	int    fd; /* owned */
	size_t at, have;
	char   buffer[4096] __attribute__((aligned(8)));
};

struct name {
	const char   *name;
	unsigned char type; /* DT_DIR and the like; DT_UNKNOWN where the file system does not tell */
};

void names_open(struct names *, int fd);
bool names_next(struct names *, struct name *); /* without "." and ".." */
void names_close(struct names *);

#endif
