#include "wire/http1.h"

#ifdef HTTP1_LLHTTP
#define LENGTH_IS_GIVEN F_CONTENT_LENGTH
#define IS_ENCODED(p) (((p)->flags & (F_TRANSFER_ENCODING | F_CHUNKED)) != 0)
typedef llhttp_settings_t settings_of_library;
#else
#define LENGTH_IS_GIVEN F_CONTENTLENGTH
#define IS_ENCODED(p) ((p)->uses_transfer_encoding || ((p)->flags & F_CHUNKED))
typedef http_parser_settings settings_of_library;
#endif

static int
take(http1_library *p, enum http1_part part, const char *at, size_t n)
{
	struct http1 *h = p->data;

	if (h->state == HTTP1_READING && h->take(h->arg, part, at, n) != 0)
		h->state = HTTP1_STOPPED;
	return h->state == HTTP1_READING ? 0 : -1;
}

static int
on_target(http1_library *p, const char *at, size_t n)
{
	return take(p, HTTP1_TARGET, at, n);
}

static int
on_name(http1_library *p, const char *at, size_t n)
{
	return take(p, HTTP1_NAME, at, n);
}

static int
on_value(http1_library *p, const char *at, size_t n)
{
	return take(p, HTTP1_VALUE, at, n);
}

/* 2 tells both libraries that what follows is not their business, whatever the headers say. */
static int
on_headers(http1_library *p)
{
	struct http1 *h = p->data;

	h->is_get = p->method == HTTP_GET;
	h->is_head = p->method == HTTP_HEAD;
	h->is_11 = p->http_major == 1 && p->http_minor == 1;
	h->has_body = IS_ENCODED(p) || ((p->flags & LENGTH_IS_GIVEN) && p->content_length != 0);
	if (p->http_major != 1 || p->http_minor > 1)
		h->state = HTTP1_VERSION;
	return 2;
}

static int
on_complete(http1_library *p)
{
	struct http1 *h = p->data;

	if (h->state == HTTP1_READING)
		h->state = HTTP1_DONE;
	return 0;
}

static const settings_of_library settings = {
	.on_url = on_target,
	.on_header_field = on_name,
	.on_header_value = on_value,
	.on_headers_complete = on_headers,
	.on_message_complete = on_complete,
};

#ifdef HTTP1_LLHTTP

void
http1_init(struct http1 *h, http1_take *fn, void *arg)
{
	*h = (struct http1){ .take = fn, .arg = arg };
	llhttp_init(&h->library, HTTP_REQUEST, &settings);
	h->library.data = h;
}

size_t
http1_feed(struct http1 *h, const char *bytes, size_t n)
{
	llhttp_errno_t why = llhttp_execute(&h->library, bytes, n);

	if (h->state == HTTP1_READING && why != HPE_OK) {
		h->state = why == HPE_INVALID_VERSION ? HTTP1_VERSION : HTTP1_BROKEN;
		h->why = llhttp_get_error_reason(&h->library);
	}
	return why == HPE_OK ? n : (size_t)(llhttp_get_error_pos(&h->library) - bytes);
}

#else

void
http1_init(struct http1 *h, http1_take *fn, void *arg)
{
	*h = (struct http1){ .take = fn, .arg = arg };
	http_parser_init(&h->library, HTTP_REQUEST);
	h->library.data = h;
}

size_t
http1_feed(struct http1 *h, const char *bytes, size_t n)
{
	size_t          used = http_parser_execute(&h->library, &settings, bytes, n);
	enum http_errno why = HTTP_PARSER_ERRNO(&h->library);

	if (h->state == HTTP1_READING && why != HPE_OK) {
		h->state = why == HPE_INVALID_VERSION ? HTTP1_VERSION : HTTP1_BROKEN;
		h->why = http_errno_description(why);
	}
	return used;
}

#endif
