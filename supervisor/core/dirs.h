/* The state and the runtime directory: made with the right modes, owned by one boxd. */
#pragma once

#include <limits.h>

#include "config/config.h"

struct dirs {
	char state[PATH_MAX];
	char runtime[PATH_MAX];
	char empty[PATH_MAX];   /* for the gateway to be locked into */
	char libexec[PATH_MAX]; /* where box-session, box-init and box-gateway are */
	char instance[17];      /* name of this state directory, in cgroups and logs */
	int  lock;              /* owned; held as long as we live */
	int  sessions;          /* owned; <state>/sessions */
	int  templates;         /* owned; <state>/templates: file systems to copy for workspaces */
	int  images;            /* owned; <state>/images */
	bool listening;         /* the socket is ours to remove */
};

/* Find the names, make the directories, take the lock. */
int  dirs_open(struct dirs *, const struct config *, struct err *);
void dirs_close(struct dirs *);

/* A descriptor of an image's directory; -1 if no image has that name. */
int dirs_image(const struct dirs *, const char *image);

/* The listening Unix socket <runtime>/boxd.sock; -1 and the reason. */
int dirs_listen(struct dirs *, const char *group, struct err *);

/* Remove the socket and the empty directory. */
void dirs_tidy(const struct dirs *);
