/*
 * The records around a ClientHello are read here, and strictly: nothing but records of a handshake, none of them empty,
 * the ClientHello first and alone in them.  Alerts, a ChangeCipherSpec or a hello of SSL 2 are skipped or taken by some
 * servers and not by others, so with one of them nobody knows which hello the server will believe.
 *
 * OpenSSL reads the ClientHello itself, as the server at the other end would: it calls back when it has read the
 * message, before it decides anything.  There the handshake is left, and nothing of it stays.  Each look starts from the
 * first byte, because a flow that waits for the rest of its hello must not cost memory.
 *
 * The callback gets the extension's bytes as they came.  OpenSSL has refused a hello that has it twice.
 */
#include "flow/hello.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct hello {
	SSL_CTX *ctx; /* owned */
};

/* Of one look. */
struct look {
	enum said said;
	char     *name;
};

bool
hello_name(const char *text, size_t n, char name[LIM_DNS_NAME + 1])
{
	if (n > 0 && text[n - 1] == '.')
		n--;
	if (n == 0 || n > LIM_DNS_NAME)
		return false;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)text[i];

		if (!isascii(c) || (!isalnum(c) && c != '-' && c != '_' && c != '.'))
			return false;
		name[i] = (char)tolower(c);
	}
	name[n] = '\0';
	return true;
}

/* A list of names with their kinds, of which there is one, and one kind. */
static enum said
read_server_name(const unsigned char *p, size_t n, char *name)
{
	enum { LIST = 2, HEAD = 5 }; /* length of the list; kind and length of the name behind it */

	if (n < HEAD || (size_t)(p[0] << 8 | p[1]) != n - LIST)
		return SAID_UNCLEAR;
	if (p[2] != TLSEXT_NAMETYPE_host_name || (size_t)(p[3] << 8 | p[4]) != n - HEAD)
		return SAID_UNCLEAR;
	return hello_name((const char *)p + HEAD, n - HEAD, name) ? SAID_NAME : SAID_UNCLEAR;
}

static int
on_client_hello(SSL *ssl, int *alert, void *arg)
{
	struct look         *l = SSL_get_app_data(ssl);
	const unsigned char *p;
	size_t               n;

	l->said = SAID_NO_NAME;
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n) == 1)
		l->said = read_server_name(p, n, l->name);
	return SSL_CLIENT_HELLO_RETRY; /* which leaves us here */
}

static int
fail(struct err *e, const char *what)
{
	ERR_clear_error();
	return err_set(e, E_SYS, "OpenSSL: %s", what);
}

struct hello *
hello_open(struct err *e)
{
	struct hello *h = calloc(1, sizeof(*h));
	unsigned char some[16];

	if (h == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	/* no openssl.cnf: files cannot be opened later; randomness is taken once now, for what must be looked up */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) == 1 && RAND_bytes(some, sizeof(some)) == 1)
		h->ctx = SSL_CTX_new(TLS_server_method());
	if (h->ctx == NULL) {
		fail(e, "no context");
		hello_close(&h);
		return NULL;
	}
	SSL_CTX_set_client_hello_cb(h->ctx, on_client_hello, NULL);
	return h;
}

void
hello_close(struct hello **hp)
{
	struct hello *h = *hp;

	if (h == NULL)
		return;
	*hp = NULL;
	SSL_CTX_free(h->ctx);
	free(h);
}

/* NULL without memory.  Owns the two BIOs. */
static SSL *
handshake(struct hello *h, const char *bytes, size_t n, struct look *l)
{
	SSL *ssl = SSL_new(h->ctx);
	BIO *in = BIO_new_mem_buf(bytes, (int)n), *out = BIO_new(BIO_s_mem());

	if (ssl == NULL || in == NULL || out == NULL) {
		BIO_free(in);
		BIO_free(out);
		SSL_free(ssl);
		return NULL;
	}
	BIO_set_mem_eof_return(in, -1); /* more may come */
	SSL_set_bio(ssl, in, out);
	SSL_set_app_data(ssl, l);
	return ssl;
}

static enum said
read_client_hello(struct hello *h, const char *bytes, size_t n, char *name)
{
	struct look l = { .said = SAID_UNCLEAR, .name = name };
	SSL        *ssl = handshake(h, bytes, n, &l);

	if (ssl == NULL)
		return SAID_UNCLEAR;
	(void)SSL_accept(ssl);
	SSL_free(ssl);
	ERR_clear_error();
	return l.said;
}

enum { RECORD_HEAD = 5, MESSAGE_HEAD = 4 };

/* The payload of the record at p; 0: not a record of a handshake, or an empty one. */
static size_t
record_length(const unsigned char *p)
{
	size_t n = (size_t)(p[3] << 8 | p[4]);

	return p[0] == SSL3_RT_HANDSHAKE && p[1] == SSL3_VERSION_MAJOR && n <= SSL3_RT_MAX_PLAIN_LENGTH ? n : 0;
}

/* Copies the start of the first message out of its records, as far as it is here. */
static void
gather(unsigned char head[MESSAGE_HEAD], size_t have, const unsigned char *from, size_t n)
{
	for (size_t i = 0; i < n && have + i < MESSAGE_HEAD; i++)
		head[have + i] = from[i];
}

/* SAID_NAME: a whole ClientHello is here, in *length bytes. */
static enum said
measure(const unsigned char *p, size_t n, size_t *length)
{
	unsigned char head[MESSAGE_HEAD] = { 0 };
	size_t        have = 0, whole = SIZE_MAX, at = 0;

	while (have < whole) {
		if (n - at < RECORD_HEAD)
			return SAID_MORE;
		size_t payload = record_length(p + at), here = n - at - RECORD_HEAD;
		if (payload == 0)
			return SAID_UNCLEAR;
		here = here < payload ? here : payload;
		gather(head, have, p + at + RECORD_HEAD, here);
		have += here;
		if (have > 0 && head[0] != SSL3_MT_CLIENT_HELLO)
			return SAID_UNCLEAR;
		if (have >= MESSAGE_HEAD)
			whole = MESSAGE_HEAD + ((size_t)head[1] << 16 | (size_t)head[2] << 8 | head[3]);
		if (whole != SIZE_MAX && whole > HELLO_MOST)
			return SAID_LONG;
		if (have > whole)
			return SAID_UNCLEAR; /* another message follows in the same record */
		if (here < payload)
			return have < whole ? SAID_MORE : SAID_UNCLEAR;
		at += RECORD_HEAD + payload;
	}
	*length = at;
	return SAID_NAME;
}

static enum said
look_tls(struct hello *h, const char *bytes, size_t n, char *name)
{
	size_t    length;
	enum said said = measure((const unsigned char *)bytes, n, &length);

	return said == SAID_NAME ? read_client_hello(h, bytes, length, name) : said;
}

enum said
hello_look(struct hello *h, const char *bytes, size_t n, bool over, struct head *head, char name[LIM_DNS_NAME + 1])
{
	enum said said = SAID_MORE;

	*head = (struct head){ 0 };
	if (n == 0)
		return over ? SAID_NOTHING : SAID_MORE;
	if (bytes[0] == SSL3_RT_HANDSHAKE)
		said = look_tls(h, bytes, n, name);
	else
		said = hello_http(bytes, n, head, name);
	return said == SAID_MORE && over ? SAID_UNCLEAR : said;
}
