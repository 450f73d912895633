#include "taken.h"

void
taken_add(struct taken *t, size_t bytes, uint64_t to)
{
	if (t->n < TAKEN_MARKS)
		t->n++;
	size_t last = (t->first + t->n - 1) % TAKEN_MARKS;
	t->handed += bytes;
	t->marks[last].handed = t->handed;
	t->marks[last].to = to;
}

void
taken_update(struct taken *t, size_t queued)
{
	while (t->n > 0 && t->handed - t->marks[t->first].handed >= queued) {
		t->to = t->marks[t->first].to;
		t->first = (t->first + 1) % TAKEN_MARKS;
		t->n--;
	}
}
