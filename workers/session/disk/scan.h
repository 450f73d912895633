/*
 * How much a session keeps in directories of the host: bytes and entries.
 *
 * Bytes are those the disk gives: allocated blocks.  The apparent size would blame a
 * sparse file for holes that cost nothing, and would not see what fallocate() keeps
 * behind a file's end, nor the block that each small file takes.  Only what a file
 * system keeps inside the inode has no blocks; that counts by its size.  Directories
 * count too: an entry that costs nothing could be made without end.
 *
 * A file is counted once, by its inode: hard links are one file, and so is one that is
 * renamed while we look.
 *
 * What is looked at was made by strangers, so all memory is had before the first look,
 * and whatever cannot be looked at, or is too much to look at, is reported as such: the
 * caller takes it for more than the quota.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

enum scan_end {
	SCAN_WHOLE,
	SCAN_MANY,   /* more than the entries allowed; the rest was not looked at */
	SCAN_DEEP,   /* directories below directories, more than LIM_SCAN_DEPTH */
	SCAN_OPEN,   /* more open descriptors and mappings than LIM_SCAN_OPEN */
	SCAN_BROKEN, /* could not be read; error says why */
};

struct scan_total {
	uint64_t      bytes;
	uint64_t      entries;
	uint64_t      hidden; /* descriptors waiting in sockets, and processes that could not be looked into */
	uint64_t      took_us;
	int           error; /* errno */
	enum scan_end end;
};

/* ---- files by name ---- */

struct inode {
	dev_t dev;
	ino_t ino;
};

/* The inodes that were counted. */
struct inodes {
	struct inode *v; /* owned; a hash table, ino 0 is free */
	size_t        n, size;
	uint64_t      seed; /* odd and secret: nobody can choose inodes that meet in one place */
};

struct scan {
	struct scan_total total;
	uint64_t          max_entries;
	bool              into_mounts; /* what is mounted below a directory is the sandbox's too */
	dev_t             devs[64];    /* file systems that were met */
	size_t            ndevs;
	struct inodes     seen;
	struct walk      *walk; /* owned */
};

/* What a scan takes at most. */
size_t scan_memory(uint64_t max_entries);

/* All its memory; -1 and the reason. */
int  scan_init(struct scan *, uint64_t max_entries, bool into_mounts, struct err *);
void scan_clear(struct scan *);

void scan_begin(struct scan *);

/* A file, or a directory and all below it; by descriptor and along no symbolic link. */
void scan_place(struct scan *, int fd);

/* ---- files without a name: scan_open.c ---- */

/* A file that was removed, and which somebody has open or mapped. */
struct nameless {
	dev_t    dev;
	ino_t    ino;
	uint64_t bytes;
};

/* Counted when it is on one of the file systems that were met, and was not before. */
void scan_nameless(struct scan *, const struct nameless *);

struct look {
	unsigned      most;   /* descriptors and mappings to look at */
	uint64_t      hidden; /* as in scan_total */
	enum scan_end end;
	int           error; /* errno */
	void (*found)(void *, const struct nameless *);
	void *arg;
};

/*
 * All of them, of every process in this /proc but the first, which is init.  What is not
 * the root of a procfs is SCAN_BROKEN, and nothing in it is opened.
 */
void look_at_open_files(struct look *, int proc);

/* Is it the root directory of a procfs? */
bool proc_is_genuine(int proc);

/* ---- for all of them ---- */

struct stat;

/* What the disk gives for it. */
uint64_t bytes_of(const struct stat *);

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
int  names_next(struct names *, struct name *); /* without "." and ".."; 0 at the end, -1 and errno */
void names_close(struct names *);
