/*
 * OpenSSL reads the ClientHello, as the server at the other end would: it is given the bytes that there are, and calls
 * back when the message is whole, before it decides anything.  There the handshake is left, and nothing of it stays.
 * Each look begins anew, because a flow that waits for the rest of its hello must not cost memory.
 *
 * The callback gets the extension's bytes as they came.  OpenSSL has refused a hello that has it twice.
 */
#include "hello.h"

#include <ctype.h>
#include <openssl/err.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

struct hello {
	SSL_CTX *ctx; /* owned */
};

/* Of one look. */
struct look {
	bool      called;
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

	(void)alert;
	(void)arg;
	l->called = true;
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
look_tls(struct hello *h, const char *bytes, size_t n, char *name)
{
	struct look l = { .name = name };
	SSL        *ssl = handshake(h, bytes, n, &l);

	if (ssl == NULL)
		return SAID_UNCLEAR;
	int r = SSL_accept(ssl);
	if (!l.called)
		l.said = SSL_get_error(ssl, r) == SSL_ERROR_WANT_READ ? SAID_MORE : SAID_UNCLEAR;
	SSL_free(ssl);
	ERR_clear_error();
	return l.said;
}

/* A record of a handshake, or a hello in the frame of SSL 2, which servers still take. */
static bool
is_tls(const unsigned char *p, size_t n)
{
	return p[0] == SSL3_RT_HANDSHAKE || (n >= 3 && (p[0] & 0x80) && p[2] == SSL3_MT_CLIENT_HELLO);
}

enum said
hello_look(struct hello *h, const char *bytes, size_t n, bool over, char name[LIM_DNS_NAME + 1])
{
	enum said said = SAID_MORE;

	if (n > 0 && is_tls((const unsigned char *)bytes, n))
		said = look_tls(h, bytes, n, name);
	else if (n >= 3 || (n > 0 && !((unsigned char)bytes[0] & 0x80)))
		said = hello_http(bytes, n, over, name);
	else if (n > 0 && over)
		said = SAID_NOTHING;
	if (said == SAID_MORE && over)
		said = n == 0 ? SAID_NOTHING : SAID_UNCLEAR;
	return said;
}
