/*
 * One line per event, ids first: "session=41 worker=812 gone signal=9".
 * error wants a person now, warn a look tomorrow, info is what happens,
 * debug the details.  Logging never blocks: a line that stderr will not take
 * at once is dropped, and the next line that gets through says how many were.
 */
#pragma once

#include <stddef.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG, LOG__COUNT };

/* Who speaks, and from which level on.  The name is kept by reference. */
void           log_init(const char *program, enum log_level most);
enum log_level log_threshold(void);

void log_at(enum log_level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_at(LOG_ERROR, __VA_ARGS__)
#define log_warn(...) log_at(LOG_WARN, __VA_ARGS__)
#define log_info(...) log_at(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_at(LOG_DEBUG, __VA_ARGS__)

const char *log_level_name(enum log_level);

/* Of a worker: what boxd wrote into BOX_LOG. */
enum log_level log_level_from_env(void);

/*
 * Bytes from a peer, made printable and cut at a few hundred characters
 * (visibly).  The result lives until the fourth next call.
 */
const char *log_escape(const char *, size_t n);
