/*
 * The same behind TLS: a certificate made here, OpenSSL's own client, and clients that do not speak it.
 */
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include "tap.h"
#include "webbox.h"

static X509 *certificate;

static void
pem_of(struct buf *out, BIO *bio)
{
	char *data;
	long  n = BIO_get_mem_data(bio, &data);

	buf_append(out, data, (size_t)n);
	BIO_free(bio);
}

/* Self-signed, for localhost. */
static void
make_certificate(struct buf *cert_pem, struct buf *key_pem)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509     *x = X509_new();
	BIO      *c = BIO_new(BIO_s_mem()), *k = BIO_new(BIO_s_mem());

	ASN1_INTEGER_set(X509_get_serialNumber(x), 1);
	X509_gmtime_adj(X509_getm_notBefore(x), -3600);
	X509_gmtime_adj(X509_getm_notAfter(x), 86400);
	X509_set_pubkey(x, key);
	X509_NAME_add_entry_by_txt(
	    X509_get_subject_name(x), "CN", MBSTRING_ASC, (const unsigned char *)"localhost", -1, -1, 0);
	X509_set_issuer_name(x, X509_get_subject_name(x));
	must(X509_sign(x, key, EVP_sha256()) != 0, "no certificate");
	PEM_write_bio_X509(c, x);
	PEM_write_bio_PrivateKey(k, key, NULL, NULL, 0, NULL, NULL);
	pem_of(cert_pem, c);
	pem_of(key_pem, k);
	EVP_PKEY_free(key);
	certificate = x;
}

static SSL_CTX *
client_context(int most)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());

	SSL_CTX_set_max_proto_version(ctx, most);
	SSL_CTX_set_min_proto_version(ctx, TLS1_VERSION);
	SSL_CTX_set_security_level(ctx, 0); /* so that old versions are offered at all */
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	X509_STORE_add_cert(SSL_CTX_get_cert_store(ctx), certificate);
	return ctx;
}

/* A client that has shaken hands, or NULL. */
static SSL *
secure(struct client *c, int most)
{
	SSL_CTX *ctx = client_context(most);
	SSL     *ssl = SSL_new(ctx);

	SSL_CTX_free(ctx);
	SSL_set_fd(ssl, c->fd);
	if (SSL_connect(ssl) == 1)
		return ssl;
	ERR_clear_error();
	SSL_free(ssl);
	return NULL;
}

static void
tell(SSL *ssl, const char *words)
{
	if (SSL_write(ssl, words, (int)strlen(words)) <= 0)
		diag("SSL_write failed");
}

/* All until the end, which must be one of TLS. */
static const char *
told(SSL *ssl, bool *whole)
{
	static char all[64 * 1024];
	int         n = 0, r;

	while ((r = SSL_read(ssl, all + n, (int)sizeof(all) - n - 1)) > 0)
		n += r;
	*whole = SSL_get_error(ssl, r) == SSL_ERROR_ZERO_RETURN;
	all[n] = '\0';
	return all;
}

static void
speaks(int version, const char *name)
{
	struct client c = web_open();
	SSL          *ssl = secure(&c, version);
	bool          whole = false;

	ok(ssl != NULL, "%s: hands are shaken, and the certificate is ours", name);
	must(ssl != NULL, "no TLS");
	is(SSL_get_version(ssl), name, "and that is what is spoken");
	tell(ssl, "GET /x HTTP/1.1\r\nHost: localhost\r\n\r\n");
	like(told(ssl, &whole), "^HTTP/1.1 404 .*404: Not Found$", "an answer");
	ok(whole, "and its end is told, so that nobody can cut it short");
	SSL_free(ssl);
	client_close(&c);
}

TEST(websocket)
{
	enum { BIG = 3 * 1024 * 1024 };
	struct client   c = web_open();
	SSL            *ssl = secure(&c, TLS1_3_VERSION);
	struct msg_done done;
	struct msg      m;
	char            head[1024];
	size_t          got = 0;
	static char     big[BIG + 14], back[BIG + 10];

	tell(ssl, "GET /rpc/ws HTTP/1.1\r\n" WEB_UPGRADE "\r\n");
	sup_until(MSG_HTTP_AUTH, &m);
	sup_reply(MSG_DONE, m.id, m.conn, &done);
	msg_clear(&m);
	int n = SSL_read(ssl, head, sizeof(head) - 1);
	head[n > 0 ? n : 0] = '\0';
	like(head, "^HTTP/1.1 101 ", "a WebSocket behind TLS");
	memcpy(big, "\x81\xff\x00\x00\x00\x00\x00\x30\x00\x00\x00\x00\x00\x00", 14);
	memset(big + 14, 't', BIG);
	cmp_ok(SSL_write(ssl, big, sizeof(big)), "==", sizeof(big), "3 MiB there");
	while (got < sizeof(back) && (n = SSL_read(ssl, back + got, (int)(sizeof(back) - got))) > 0)
		got += (size_t)n;
	ok(got == sizeof(back) && memcmp(back + 10, big + 14, BIG) == 0, "and back");
	SSL_shutdown(ssl);
	SSL_free(ssl);
	client_close(&c);
	pass("and it leaves in order");
}

TEST(strangers)
{
	struct client c = web_open();

	web_say(&c, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n");
	unlike(web_hear(&c), "HTTP/1.1", "who does not speak TLS gets no answer but an alert");
	client_close(&c);
	c = web_open();
	ok(secure(&c, TLS1_1_VERSION) == NULL, "nor who speaks an old one");
	client_close(&c);
	c = web_open();
	web_say(&c, "\x16\x03\x01");
	client_close(&c);
	c = client_open();
	ok(alive(&c), "the control socket needs none");
	client_close(&c);
}

/* The handshake has its time too; together with one that shakes hands and then says nothing. */
TEST(silence)
{
	struct client mute = web_open(), shaken = web_open();
	SSL          *ssl = secure(&shaken, TLS1_3_VERSION);
	bool          whole;

	is(web_hear(&mute), "", "who does not shake hands in time is dropped");
	like(told(ssl, &whole), "^HTTP/1.1 408 ", "who then asks nothing is told");
	SSL_free(ssl);
	client_close(&mute);
	client_close(&shaken);
}

static void
bad_keys(const struct buf *cert, const struct buf *key)
{
	struct msg_gateway_start s;
	struct buf               other_cert = { 0 }, other_key = { 0 };
	X509                    *ours = certificate;

	make_certificate(&other_cert, &other_key);
	X509_free(certificate);
	certificate = ours;
	gate_quiet = true;
	web_plan(&s);
	s.chroot = gate_jail;
	s.http = dup(0);
	s.tls_certificate = blob_of(cert->data, cert->len);
	s.tls_key = blob_of(other_key.data, other_key.len);
	start_with(&s);
	cmp_ok(exit_of_gateway(), "==", 1, "a key of another certificate: it does not start");
	s.tls_key = blob_of("", 0);
	start_with(&s);
	cmp_ok(exit_of_gateway(), "==", 1, "nor without a key");
	s.tls_certificate = blob_of("-----BEGIN NONSENSE-----\n", 25);
	s.tls_key = blob_of(key->data, key->len);
	start_with(&s);
	cmp_ok(exit_of_gateway(), "==", 1, "nor with a certificate that is none");
	close(s.http);
	buf_clear(&other_cert);
	buf_clear(&other_key);
}

int
main(void)
{
	struct msg_gateway_start s;
	struct buf               cert = { 0 }, key = { 0 };

	make_certificate(&cert, &key);
	web_plan(&s);
	s.tls_certificate = blob_of(cert.data, cert.len);
	s.tls_key = blob_of(key.data, key.len);
	web_start(&s);
	cmp_ok(proc_fds(), "<=", 7, "it holds stdio, link, two listeners and epoll: OpenSSL keeps no file open");
	speaks(TLS1_3_VERSION, "TLSv1.3");
	speaks(TLS1_2_VERSION, "TLSv1.2");
	run_tests();
	cmp_ok(exit_of_gateway(), "==", 0, "the gateway ends in order");
	bad_keys(&cert, &key);
	gate_close();
	X509_free(certificate);
	buf_clear(&cert);
	buf_clear(&key);
	done_testing();
}
