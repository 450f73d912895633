#include "wire/detail.h"

#include <string.h>

struct msg_detail
detail_of(const struct err *e)
{
	return (struct msg_detail){
		.reason = err_reason_name(e->reason),
		.field = err_field_name(e->field),
		.number = e->number,
		.session_at = e->part[PART_SESSION].at,
		.session_len = e->part[PART_SESSION].len,
		.when_at = e->part[PART_WHEN].at,
		.when_len = e->part[PART_WHEN].len,
	};
}

bool
detail_is_empty(const struct msg_detail *d)
{
	return *d->reason == '\0' && *d->field == '\0' && d->number == 0 && d->session_len == 0 && d->when_len == 0;
}

static struct err_span
span_of(const char *text, uint64_t at, uint64_t len)
{
	size_t n = strlen(text);

	return at > n || len > n - at ? (struct err_span){ 0 } : (struct err_span){ (uint16_t)at, (uint16_t)len };
}

void
detail_take(struct err *e, const struct msg_detail *d)
{
	err_because(e, err_reason_of(d->reason), err_field_of(d->field), d->number);
	e->part[PART_SESSION] = span_of(e->text, d->session_at, d->session_len);
	e->part[PART_WHEN] = span_of(e->text, d->when_at, d->when_len);
}
