/* The configuration: one table (config.def), one file of "name = value" lines. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "agent/profile.h"
#include "agent/template.h"
#include "base/bounds.h"
#include "base/err.h"
#include "base/log.h"
#include "auth/listen.h"
#include "host/walls.h"
#include "wire/msg.h"

typedef uint64_t       conf_NUM;
typedef double         conf_REAL;
typedef char           conf_TEXT[LIM_PATH + 1];
typedef char           conf_PATH[LIM_PATH + 1];
typedef char           conf_PATHS[LIM_PATH + 1]; /* as in the file; config_next_path takes it apart */
typedef char           conf_SERVERS[LIM_PATH + 1];
typedef char           conf_CHOICE[17]; /* one of the words that config.c has for it */
typedef char           conf_INSTANCE[129];
typedef char           conf_ORIGINS[LIM_PATH + 1]; /* as in the file, as the next; config_next_name takes them apart */
typedef char           conf_HOSTS[LIM_PATH + 1];
typedef struct address conf_ADDRESS;
typedef bool           conf_BOOL;
typedef enum log_level conf_LEVEL;

typedef struct {
	enum tier tier;               /* the weakest to start with */
	bool      walls[WALL__COUNT]; /* and those that must be there */
} conf_REQUIRE;

typedef enum backend conf_BACKEND;
typedef enum profile conf_PROFILE;
typedef char         conf_TEMPLATE[LIM_NAME + 1];

struct config {
#define CONF(K, name, least, most, dflt, help) conf_##K name;
#define CONF_IN(K, group, name, least, most, dflt, help) conf_##K group##_##name;
#include "config/config.def"
#undef CONF
#undef CONF_IN
};

void config_defaults(struct config *);

/* -1: the text is "file:line: what is wrong". */
int config_read(struct config *, const char *path, struct err *);
int config_parse(struct config *, FILE *, const char *name, struct err *);

/* May clients of LangBot's door come in without a token? */
bool config_trusts_everybody(const struct config *);

/* Checks that concern more than one option. */
int config_check(const struct config *, struct err *);

/* One option, as on a line of the file. */
int config_set(struct config *, const char *name, const char *value, struct err *);

/* The next path of a PATHS option, normal; false at the end.  *list moves on. */
bool config_next_path(const char **list, char path[LIM_PATH + 1]);

/* The next of an ORIGINS or HOSTS option; false at the end.  *list moves on. */
bool config_next_name(const char **list, char name[LIM_PATH + 1]);

/* All defaults with their comments: etc/boxd.conf. */
void config_print(FILE *);
