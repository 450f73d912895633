#include "base/log.h"

#include <errno.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	LINE = 2048, /* under PIPE_BUF, so a pipe takes a line whole or not at all */
	ESCAPED = 256,
	ESCAPE_RING = 4,
};

static const struct {
	const char *name;
	int         syslog;
} levels[] = {
	[LOG_ERROR] = { "error", 3 },
	[LOG_WARN] = { "warn", 4 },
	[LOG_INFO] = { "info", 6 },
	[LOG_DEBUG] = { "debug", 7 },
};

static const char    *program = "box";
static enum log_level threshold = LOG_INFO;
static unsigned long  dropped;

void
log_init(const char *who, enum log_level most)
{
	program = who;
	threshold = most;
}

enum log_level
log_threshold(void)
{
	return threshold;
}

const char *
log_level_name(enum log_level level)
{
	return level < LOG__COUNT ? levels[level].name : "?";
}

enum log_level
log_level_from_env(void)
{
	const char *name = getenv("BOX_LOG");

	for (int l = 0; name != NULL && l < LOG__COUNT; l++)
		if (strcmp(name, levels[l].name) == 0)
			return l;
	return LOG_INFO;
}

/* Under systemd the journal stamps the time and wants the level as <n>. */
static size_t
line_head(char *line, size_t size, enum log_level level)
{
	struct timespec now;
	struct tm       utc;
	char            stamp[32];

	if (getenv("JOURNAL_STREAM") != NULL)
		return (size_t)snprintf(line, size, "<%d>%s: ", levels[level].syslog, program);
	clock_gettime(CLOCK_REALTIME, &now);
	gmtime_r(&now.tv_sec, &utc);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &utc);
	return (size_t)snprintf(
	    line, size, "%s.%03ldZ %s %s: ", stamp, now.tv_nsec / 1000000, program, levels[level].name);
}

static void
line_write(const char *line, size_t n)
{
	struct pollfd p = { .fd = STDERR_FILENO, .events = POLLOUT };

	/* POLLERR: nobody reads the pipe any more, and a write would be SIGPIPE */
	if (poll(&p, 1, 0) == 1 && (p.revents & (POLLOUT | POLLERR)) == POLLOUT &&
	    write(STDERR_FILENO, line, n) == (ssize_t)n)
		dropped = 0;
	else
		dropped++;
}

void
log_at(enum log_level level, const char *fmt, ...)
{
	int     saved = errno;
	char    line[LINE];
	va_list ap;

	if (level > threshold)
		return;
	size_t n = line_head(line, sizeof(line), level);
	if (dropped > 0)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "log_lines_dropped=%lu ", dropped);
	va_start(ap, fmt);
	int more = vsnprintf(line + n, sizeof(line) - n, fmt, ap);
	va_end(ap);
	if (more > 0)
		n += (size_t)more;
	if (n > sizeof(line) - 2) {
		n = sizeof(line) - 2;
		memcpy(line + n - 3, "...", 3);
	}
	line[n++] = '\n';
	line_write(line, n);
	errno = saved;
}

const char *
log_escape(const char *p, size_t n)
{
	static char     ring[ESCAPE_RING][ESCAPED];
	static unsigned turn;
	char           *out = ring[turn++ % ESCAPE_RING];
	size_t          w = 0;

	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];

		if (w + 8 > ESCAPED) {
			memcpy(out + w, "...", 3);
			w += 3;
			break;
		}
		if (c >= 0x20 && c < 0x7f && c != '\\' && c != '"')
			out[w++] = (char)c;
		else
			w += (size_t)snprintf(out + w, ESCAPED - w, "\\x%02x", c);
	}
	out[w] = '\0';
	return out;
}
