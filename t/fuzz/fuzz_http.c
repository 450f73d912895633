/*
 * The request parser on any bytes, in any pieces: pieces and whole agree, what is taken is within its limits, and
 * everything that looks at a request looks at no byte behind it.  The first byte chooses the pieces.
 */
#include "fuzz.h"
#include "workers/gateway/http/http_route.h"

/* In copies that end where the bytes end, so that a look behind them is seen. */
static void
feed(struct http_request *r, const uint8_t *p, size_t n, size_t step)
{
	http_request_init(r);
	for (size_t at = 0; at < n && !r->done && r->status == 0;) {
		size_t len = n - at < step ? n - at : step;
		char  *copy = malloc(len);

		memcpy(copy, p + at, len);
		size_t used = http_request_feed(r, copy, len);
		free(copy);
		must(used <= len && (used == len || r->done || r->status != 0));
		at += used;
	}
	must(r->fed <= LIM_HTTP_HEADER);
	must(!(r->done && r->status != 0));
}

static void
look_at(const struct http_request *r)
{
	const char       *name = "box.example";
	struct strs       names = { 1, &name };
	struct http_route route;
	const char       *why;

	unsigned status = http_route_find(&route, r->target.data, &why);
	must(status == 0 ? route.kind != ROUTE_NONE : status == 400 || status == 404);
	if (status == 0 && route.kind == ROUTE_RELAY)
		must(*route.session != '\0' && *route.process != '\0');
	http_host_is_ours(http_request_header(r, HEADER_HOST), &names);
	http_origin_is_listed(http_request_header(r, HEADER_ORIGIN), &names);
	http_generation(http_request_header(r, HEADER_GENERATION));
	http_request_lists(r, HEADER_CONNECTION, "upgrade");
	http_request_lists(r, HEADER_PROTOCOL, "mcp");
}

static void
same(const struct http_request *a, const struct http_request *b)
{
	must(a->done == b->done && (a->status == 0) == (b->status == 0));
	if (!a->done)
		return;
	must(strcmp(a->target.data, b->target.data) == 0);
	for (int i = 0; i < HEADER__COUNT; i++)
		must(a->headers[i].given == b->headers[i].given &&
		     strcmp(http_request_header(a, i), http_request_header(b, i)) == 0);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	struct http_request whole, pieces;

	if (n < 2)
		return 0;
	feed(&whole, p + 1, n - 1, SIZE_MAX);
	feed(&pieces, p + 1, n - 1, 1 + p[0] % 32);
	same(&whole, &pieces);
	if (whole.done)
		look_at(&whole);
	http_request_clear(&whole);
	http_request_clear(&pieces);
	return 0;
}
