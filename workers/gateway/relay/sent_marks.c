#include "relay/sent_marks.h"

/* A server's: not masked. */
static size_t
frame_bytes(size_t text)
{
	return text + (text < 126 ? 2 : text < 65536 ? 4 : 10);
}

void
sent_marks_add(struct sent_marks *t, size_t text_bytes, uint64_t to)
{
	size_t last = (t->first + t->n + TAKEN_MARKS - 1) % TAKEN_MARKS;

	if (t->n < TAKEN_MARKS / 2 || (t->n < TAKEN_MARKS && t->handed - t->marks[last].begun >= TAKEN_GRAIN)) {
		last = (last + 1) % TAKEN_MARKS;
		t->n++;
		t->marks[last].begun = t->handed;
	}
	t->handed += frame_bytes(text_bytes);
	t->marks[last].handed = t->handed;
	t->marks[last].to = to;
}

void
sent_marks_update(struct sent_marks *t, size_t queued)
{
	while (t->n > 0 && t->handed - t->marks[t->first].handed >= queued) {
		t->to = t->marks[t->first].to;
		t->first = (t->first + 1) % TAKEN_MARKS;
		t->n--;
	}
}
