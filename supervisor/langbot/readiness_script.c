/* The command of a trial, which is readiness.sh, and what its output means. */
#include "langbot/readiness_script.h"

#include <stdio.h>
#include <string.h>

/* The makefile knows that this object depends on the file. */
__asm__(".pushsection .rodata\n"
	".global trial_script\n"
	"trial_script: .incbin \"supervisor/langbot/readiness.sh\"\n"
	".byte 0\n"
	".popsection\n");

static void
add_why(struct findings *f, const char *line)
{
	size_t used = strlen(f->why);

	snprintf(f->why + used, sizeof(f->why) - used, "%s%.300s", used > 0 ? "; " : "", line);
}

/* "<what> refused", or how it went instead. */
static bool
is_refused(struct findings *f, const char *line)
{
	size_t n = strlen(line);

	if (n > 8 && strcmp(line + n - 8, " refused") == 0 && strstr(line, "not refused") == NULL)
		return true;
	add_why(f, line);
	return false;
}

struct places {
	bool tmp, home, shm, open;
};

static void
read_place(struct findings *f, struct places *p, const char *line)
{
	if (!is_refused(f, line))
		p->open = true;
	else if (strncmp(line, "at /tmp ", 8) == 0)
		p->tmp = true;
	else if (strncmp(line, "at /home ", 9) == 0)
		p->home = true;
	else if (strncmp(line, "at /dev/shm ", 12) == 0)
		p->shm = true;
}

static void
read_line(struct findings *f, struct places *p, const char *line, const char *own_network)
{
	if (strcmp(line, "end") == 0)
		f->ran = true;
	else if (strncmp(line, "net net:[", 9) == 0)
		f->network = strcmp(line + 4, own_network) != 0;
	else if (strncmp(line, "at ", 3) == 0)
		read_place(f, p, line);
	else if (strncmp(line, "bytes ", 6) == 0)
		f->bytes = is_refused(f, line);
	else if (strncmp(line, "files ", 6) == 0)
		f->inodes = is_refused(f, line);
}

void
trial_read(struct findings *f, const char *output, size_t n, const char *own_network)
{
	struct places p = { 0 };
	char          line[512];

	for (const char *at = output, *end = output + n; at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		size_t      len = (size_t)((newline == NULL ? end : newline) - at);

		snprintf(line, sizeof(line), "%.*s", (int)(len < sizeof(line) ? len : sizeof(line) - 1), at);
		read_line(f, &p, line, own_network);
		at += len + 1;
	}
	f->ephemeral = f->ran && p.tmp && p.home && p.shm && !p.open;
	if (!f->ran)
		add_why(f, "the command of the trial did not come to its end");
	else if (!f->ephemeral && !p.open)
		add_why(f, "/tmp, /home or /dev/shm could not be tried");
}
