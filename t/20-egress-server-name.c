/* A connection that is allowed for a name must say that name, if it speaks a protocol that says one. */
#include <arpa/inet.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "egressbox.h"
#include "tap.h"
#include "workers/egress/hello.h"

static struct hello *hello;

/* The ClientHello of OpenSSL for this name, or none. */
static size_t
client_hello(char *to, size_t size, const char *name)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL     *ssl = SSL_new(ctx);
	BIO     *in = BIO_new(BIO_s_mem()), *out = BIO_new(BIO_s_mem());

	SSL_set_bio(ssl, in, out);
	if (name != NULL)
		SSL_set_tlsext_host_name(ssl, name);
	SSL_connect(ssl);
	int n = BIO_read(out, to, (int)size);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	return (size_t)n;
}

static const char *
said(const char *bytes, size_t n, bool over)
{
	static char text[300];
	char        name[LIM_DNS_NAME + 1];

	switch (hello_look(hello, bytes, n, over, name)) {
	case SAID_MORE:
		return "more";
	case SAID_NAME:
		snprintf(text, sizeof(text), "for %s", name);
		return text;
	case SAID_NOTHING:
		return "nothing";
	case SAID_NO_NAME:
		return "no name";
	case SAID_UNCLEAR:
		return "unclear";
	}
	return "?";
}

/* ---- bytes --------------------------------------------------------------------------- */

static void
test_tls(void)
{
	char   bytes[4096], two[4096];
	size_t n = client_hello(bytes, sizeof(bytes), "Good.Example");
	size_t more = 0;

	is(said(bytes, n, false), "for good.example", "TLS says its name");
	for (size_t i = 1; i < n; i++)
		more += strcmp(said(bytes, i, false), "more") == 0;
	cmp_ok(more, "==", n - 1, "each part of it wants more");
	is(said(bytes, n / 2, true), "unclear", "unless no more will come");
	/* the same message in two records */
	memcpy(two, bytes, 5 + 20);
	two[3] = 0, two[4] = 20;
	memcpy(two + 25, bytes, 5);
	two[25 + 3] = (char)((n - 25) >> 8), two[25 + 4] = (char)(n - 25);
	memcpy(two + 30, bytes + 25, n - 25);
	is(said(two, n + 5, false), "for good.example", "also in two records");
	n = client_hello(bytes, sizeof(bytes), NULL);
	is(said(bytes, n, false), "no name", "TLS may say none");
	is(said("\x16\x03\x01\x00\x05\xff\x00\x00\x01\x00", 10, false), "unclear", "or nonsense");
	is(said("\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10", 11, false), "more", "a hello of SSL 2 is one");
}

static const struct {
	const char *bytes, *said, *what;
} requests[] = {
	{ "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "a request" },
	{ "GET / HTTP/1.1\r\nhOST:Good.Example.:8080 \r\n\r\n", "for good.example", "with a port" },
	{ "\r\nPOST / HTTP/1.0\nX: y\nHost: a.b\n\n", "for a.b", "with empty lines before and bare ends of lines" },
	{ "GET / HTTP/1.1\r\nHost: good.example\r\n", "more", "without its end" },
	{ "GET /", "more", "its beginning" },
	{ "G", "more", "its first letter" },
	{ "GET http://good.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "with a whole URL" },
	{ "GET http://evil.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "with another host there" },
	{ "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n", "for good.example", "to a proxy" },
	{ "CONNECT evil.example:443 HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "to a proxy, elsewhere" },
	{ "GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n", "unclear", "with two hosts" },
	{ "GET / HTTP/1.1\r\nHost : evil.example\r\nHost: good.example\r\n\r\n", "unclear", "with a space in one" },
	{ "GET / HTTP/1.1\r\nHost: evil.example\r\n .good.example\r\n\r\n", "unclear", "with a line that goes on" },
	{ "GET / HTTP/1.1\r\n Host: evil.example\r\nHost: good.example\r\n\r\n", "unclear", "that goes on at once" },
	{ "GET / HTTP/1.1\r\nHost: evil.example/.good.example\r\n\r\n", "unclear", "with no name as its host" },
	{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", "unclear", "with an empty one" },
	{ "GET / HTTP/1.0\r\n\r\n", "no name", "without one" },
	{ "FROB / HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "by a method that nobody knows" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "unclear", "of HTTP/2" },
	{ "GET / HTTP/1.1\r\nHost: good.example\rHost: evil.example\r\n\r\n", "unclear", "with half an end of line" },
	{ "SSH-2.0-OpenSSH_9.2\r\n", "nothing", "ssh" },
	{ "EHLO x\r\n", "nothing", "mail" },
	{ "*1\r\n$4\r\nPING\r\n", "nothing", "redis" },
	{ "PING\r\n", "nothing", "a word in capitals" },
	{ "hello\n", "nothing", "any line of text" },
	{ "hello", "more", "what may become a method" },
	{ "<?xml version='1.0'?>", "nothing", "what cannot" },
	{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "more", "however long it is" },
	{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA / HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear",
	    "one so long" },
	{ "get / HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "one in small letters" },
	{ "x!1 / http/1.1\r\nHost: good.example\r\n\r\n", "unclear", "any token" },
	{ " GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "behind a space" },
};

static void
test_http(void)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		is(said(requests[i].bytes, strlen(requests[i].bytes), false), requests[i].said, "%s", requests[i].what);
	is(said("PING", 4, true), "nothing", "a word and the end");
	is(said("\0\0\0\x08\x04\xd2\x16\x2f", 8, false), "nothing", "postgres");
	is(said("0032git-upload-pack /x.git\0host=good.example\0", 45, false), "nothing", "git");
	is(said("GET /\0", 6, false), "more", "a method, and a byte that is no text");
	is(said("", 0, true), "nothing", "no byte at all");
}

/* ---- connections ------------------------------------------------------------------------ */

static struct egressbox box;
static struct sandbox   inside;
static int              web;

static int
pair(int *server)
{
	int client = inside_connect(&inside, "3.3.3.3", 443);

	*server = net_accept(web, NULL);
	return client;
}

static void
put_bytes(int fd, const char *p, size_t n)
{
	if (send(fd, p, n, MSG_NOSIGNAL) != (ssize_t)n)
		BAIL_OUT("send");
}

static bool
got_bytes(int fd, const char *p, size_t n)
{
	char bytes[4096];

	return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n && memcmp(bytes, p, n) == 0;
}

static void
test_right_name(void)
{
	char   bytes[4096];
	size_t n = client_hello(bytes, sizeof(bytes), "good.example");
	int    server, client = pair(&server);

	put(server, "first");
	ok(got(client, "first"), "a server may speak first");
	put_bytes(client, bytes, n);
	ok(got_bytes(server, bytes, n), "a hello with the right name passes, as it is");
	put(client, "more");
	ok(got(server, "more"), "and all behind it");
	is(egressbox_look(&box, &inside, true)->flows.v[2].name, "good.example", "the connection has that name");
	close(client);
	close(server);
	client = pair(&server);
	for (size_t i = 0; i < n; i++)
		put_bytes(client, bytes + i, 1);
	ok(got_bytes(server, bytes, n), "also byte by byte");
	close(client);
	close(server);
}

static void
expect_cut(const char *p, size_t n, const char *denial, const char *what)
{
	int server, client = pair(&server);

	put_bytes(client, p, n);
	is(outcome(client), "reset", "%s", what);
	is(outcome(server), "reset", "no byte of it arrives");
	is(denial_text(egressbox_look(&box, &inside, false), 0), denial, "and it is a denial");
	close(client);
	close(server);
}

static void
test_wrong_name(void)
{
	char   bytes[4096];
	size_t n = client_hello(bytes, sizeof(bytes), "evil.example");

	expect_cut(bytes, n,
	    "tcp evil.example 3.3.3.3 443 deny evil.example: the connection says another name than it was allowed for "
	    "1",
	    "a hello with another name");
	n = client_hello(bytes, sizeof(bytes), NULL);
	expect_cut(bytes, n,
	    "tcp good.example 3.3.3.3 443 deny all: allowed for a name only, and the connection says none 1",
	    "a hello without a name");
	expect_cut("\x16\x03\x01\x00\x05\xff\x00\x00\x01\x00", 10,
	    "tcp good.example 3.3.3.3 443 deny all: allowed for a name only, and the connection cannot be understood 1",
	    "a hello that is none");
	expect_cut("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 38,
	    "tcp evil.example 3.3.3.3 443 deny evil.example: the connection says another name than it was allowed for "
	    "2",
	    "a request to another host");
}

static void
test_other_protocols(void)
{
	int server, client = pair(&server);

	put(client, "hello\n");
	ok(got(server, "hello\n"), "what says no name passes");
	close(client);
	close(server);
	client = pair(&server);
	shutdown(client, SHUT_WR);
	is(outcome(server), "end", "and so does an end without a byte");
	close(client);
	close(server);
	client = inside_connect(&inside, "4.4.4.4", 443);
	is(outcome(client), "reset", "an address that was told for no name is denied");
	close(client);
}

/* A whole 32 KiB of a hello that never ends. */
static void
test_too_long(void)
{
	static char bytes[HELLO_MOST];
	int         server, client = pair(&server);

	for (size_t at = 0; at + 1029 <= sizeof(bytes); at += 1029)
		memcpy(bytes + at, "\x16\x03\x01\x04\x00", 5);
	memcpy(bytes + 5, "\x01\x01\x00\x00\x03\x03", 6); /* a message of 64 KiB */
	put_bytes(client, bytes, sizeof(bytes));
	is(outcome(client), "reset", "a hello without an end is cut");
	close(client);
	close(server);
}

/* They wait for the rest of a hello for a while: long enough to be opened first and looked at last. */
static int half_client, half_server, silent_client, silent_server;

static void
begin_waiting(void)
{
	half_client = pair(&half_server);
	put_bytes(half_client, "\x16\x03\x01", 3);
	silent_client = pair(&silent_server);
}

static void
test_too_late(void)
{
	is(outcome(half_client), "reset", "half a hello is not waited for for ever");
	is(outcome(half_server), "reset", "and does not pass");
	put(silent_client, "hello\n");
	ok(got(silent_server, "hello\n"), "who has said nothing may take its time");
	close(half_client);
	close(half_server);
	close(silent_client);
	close(silent_server);
}

static void
test_names(void)
{
	is(inside_resolve(&inside, "good.example"), "3.3.3.3", "a name that is allowed is resolved");
	is(inside_resolve(&inside, "evil.example"), "rcode 3", "another is not");
	is(denial_text(egressbox_look(&box, &inside, false), 0), "dns evil.example - 0 deny all 1",
	    "which is a denial");
	is(inside_resolve(&inside, "inner.good.example"), "", "an address that is guarded is not told");
	is(denial_text(egressbox_look(&box, &inside, false), 0), "dns inner.good.example 10.5.5.5 0 deny all 1",
	    "which is one too");
	is(inside_resolve(&inside, "open.good.example"), "10.7.7.7", "unless a rule opens it at some port");
	is(inside_resolve(&inside, "host.good.example"), "", "nor is one of the host");
	is(inside_resolve(&inside, "nowhere.good.example"), "5.5.5.5", "one that leads nowhere is left out");
	cmp_ok(egressbox_look(&box, &inside, false)->dns_queries, "==", 6, "questions are counted");
}

int
main(void)
{
	struct err e;

	if ((hello = hello_open(&e)) == NULL)
		BAIL_OUT("%s", e.text);
	test_tls();
	test_http();
	world_begin();
	net_names("good.example 3.3.3.3\nevil.example 3.3.3.3\ninner.good.example 10.5.5.5\n"
		  "open.good.example 10.7.7.7\nhost.good.example " HOST "\n"
		  "nowhere.good.example 203.0.114.1\nnowhere.good.example 5.5.5.5\n");
	egressbox_start(&box, "allow 10.7.7.7 port 5432\nallow good.example\nallow *.good.example\ndeny all\n", NULL);
	sandbox_make(&inside, 61);
	egressbox_open(&box, &inside, NULL, NULL);
	web = net_listen(443);
	test_names();
	begin_waiting();
	test_right_name();
	test_wrong_name();
	test_other_protocols();
	test_too_long();
	test_too_late();
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends");
	sandbox_free(&inside);
	hello_close(&hello);
	done_testing();
}
