/* A journal comes back as it was written: also after a torn end, never after damage, and short again when it was long. */
#include <sodium.h>

#include "base/log.h"
#include "supervisor/core/journal.h"
#include "tap.h"

static char dir[] = "/tmp/boxd-journal.XXXXXX", path[128];

struct seen {
	size_t   n;
	uint64_t last, sum;
	uint64_t refuse; /* this one */
};

static int
on_record(void *arg, const struct msg *m, struct err *e)
{
	struct seen            *s = arg;
	const struct msg_fence *f = m->body;

	if (m->type != MSG_FENCE || f->generation == s->refuse)
		return err_set(e, E_PROTO, "not this one");
	s->n++;
	s->last = f->generation;
	s->sum += f->generation;
	return 0;
}

static struct journal *
open_it(struct seen *s, struct err *e)
{
	uint64_t refuse = s->refuse;

	*s = (struct seen){ .refuse = refuse };
	return journal_open(dir, "test", on_record, s, e);
}

static void
append(struct journal *j, uint64_t from, uint64_t to)
{
	struct err e;

	for (uint64_t i = from; i <= to; i++)
		if (journal_append(j, MSG_FENCE, &(struct msg_fence){ .ns = "ws-1", .generation = i }, &e) == -1)
			BAIL_OUT("%s", e.text);
}

static off_t
size(void)
{
	struct stat st;

	return stat(path, &st) == -1 ? -1 : st.st_size;
}

static void
starts_anew(void)
{
	unlink(path);
}

TEST(comes_back)
{
	struct seen     s = { 0 };
	struct err      e = { 0 };
	struct journal *j = open_it(&s, &e);
	struct stat     st;

	ok(j != NULL && s.n == 0, "a journal that is not there is empty");
	ok(stat(path, &st) == 0 && (st.st_mode & 07777) == 0600, "its file is ours alone");
	append(j, 1, 100);
	journal_close(&j);
	ok(j == NULL, "closed");
	j = open_it(&s, &e);
	ok(j != NULL && s.n == 100 && s.last == 100 && s.sum == 5050, "all comes back, in order");
	append(j, 101, 101);
	journal_close(&j);
	j = open_it(&s, &e);
	ok(s.n == 101 && s.last == 101, "and what was appended later");
	journal_close(&j);
}

/* At every byte of its last record. */
TEST(drops_a_torn_end)
{
	struct seen     s = { 0 };
	struct err      e = { 0 };
	struct journal *j;
	size_t          good = 0, bytes = 0;

	starts_anew();
	j = open_it(&s, &e);
	append(j, 1, 2);
	off_t two = size();
	append(j, 3, 3);
	off_t three = size();
	journal_close(&j);
	for (off_t cut = two + 1; cut < three; cut++, bytes++) {
		must(truncate(path, cut) != -1, "truncate");
		j = open_it(&s, &e);
		good += j != NULL && s.n == 2 && size() == two;
		append(j, 3, 3); /* the same bytes again */
		journal_close(&j);
	}
	cmp_ok(good, "==", bytes, "cut anywhere in the last record: the others come back, it is gone");
	j = open_it(&s, &e);
	ok(j != NULL && s.n == 3, "and can be written again");
	journal_close(&j);
	must(truncate(path, three + 500) != -1, "truncate");
	j = open_it(&s, &e);
	ok(j != NULL && s.n == 3 && size() == three, "zeros at the end are a torn end, too");
	journal_close(&j);
}

static int
flip(off_t at)
{
	int  fd = open(path, O_RDWR | O_CLOEXEC);
	char c = 0;
	int  r = fd == -1 || pread(fd, &c, 1, at) != 1;

	c ^= 0x20;
	r = r || pwrite(fd, &c, 1, at) != 1;
	close(fd);
	return r ? -1 : 0;
}

TEST(refuses_damage)
{
	struct seen     s = { 0 };
	struct err      e = { 0 };
	struct journal *j;

	starts_anew();
	j = open_it(&s, &e);
	append(j, 1, 1);
	off_t one = size();
	append(j, 2, 3);
	journal_close(&j);
	ok(flip(one + 30) == 0 && (j = open_it(&s, &e)) == NULL, "a damaged record in the middle is an error");
	ok(strstr(e.text, path) != NULL && strstr(e.text, "record 2") != NULL, "that names file and record");
	flip(one + 30);
	ok(flip(one + 2) == 0 && (j = open_it(&s, &e)) == NULL, "so is a length that cannot be");
	flip(one + 2);
	s.refuse = 2;
	ok((j = open_it(&s, &e)) == NULL && strstr(e.text, "not this one") != NULL,
	    "and a record that its owner refuses");
	s.refuse = 0;
	j = open_it(&s, &e);
	ok(j != NULL && s.n == 3, "nothing of it was changed by looking");
	journal_close(&j);
	unlink(path);
	ok(mkdir(path, 0700) == 0 && (j = open_it(&s, &e)) == NULL && strstr(e.text, path) != NULL,
	    "a directory in its place is an error");
	rmdir(path);
	ok(symlink("/etc/passwd", path) == 0 && (j = open_it(&s, &e)) == NULL, "a symlink is not followed");
	unlink(path);
}

static int
write_two(void *arg, struct journal *j, struct err *e)
{
	append(j, 7, 8);
	return 0;
}

static int
write_half(void *arg, struct journal *j, struct err *e)
{
	append(j, 7, 7);
	return err_set(e, E_SYS, "no more");
}

TEST(becomes_short)
{
	struct seen     s = { 0 };
	struct err      e = { 0 };
	struct journal *j;

	starts_anew();
	j = open_it(&s, &e);
	append(j, 1, 60);
	ok(!journal_is_long(j, 2), "a few records are not long");
	append(j, 61, 200);
	ok(journal_is_long(j, 2) && !journal_is_long(j, 100), "more than twice what lives are");
	off_t before = size();
	ok(journal_compact(j, write_half, NULL, &e) == -1 && size() == before,
	    "a compaction that fails changes nothing");
	append(j, 201, 201);
	ok(journal_compact(j, write_two, NULL, &e) == 0 && size() < before, "one that does not makes it short");
	append(j, 9, 9);
	journal_close(&j);
	j = open_it(&s, &e);
	ok(s.n == 3 && s.sum == 24, "with what was written, and what was appended then");
	ok(!journal_is_long(j, 2), "it knows its length again");
	journal_close(&j);
}

int
main(void)
{
	must(sodium_init() != -1 && mkdtemp(dir) != NULL, "mkdtemp");
	log_init("t", LOG_ERROR);
	snprintf(path, sizeof(path), "%s/journal/test", dir);
	run_tests();
	unlink(path);
	snprintf(path, sizeof(path), "%s/journal", dir);
	rmdir(path);
	ok(rmdir(dir) == 0, "nothing else was made");
	done_testing();
}
