#include "door/door_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "base/log.h"
#include "children/gateway.h"
#include "core/dirs.h"

#define INSTANCE_ENV "LANGBOT_BOX_TRUSTED_INSTANCE_UUID"

/* ---- before anything is started ------------------------------------------------------------------ */

/* A PEM file, whole.  What is inside is for the gateway to understand; that it is no other kind of file is seen here. */
static int
pem_read(struct buf *b, const char *path, const char *marker, struct err *e)
{
	AUTO_FD int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd == -1 || fstat(fd, &st) == -1)
		return err_sys(e, "open %s", path);
	if (!S_ISREG(st.st_mode) || st.st_size > (off_t)MIB)
		return err_set(e, E_INVALID, "%s is not a regular file of at most 1 MiB", path);
	/* room for all of it at once: a buffer that grows leaves copies behind */
	if (buf_reserve(b, (size_t)st.st_size + 1) == -1)
		return err_set(e, E_SYS, "no memory for %s", path);
	ssize_t n = read(fd, b->data, (size_t)st.st_size);
	if (n == -1)
		return err_sys(e, "read %s", path);
	b->len = (size_t)n;
	if (memmem(b->data, b->len, marker, strlen(marker)) == NULL)
		return err_set(e, E_INVALID, "%s has no line '-----BEGIN ...%s'", path, marker);
	return 0;
}

static int
prepare_tls(struct door_start *s, const struct config *c, struct err *e)
{
	if (*c->tls_certificate == '\0')
		return 0;
	if (pem_read(&s->certificate, c->tls_certificate, "CERTIFICATE-----", e) == -1)
		return err_prefix(e, "tls_certificate");
	if (pem_read(&s->key, c->tls_key, "PRIVATE KEY-----", e) == -1)
		return err_prefix(e, "tls_key");
	return 0;
}

static int
prepare_instance(struct door_start *s, const struct config *c, struct err *e)
{
	const char *given = getenv(INSTANCE_ENV);

	if (given == NULL || *given == '\0')
		given = c->trusted_instance;
	if (*given != '\0' && !instance_is_valid(given))
		return err_set(e, E_INVALID, INSTANCE_ENV ": A valid trusted LangBot instance UUID is required");
	snprintf(s->instance, sizeof(s->instance), "%s", given);
	return 0;
}

int
door_prepare(struct door_start *s, const struct config *c, struct err *e)
{
	*s = (struct door_start){ 0 };
	handover_take(&s->past);
	if (s->past.has_token) {
		s->token.set = true;
		memcpy(s->token.key, s->past.key, sizeof(s->token.key));
		memcpy(s->token.hash, s->past.hash, sizeof(s->token.hash));
	} else if (token_find(&s->token, c, e) == -1) {
		return -1;
	}
	if (prepare_tls(s, c, e) == -1)
		return -1;
	return prepare_instance(s, c, e);
}

static void
secret_clear(struct buf *b)
{
	if (b->len > 0)
		sodium_memzero(b->data, b->len);
	buf_clear(b);
}

void
door_start_clear(struct door_start *s)
{
	handover_clear(&s->past);
	token_clear(&s->token);
	buf_clear(&s->certificate);
	secret_clear(&s->key);
}

/* ---- open, close --------------------------------------------------------------------------------- */

static int
names_init(struct names *n, const char *list, struct err *e)
{
	char   name[LIM_PATH + 1];
	size_t most = 1, used = 0;

	for (const char *at = list; config_next_name(&at, name);)
		most++;
	n->text = malloc(strlen(list) + most);
	n->strs.v = calloc(most, sizeof(*n->strs.v));
	if (n->text == NULL || n->strs.v == NULL)
		return err_set(e, E_SYS, "no memory");
	while (config_next_name(&list, name)) {
		n->strs.v[n->strs.n++] = strcpy(n->text + used, name);
		used += strlen(name) + 1;
	}
	return 0;
}

static void
names_clear(struct names *n)
{
	free(n->strs.v);
	free(n->text);
}

/* That of the boxd before us, when it is the right one; else a new one. */
static int
open_listener(struct door *d, struct handover *past, struct err *e)
{
	const struct config *c = d->boxd->config;
	struct address       at;
	bool                 inherited = past->listener != -1 && listen_is_at(past->listener, &c->listen);

	if (c->listen.len == 0)
		return 0;
	d->listener = inherited ? fd_take(&past->listener) : listen_open(&c->listen, e);
	if (d->listener == -1)
		return -1;
	address_of_socket(&at, d->listener);
	address_text(&at, d->address);
	log_info("LangBot's door is %s://%s%s%s", *c->tls_certificate != '\0' ? "https" : "http", d->address,
	    inherited ? ", as before" : "", config_trusts_everybody(c) ? ", without a token: auth = none" : "");
	return 0;
}

static void
trust(struct door *d, const struct door_start *s)
{
	d->configured = *s->instance != '\0';
	snprintf(d->instance, sizeof(d->instance), "%s", d->configured ? s->instance : s->past.instance);
}

/* A door that is not there needs no token, and none is made. */
static int
open_token(struct door *d, struct door_start *s, struct err *e)
{
	const struct config *c = d->boxd->config;

	d->token = s->token;
	if (config_trusts_everybody(c) && d->token.set)
		log_warn("auth = none: there is a token, but nobody is asked for it");
	if (c->listen.len == 0 || config_trusts_everybody(c))
		return 0;
	return token_settle(&d->token, d->boxd->dirs->state, e);
}

struct door *
door_open(struct boxd *h, struct door_start *s, struct err *e)
{
	struct door *d = calloc(1, sizeof(*d));

	if (d == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	d->boxd = h;
	d->listener = -1;
	tally_init(&d->refusals, h->loop, "handshakes were refused at LangBot's door");
	d->certificate = s->certificate;
	d->key = s->key;
	s->certificate = s->key = (struct buf){ 0 };
	trust(d, s);
	if (names_init(&d->origins, h->config->http_origins, e) == -1 ||
	    names_init(&d->hosts, h->config->http_hosts, e) == -1 || open_token(d, s, e) == -1 ||
	    open_listener(d, &s->past, e) == -1)
		door_close(&d);
	door_start_clear(s);
	return d;
}

void
door_close(struct door **dp)
{
	struct door *d = *dp;

	if (d == NULL)
		return;
	*dp = NULL;
	attempts_clear(&d->attempts);
	tally_clear(&d->refusals);
	token_clear(&d->token);
	buf_clear(&d->certificate);
	secret_clear(&d->key);
	names_clear(&d->origins);
	names_clear(&d->hosts);
	fd_close(&d->listener);
	free(d);
}

void
door_hand_over(struct door *d)
{
	struct handover h = { .listener = -1, .has_token = d->token.set && *d->token.path == '\0' };
	struct err      e;

	memcpy(h.key, d->token.key, sizeof(h.key));
	memcpy(h.hash, d->token.hash, sizeof(h.hash));
	if (!d->configured)
		memcpy(h.instance, d->instance, sizeof(h.instance));
	/* ours is closed with boxd */
	if (d->listener != -1)
		h.listener = fcntl(d->listener, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (handover_give(&h, &e) == -1)
		log_error("LangBot's door is not handed over: %s", e.text);
	sodium_memzero(&h, sizeof(h));
}

/* ---- what others ask ----------------------------------------------------------------------------- */

bool
door_pin(struct door *d, const char *instance)
{
	bool fixed = d->configured || !config_trusts_everybody(d->boxd->config) || gateway_rpc(d->boxd->gateway) > 0;

	if (strcmp(d->instance, instance) == 0)
		return true;
	if (*d->instance != '\0' && fixed)
		return false;
	snprintf(d->instance, sizeof(d->instance), "%s", instance);
	log_info("instance=%s is trusted from now on", d->instance);
	return true;
}

const char *
door_instance(const struct door *d)
{
	return d->instance;
}

void
door_legacy_context(struct msg_context *c)
{
	*c = (struct msg_context){
		.instance = ".legacy", /* no client can be called so, and it stays when an instance is trusted later */
		.workspace = "default",
		.generation = 1,
	};
}

void
door_tell_gateway(const struct door *d, struct msg_gateway_start *s)
{
	const struct config *c = d->boxd->config;

	s->http = d->listener;
	s->tls_certificate = blob_of(d->certificate.data, d->certificate.len);
	s->tls_key = blob_of(d->key.data, d->key.len);
	s->origins = d->origins.strs;
	s->hosts = d->hosts.strs;
	s->max_unauthenticated = c->max_unauthenticated;
	s->relay_line_bytes = c->relay_line_bytes;
	s->legacy_clients = c->legacy_clients;
}

const char *
door_address(const struct door *d)
{
	return d->address;
}

const char *
door_token_file(const struct door *d)
{
	bool asked_for = d->listener != -1 && !config_trusts_everybody(d->boxd->config);

	return asked_for ? d->token.path : "";
}

uint64_t
door_refused(const struct door *d)
{
	return d->refused;
}
