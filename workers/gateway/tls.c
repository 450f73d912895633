/*
 * No session is kept and no ticket given: a client of ours connects once and stays.  Renegotiation is off, so that
 * writing never waits for reading.  The certificate arrives as bytes, because there is no file to open any more
 * when it could be needed again; randomness comes from getrandom(2), which needs none.
 */
#include "tls.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <stdlib.h>

struct tls_keys {
	SSL_CTX *ctx; /* owned */
};

struct tls {
	SSL *ssl;      /* owned; and owns the two */
	BIO *in, *out; /* of the client, for the client */
};

/* The first thing OpenSSL complains about, and no other is left behind. */
static int
tls_fail(struct err *e, const char *what)
{
	const char *reason = ERR_reason_error_string(ERR_peek_error());

	err_set(e, E_INVALID, "%s: %s", what, reason != NULL ? reason : "no reason given");
	ERR_clear_error();
	return -1;
}

int
tls_init(struct err *e)
{
	unsigned char some[16];

	/* no openssl.cnf: what boxd speaks is decided here alone */
	if (OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG | OPENSSL_INIT_LOAD_SSL_STRINGS, NULL) != 1)
		return tls_fail(e, "OpenSSL does not start");
	/* seeds the generators of this thread, from the kernel */
	if (RAND_bytes(some, sizeof(some)) != 1 || RAND_priv_bytes(some, sizeof(some)) != 1)
		return tls_fail(e, "OpenSSL has no randomness");
	return 0;
}

/* ---- certificate and key ------------------------------------------------------ */

/* A key behind a passphrase must not make us ask the terminal for it. */
static int
no_passphrase(char *out, int size, int writing, void *arg)
{
	(void)out, (void)size, (void)writing, (void)arg;
	return -1;
}

static BIO *
reader(const struct buf *pem)
{
	return BIO_new_mem_buf(pem->len > 0 ? pem->data : "", (int)pem->len);
}

/* The rest of the file, up to its end. */
static int
use_chain(SSL_CTX *ctx, BIO *bio, struct err *e)
{
	X509 *link;

	while ((link = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL)) != NULL) {
		if (SSL_CTX_add0_chain_cert(ctx, link) != 1) {
			X509_free(link);
			return tls_fail(e, "the certificate's chain");
		}
	}
	if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE)
		return tls_fail(e, "the certificate's chain");
	ERR_clear_error();
	return 0;
}

static int
use_certificate(SSL_CTX *ctx, const struct buf *pem, struct err *e)
{
	BIO  *bio = reader(pem);
	X509 *own = bio == NULL ? NULL : PEM_read_bio_X509_AUX(bio, NULL, no_passphrase, NULL);
	int   r = -1;

	if (own == NULL || SSL_CTX_use_certificate(ctx, own) != 1)
		tls_fail(e, "the certificate");
	else
		r = use_chain(ctx, bio, e);
	X509_free(own);
	BIO_free(bio);
	return r;
}

static int
use_key(SSL_CTX *ctx, const struct buf *pem, struct err *e)
{
	BIO      *bio = reader(pem);
	EVP_PKEY *key = bio == NULL ? NULL : PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL);
	int       r = 0;

	if (key == NULL || SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
		r = tls_fail(e, "the certificate's key");
	EVP_PKEY_free(key);
	BIO_free(bio);
	return r;
}

static void
choose(SSL_CTX *ctx)
{
	SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION);
	SSL_CTX_set_options(
	    ctx, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_num_tickets(ctx, 0);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS); /* an idle client keeps nothing */
}

struct tls_keys *
tls_keys_open(const struct buf *certificate, const struct buf *key, struct err *e)
{
	struct tls_keys *k = calloc(1, sizeof(*k));

	if (k == NULL || (k->ctx = SSL_CTX_new(TLS_server_method())) == NULL) {
		err_set(e, E_SYS, "no memory for TLS");
		tls_keys_close(&k);
		return NULL;
	}
	choose(k->ctx);
	if (use_certificate(k->ctx, certificate, e) == -1 || use_key(k->ctx, key, e) == -1)
		tls_keys_close(&k);
	return k;
}

void
tls_keys_close(struct tls_keys **kp)
{
	struct tls_keys *k = *kp;

	if (k == NULL)
		return;
	*kp = NULL;
	SSL_CTX_free(k->ctx);
	free(k);
}

/* ---- one client ----------------------------------------------------------------- */

struct tls *
tls_open(struct tls_keys *k, struct err *e)
{
	struct tls *t = calloc(1, sizeof(*t));

	if (t == NULL || (t->ssl = SSL_new(k->ctx)) == NULL)
		goto no_memory;
	t->in = BIO_new(BIO_s_mem());
	t->out = BIO_new(BIO_s_mem());
	if (t->in == NULL || t->out == NULL) {
		BIO_free(t->in);
		BIO_free(t->out);
		goto no_memory;
	}
	SSL_set_bio(t->ssl, t->in, t->out);
	SSL_set_accept_state(t->ssl);
	return t;
no_memory:
	err_set(e, E_SYS, "no memory for TLS");
	tls_close(&t);
	return NULL;
}

void
tls_close(struct tls **tp)
{
	struct tls *t = *tp;

	if (t == NULL)
		return;
	*tp = NULL;
	SSL_free(t->ssl);
	free(t);
}

bool
tls_is_up(const struct tls *t)
{
	return SSL_is_init_finished(t->ssl) == 1;
}

/* What OpenSSL has to say to the client. */
static int
collect(struct tls *t, struct buf *sealed, struct err *e)
{
	int n = (int)BIO_pending(t->out);

	if (n <= 0)
		return 0;
	if (buf_reserve(sealed, (size_t)n) == -1)
		return err_set(e, E_SYS, "no memory");
	n = BIO_read(t->out, sealed->data + sealed->len, n);
	sealed->len += n > 0 ? (size_t)n : 0;
	return 0;
}

/* Why nothing more could be read: no reason at all, or one to end. */
static int
stopped(struct tls *t, int r, struct err *e)
{
	switch (SSL_get_error(t->ssl, r)) {
	case SSL_ERROR_WANT_READ:
		return 0;
	case SSL_ERROR_ZERO_RETURN:
		return err_set(e, E_NONE, "client left");
	default:
		return tls_fail(e, "TLS");
	}
}

static int
receive(struct tls *t, struct buf *plain, struct err *e)
{
	static char scratch[16 * 1024]; /* the largest record */
	int         n;

	ERR_clear_error();
	while ((n = SSL_read(t->ssl, scratch, sizeof(scratch))) > 0)
		buf_append(plain, scratch, (size_t)n);
	if (plain->failed)
		return err_set(e, E_SYS, "no memory");
	return stopped(t, n, e);
}

int
tls_receive(struct tls *t, const void *bytes, size_t n, struct buf *plain, struct buf *sealed, struct err *e)
{
	struct err later;

	if (BIO_write(t->in, bytes, (int)n) != (int)n)
		return err_set(e, E_SYS, "no memory");
	int r = receive(t, plain, e);
	/* an alert too: the client should learn what was wrong */
	if (collect(t, sealed, r == 0 ? e : &later) == -1)
		r = -1;
	return r;
}

int
tls_say(struct tls *t, const void *bytes, size_t n, struct buf *sealed, struct err *e)
{
	ERR_clear_error();
	if (SSL_write(t->ssl, bytes, (int)n) != (int)n)
		return tls_fail(e, "TLS");
	return collect(t, sealed, e);
}

void
tls_bye(struct tls *t, struct buf *sealed)
{
	struct err ignored;

	ERR_clear_error();
	if (tls_is_up(t))
		(void)SSL_shutdown(t->ssl);
	(void)collect(t, sealed, &ignored);
	ERR_clear_error();
}
