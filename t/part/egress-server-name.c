/* A connection that is allowed for a name must say that name, by TLS or HTTP/1, and nothing else passes. */
#include <arpa/inet.h>
#include <openssl/ssl.h>

#include "egressbox.h"
#include "tap.h"
#include "workers/egress/dns/requests.h"
#include "workers/egress/flow/hello.h"

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
said_text(enum said said, const char *name)
{
	static char text[300];

	switch (said) {
	case SAID_MORE:
		return "more";
	case SAID_NAME:
		snprintf(text, sizeof(text), "for %s", name);
		return text;
	case SAID_NOTHING:
		return "nothing";
	case SAID_OTHER:
		return "other";
	case SAID_NO_NAME:
		return "no name";
	case SAID_UNCLEAR:
		return "unclear";
	case SAID_LONG:
		return "long";
	default:
		return "?";
	}
}

static const char *
said(const char *bytes, size_t n, bool over)
{
	char        name[LIM_DNS_NAME + 1];
	struct head head;

	return said_text(hello_look(hello, bytes, n, over, &head, name), name);
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
}

/* A hello with something before it, between its records or behind it in the last. */
static const char *
framed(const char *before, size_t n_before, const char *between, size_t n_between, size_t behind)
{
	char   bytes[4096], all[4400];
	size_t n = client_hello(bytes, sizeof(bytes), "good.example"), at = n_before, half = 60;

	memcpy(all, before, n_before);
	memcpy(all + at, "\x16\x03\x01\x00\x3c", 5);
	memcpy(all + at + 5, bytes + 5, half);
	at += 5 + half;
	memcpy(all + at, between, n_between);
	at += n_between;
	size_t rest = n - 5 - half;
	memcpy(all + at, "\x16\x03\x01", 3);
	all[at + 3] = (char)((rest + behind) >> 8), all[at + 4] = (char)(rest + behind);
	memcpy(all + at + 5, bytes + 5 + half, rest);
	memset(all + at + 5 + rest, 1, behind);
	return said(all, at + 5 + rest + behind, false);
}

static void
test_records(void)
{
	static const char alert[] = "\x15\x03\x01\x00\x02\x01\x00", ccs[] = "\x14\x03\x01\x00\x01\x01";
	static const char empty[] = "\x16\x03\x01\x00\x00", data[] = "\x17\x03\x03\x00\x01x";
	static const char ssl2[] = "\x80\x2e\x01\x03\x01\x00\x15\x00\x00\x00\x10";

	is(framed("", 0, "", 0, 0), "for good.example", "a hello in two records");
	is(framed(alert, 7, "", 0, 0), "other", "behind an alert");
	is(framed(ccs, 6, "", 0, 0), "other", "behind a ChangeCipherSpec");
	is(framed(data, 6, "", 0, 0), "other", "behind data");
	is(framed(empty, 5, "", 0, 0), "unclear", "behind an empty record");
	is(framed("", 0, alert, 7, 0), "unclear", "with an alert within");
	is(framed("", 0, ccs, 6, 0), "unclear", "with a ChangeCipherSpec within");
	is(framed("", 0, empty, 5, 0), "unclear", "with an empty record within");
	is(framed("", 0, "", 0, 40), "unclear", "with another message behind it");
	is(said(ssl2, 11, false), "other", "a hello of SSL 2");
	is(said("\x16\x02\x00\x00\x05\x01\x00\x00\x01\x00", 10, false), "unclear", "of no version");
	is(said("\x16\x03\x01\x40\x01\x01", 6, false), "unclear", "in a record that is too long");
	is(said("\x16\x03\x01\x00\x09\x02", 6, false), "unclear", "another message than a hello");
	is(said("\x16\x03\x01\x00\x09\x01\x00\xff\xff", 9, false), "long", "a hello that is too long");
}

/* The list of names in a hello, as it is: this replaces that of good.example, of the same length. */
static const char *
with_names(const char *list)
{
	char        bytes[4096];
	static char name[] = "\0\x0f\0\0\x0cgood.example";
	size_t      n = client_hello(bytes, sizeof(bytes), "good.example");
	char       *at = memmem(bytes, n, name, 17);

	if (at == NULL)
		return "not found";
	memcpy(at, list, 17);
	return said(bytes, n, false);
}

static void
test_server_names(void)
{
	is(with_names("\0\x0f\0\0\x0cGOOD.EXAMPLE"), "for good.example", "a name in capitals");
	is(with_names("\0\x0f\0\0\x0cgood.exampl."), "for good.exampl", "a dot at its end");
	is(with_names("\0\x0f\0\0\x05"
		      "a.org\0\0\x04"
		      "b.or"),
	    "unclear", "two names");
	is(with_names("\0\x0f\1\0\x0cgood.example"), "unclear", "of another kind");
	is(with_names("\0\x0f\0\0\x0cgood.exa\0ple"), "unclear", "with a byte that is not text");
	is(with_names("\0\x0f\0\0\x0c"
		      "93.184.216.3"),
	    "for 93.184.216.3", "an address is a name that no rule has");
	is(with_names("\0\x0f\0\0\x0bgood.example"), "unclear", "with a wrong length");
}

static const struct {
	const char *bytes, *said, *what;
} requests[] = {
	{ "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "a request" },
	{ "GET / HTTP/1.1\r\nhOST:Good.Example.:8080 \r\n\r\n", "for good.example", "with a port" },
	{ "\r\nGET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "other", "with an empty line before" },
	{ "GET / HTTP/1.1\nHost: good.example\n\n", "other", "with bare ends of lines" },
	{ "GET / HTTP/1.1\r\nX: y\nHost: good.example\r\n\r\n", "unclear", "with one of them" },
	{ "GET / HTTP/1.1\r\nHost: good.example\r\n", "more", "without its end" },
	{ "GET /", "more", "its beginning" },
	{ "G", "more", "its first letter" },
	{ "GET http://good.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "with a whole URL" },
	{ "GET HTTP://Good.Example:80 HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "of any spelling" },
	{ "GET http://evil.example/x HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "with another host there" },
	{ "GET http://good.example@evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear",
	    "with a user there" },
	{ "GET http://good.example:x@evil.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear",
	    "and a password" },
	{ "GET ftp://good.example/ HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "with another scheme" },
	{ "GET x HTTP/1.1\r\nHost: good.example\r\n\r\n", "unclear", "with a target that is none" },
	{ "OPTIONS * HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "for the server itself" },
	{ "CONNECT good.example:443 HTTP/1.1\r\nHost: good.example:443\r\n\r\n", "unclear", "to a proxy" },
	{ "GET / HTTP/1.1\r\nHost: good.example\r\nHost: evil.example\r\n\r\n", "unclear", "with two hosts" },
	{ "GET / HTTP/1.1\r\nHost: good.example\r\nHOST: good.example\r\n\r\n", "unclear", "with the same twice" },
	{ "GET / HTTP/1.1\r\nHost : evil.example\r\nHost: good.example\r\n\r\n", "unclear", "with a space in one" },
	{ "GET / HTTP/1.1\r\nHost\t: good.example\r\n\r\n", "unclear", "with a tab there" },
	{ "GET / HTTP/1.1\r\nHost: evil.example\r\n .good.example\r\n\r\n", "unclear", "with a line that goes on" },
	{ "GET / HTTP/1.1\r\n Host: evil.example\r\nHost: good.example\r\n\r\n", "unclear", "that goes on at once" },
	{ "GET / HTTP/1.1\r\nHost: evil.example/.good.example\r\n\r\n", "unclear", "with no name as its host" },
	{ "GET / HTTP/1.1\r\nHost: good.example:80:90\r\n\r\n", "unclear", "with two ports" },
	{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", "unclear", "with an empty one" },
	{ "GET / HTTP/1.0\r\n\r\n", "no name", "without one" },
	{ "GET / HTTP/1.1\r\nno colon\r\nHost: good.example\r\n\r\n", "unclear", "with a line that is no field" },
	{ "FROB / HTTP/1.1\r\nHost: good.example\r\n\r\n", "for good.example", "by a method that nobody knows" },
	{ "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "other", "of HTTP/2" },
	{ "GET /\r\n", "other", "of HTTP/0.9" },
	{ "GET / HTTP/1.2\r\nHost: good.example\r\n\r\n", "other", "of another version" },
	{ "GET  / HTTP/1.1\r\nHost: good.example\r\n\r\n", "other", "with a space too many" },
	{ "GET / HTTP/1.1 \r\nHost: good.example\r\n\r\n", "other", "and one at the end" },
	{ "GET / HTTP/1.1\r\nHost: good.example\rHost: evil.example\r\n\r\n", "unclear", "with half an end of line" },
	{ "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\n", "unclear", "two lengths" },
	{ "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: +3\r\n\r\n", "unclear", "a length that is none" },
	{ "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3, 3\r\n\r\n", "unclear", "nor is this" },
	{ "POST / HTTP/1.1\r\nHost: a.b\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n", "unclear",
	    "and chunks" },
	{ "POST / HTTP/1.1\r\nHost: a.b\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", "unclear", "coded chunks" },
	{ "POST / HTTP/1.0\r\nHost: a.b\r\nTransfer-Encoding: chunked\r\n\r\n", "unclear", "chunks of HTTP/1.0" },
	{ "PROXY TCP4 10.0.0.1 10.0.0.2 1 2\r\nGET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "other", "behind PROXY" },
	{ "SSH-2.0-OpenSSH_9.2\r\n", "other", "ssh" },
	{ "EHLO x\r\n", "other", "mail" },
	{ "*1\r\n$4\r\nPING\r\n", "other", "redis" },
	{ "PING\r\n", "other", "a word in capitals" },
	{ "hello\n", "other", "any line of text" },
	{ "HELLO", "more", "what may become a method" },
	{ "hello", "other", "what cannot" },
	{ "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "other", "what is too long for one" },
	{ "get / HTTP/1.1\r\nHost: good.example\r\n\r\n", "other", "one in small letters" },
	{ " GET / HTTP/1.1\r\nHost: good.example\r\n\r\n", "other", "behind a space" },
};

static void
test_http(void)
{
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++)
		is(said(requests[i].bytes, strlen(requests[i].bytes), false), requests[i].said, "%s", requests[i].what);
	is(said("PING", 4, true), "unclear", "a word and the end");
	is(said("\0\0\0\x08\x04\xd2\x16\x2f", 8, false), "other", "postgres");
	is(said("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", 16, false), "other", "the second PROXY");
	is(said("0032git-upload-pack /x.git\0host=good.example\0", 45, false), "other", "git");
	is(said("GET /\0", 6, false), "other", "a method, and a byte that is no text");
	is(said("GET / HTTP/1.1\r\nX: \0\r\nHost: a.b\r\n\r\n", 36, false), "unclear", "and in a field");
	is(said("", 0, true), "nothing", "no byte at all");
}

/* ---- requests, one after the other ------------------------------------------------------- */

/*
 * What passes of these bytes, given in steps of so many: names in the order in which they are asked for, and how many
 * bytes were left when it stopped.
 */
static const char *
followed(const char *bytes, size_t step)
{
	static char     text[400];
	struct requests r = { .first = true };
	size_t          n = strlen(bytes), at = 0, seen = 0;
	enum said       what = SAID_MORE;
	char            name[LIM_DNS_NAME + 1];

	*text = '\0';
	for (;;) {
		size_t pass = at < seen ? requests_look(&r, bytes + at, seen - at, &what, name) : 0;

		if (at < seen && what != SAID_MORE && pass == 0)
			break;
		if (pass > 0 && what == SAID_NAME)
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s ", name);
		if (pass > 0)
			requests_passed(&r, bytes + at, seen - at, pass > 3 ? pass / 2 : pass),
			    at += pass > 3 ? pass / 2 : pass;
		else if (seen == n)
			break;
		else
			seen = n - seen < step ? n : seen + step;
		if (pass > 0 && r.pass == 0 && r.at == AT_ANSWER)
			requests_answered(&r, "HTTP/1.1 101 x", 14, false);
	}
	snprintf(text + strlen(text), sizeof(text) - strlen(text), "%zu left", n - at);
	return text;
}

#define A_HEAD "GET /a HTTP/1.1\r\nHost: a.test\r\n"
#define B_HEAD "POST /b HTTP/1.1\r\nHost: b.test\r\n"

static const struct {
	const char *bytes, *text, *what;
} series[] = {
	{ A_HEAD "\r\n", "a.test 0 left", "one" },
	{ A_HEAD "\r\n" B_HEAD "\r\n" A_HEAD "\r\n", "a.test b.test a.test 0 left", "three" },
	{ B_HEAD "Content-Length: 5\r\n\r\n12345" A_HEAD "\r\n", "b.test a.test 0 left", "behind a body" },
	{ B_HEAD "Content-Length: 32\r\n\r\n" A_HEAD "\r\n", "b.test 1 left", "a body that looks like one" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n00A\r\n0123456789\r\n0\r\n\r\n" A_HEAD "\r\n",
	    "b.test a.test 0 left", "behind chunks" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n3\r\nabcd\r\n", "b.test 3 left", "a chunk that is longer" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n3;x\r\nabc\r\n", "b.test 10 left", "with an extension" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n0\r\nX: y\r\n\r\n", "b.test 8 left", "with a field behind them" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n123456789\r\n", "b.test 11 left", "too large a chunk" },
	{ B_HEAD "Transfer-Encoding: chunked\r\n\r\n\r\n", "b.test 2 left", "no size" },
	{ A_HEAD "\r\nnoise", "a.test 5 left", "noise behind it" },
	{ A_HEAD "\r\n\r\n" B_HEAD "\r\n", "a.test 36 left", "an empty line between them" },
	{ A_HEAD "Upgrade: WebSocket\r\n\r\n\x81\x01x", "a.test 0 left", "frames, when the server agrees" },
	{ A_HEAD "\r\n" B_HEAD "Upgrade: websocket\r\n\r\n\x81\x01x", "a.test b.test 3 left", "only at the beginning" },
	{ A_HEAD "Upgrade: h2c\r\n\r\nPRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "a.test 24 left",
	    "nothing else is left HTTP for" },
};

static void
test_series(void)
{
	struct requests r = { .at = AT_ANSWER };

	for (size_t i = 0; i < sizeof(series) / sizeof(series[0]); i++) {
		is(followed(series[i].bytes, 4096), series[i].text, "requests: %s", series[i].what);
		is(followed(series[i].bytes, 1), series[i].text, "byte by byte");
	}
	ok(!requests_answered(&r, "HTTP/1.1 10", 11, false), "a part of an answer");
	ok(requests_answered(&r, "HTTP/1.1 200 OK", 15, false) && r.at == AT_HEAD, "the server did not agree");
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
	must(send(fd, p, n, MSG_NOSIGNAL) == (ssize_t)n, "send");
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

#define ALL "tcp good.example 3.3.3.3 443 deny all: allowed for a name only, and the connection "
#define UNCLEAR ALL "cannot be understood"
#define OTHER ALL "is neither TLS nor HTTP/1, which alone say a name; allow its address"

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
	expect_cut("\x16\x03\x01\x00\x05\xff\x00\x00\x01\x00", 10, UNCLEAR " 1", "a hello that is none");
	expect_cut("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 38,
	    "tcp evil.example 3.3.3.3 443 deny evil.example: the connection says another name than it was allowed for "
	    "2",
	    "a request to another host");
}

static void
test_other_protocols(void)
{
	char   bytes[4096];
	size_t n = client_hello(bytes + 7, sizeof(bytes) - 7, "good.example");

	memcpy(bytes, "\x15\x03\x01\x00\x02\x01\x00", 7);
	expect_cut(bytes, n + 7, OTHER " 1", "a hello behind an alert");
	expect_cut("PROXY TCP4 1.2.3.4 3.3.3.3 9 443\r\n", 34, OTHER " 2", "a PROXY line");
	expect_cut("\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c", 16, OTHER " 3", "the second PROXY");
	expect_cut("hello\n", 6, OTHER " 4", "any text");
	expect_cut("SSH-2.0-x\r\n", 11, OTHER " 5", "ssh");
	expect_cut("GET /\r\n", 7, OTHER " 6", "HTTP/0.9");
}

static void
test_server_first(void)
{
	int server, client = pair(&server);

	put(server, "220 mail\r\n");
	is(outcome(client), "reset", "a server that speaks first is cut");
	is(outcome(server), "reset", "on its side too");
	is(denial_text(egressbox_look(&box, &inside, false), 0),
	    ALL "lets the server speak first, which says no name; allow its address 1", "and it is a denial");
	close(client);
	close(server);
	client = pair(&server);
	shutdown(client, SHUT_WR);
	is(outcome(server), "end", "an end without a byte passes");
	put(server, "x");
	is(outcome(client), "reset", "and nothing comes back");
	close(client);
	close(server);
	client = inside_connect(&inside, "4.4.4.4", 443);
	is(outcome(client), "reset", "an address that was told for no name is denied");
	close(client);
}

/* ---- requests on one connection ---- */

#define GOOD "GET / HTTP/1.1\r\nHost: good.example\r\n\r\n"
#define EVIL "GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n"
#define UPGRADE "GET / HTTP/1.1\r\nHost: good.example\r\nUpgrade: websocket\r\n\r\n"

static void
test_kept_alive(void)
{
	int server, client = pair(&server);

	put(client, GOOD);
	ok(got(server, GOOD), "a request passes");
	put(server, "HTTP/1.1 204 No\r\n\r\n");
	ok(got(client, "HTTP/1.1 204 No\r\n\r\n"), "and its answer");
	put(client, "GET / HTTP/1.1\r\n");
	put(client, "Host: good.example\r\n\r\n");
	ok(got(server, GOOD), "another, in two parts");
	put(client, "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 7\r\n\r\n123");
	ok(got(server, "POST / HTTP/1.1\r\nHost: good.example\r\nContent-Length: 7\r\n\r\n123"), "a part of a body");
	put(client, "4567" GOOD EVIL);
	ok(got(server, "4567" GOOD), "its rest, and the next");
	is(outcome(server), "reset", "but not one for another host");
	is(outcome(client), "reset", "it is cut");
	like(denial_text(egressbox_look(&box, &inside, false), 0),
	    "^tcp evil.example 3.3.3.3 443 deny evil.example: ", "which is a denial");
	close(client);
	close(server);
}

static void
test_upgrade(void)
{
	int server, client = pair(&server);

	put(client, UPGRADE "\x81\x01x");
	ok(got(server, UPGRADE), "a request for websocket passes");
	put(server, "HTTP/1.1 101 Switching Protocols\r\n\r\n");
	ok(got(client, "HTTP/1.1 101 Switching Protocols\r\n\r\n"), "the server agrees");
	ok(got(server, "\x81\x01x"), "and gets what is behind it");
	put(client, EVIL);
	ok(got(server, EVIL), "which is nobody's business");
	close(client);
	close(server);
	client = pair(&server);
	put(client, UPGRADE EVIL);
	ok(got(server, UPGRADE), "once more");
	put(server, "HTTP/1.1 200 OK\r\n\r\n");
	is(outcome(server), "reset", "one that does not agree is not told another host");
	close(client);
	close(server);
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
	put(silent_client, GOOD);
	ok(got(silent_server, GOOD), "who has said nothing may take its time");
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

	must((hello = hello_open(&e)) != NULL, "%s", e.text);
	test_tls();
	test_records();
	test_server_names();
	test_http();
	test_series();
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
	test_server_first();
	test_kept_alive();
	test_upgrade();
	test_too_long();
	test_too_late();
	cmp_ok(egressbox_end(&box, false), "==", 0, "it ends");
	sandbox_free(&inside);
	hello_close(&hello);
	done_testing();
}
