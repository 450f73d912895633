#include "auth/auth_impl.h"

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

/* A whole PEM file.  The gateway reads its contents; here is only checked that it is such a file. */
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
prepare_tls(struct auth_start *s, const struct config *c, struct err *e)
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
prepare_instance(struct auth_start *s, const struct config *c, struct err *e)
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
auth_prepare(struct auth_start *s, const struct config *c, struct err *e)
{
	*s = (struct auth_start){ 0 };
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
auth_start_clear(struct auth_start *s)
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

/* The listener of the boxd before us, if it listens at the right address; else a new one. */
static int
open_listener(struct auth *auth, struct handover *past, struct err *e)
{
	const struct config *c = auth->boxd->config;
	struct address       at;
	bool                 inherited = past->listener != -1 && listen_is_at(past->listener, &c->listen);

	if (c->listen.len == 0)
		return 0;
	auth->listener = inherited ? fd_take(&past->listener) : listen_open(&c->listen, e);
	if (auth->listener == -1)
		return -1;
	address_of_socket(&at, auth->listener);
	address_text(&at, auth->address);
	log_info("LangBot's door is %s://%s%s%s", *c->tls_certificate != '\0' ? "https" : "http", auth->address,
	    inherited ? ", as before" : "", config_trusts_everybody(c) ? ", without a token: auth = none" : "");
	return 0;
}

static void
trust(struct auth *auth, const struct auth_start *s)
{
	auth->configured = *s->instance != '\0';
	snprintf(auth->instance, sizeof(auth->instance), "%s", auth->configured ? s->instance : s->past.instance);
}

/* Without a listener no token is needed, and none is made. */
static int
open_token(struct auth *auth, struct auth_start *s, struct err *e)
{
	const struct config *c = auth->boxd->config;

	auth->token = s->token;
	if (config_trusts_everybody(c) && auth->token.set)
		log_warn("auth = none: there is a token, but nobody is asked for it");
	if (c->listen.len == 0 || config_trusts_everybody(c))
		return 0;
	return token_settle(&auth->token, auth->boxd->dirs->state, e);
}

struct auth *
auth_open(struct boxd *h, struct auth_start *s, struct err *e)
{
	struct auth *auth = calloc(1, sizeof(*auth));

	if (auth == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	auth->boxd = h;
	auth->listener = -1;
	tally_init(&auth->refusals, h->loop, "handshakes were refused at LangBot's door");
	auth->certificate = s->certificate;
	auth->key = s->key;
	s->certificate = s->key = (struct buf){ 0 };
	trust(auth, s);
	if (names_init(&auth->origins, h->config->http_origins, e) == -1 ||
	    names_init(&auth->hosts, h->config->http_hosts, e) == -1 || open_token(auth, s, e) == -1 ||
	    open_listener(auth, &s->past, e) == -1)
		auth_close(&auth);
	auth_start_clear(s);
	return auth;
}

void
auth_close(struct auth **ap)
{
	struct auth *auth = *ap;

	if (auth == NULL)
		return;
	*ap = NULL;
	attempts_clear(&auth->attempts);
	tally_clear(&auth->refusals);
	token_clear(&auth->token);
	buf_clear(&auth->certificate);
	secret_clear(&auth->key);
	names_clear(&auth->origins);
	names_clear(&auth->hosts);
	fd_close(&auth->listener);
	free(auth);
}

void
auth_hand_over(struct auth *auth)
{
	struct handover h = { .listener = -1, .has_token = auth->token.set && *auth->token.path == '\0' };
	struct err      e;

	memcpy(h.key, auth->token.key, sizeof(h.key));
	memcpy(h.hash, auth->token.hash, sizeof(h.hash));
	if (!auth->configured)
		memcpy(h.instance, auth->instance, sizeof(h.instance));
	/* ours is closed with boxd */
	if (auth->listener != -1)
		h.listener = fcntl(auth->listener, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
	if (handover_give(&h, &e) == -1)
		log_error("LangBot's door is not handed over: %s", e.text);
	sodium_memzero(&h, sizeof(h));
}

/* ---- what others ask ----------------------------------------------------------------------------- */

bool
auth_trust(struct auth *auth, const char *instance)
{
	bool fixed = auth->configured || !config_trusts_everybody(auth->boxd->config) ||
		     gateway_rpc(auth->boxd->gateway) > 0;

	if (strcmp(auth->instance, instance) == 0)
		return true;
	if (*auth->instance != '\0' && fixed)
		return false;
	snprintf(auth->instance, sizeof(auth->instance), "%s", instance);
	log_info("instance=%s is trusted from now on", auth->instance);
	return true;
}

const char *
auth_instance(const struct auth *auth)
{
	return auth->instance;
}

void
auth_legacy_context(struct msg_context *c)
{
	*c = (struct msg_context){
		.instance = ".legacy", /* no client can be called so, and it stays when an instance is trusted later */
		.workspace = "default",
		.generation = 1,
	};
}

void
auth_for_gateway(const struct auth *auth, struct msg_gateway_start *s)
{
	const struct config *c = auth->boxd->config;

	s->http = auth->listener;
	s->tls_certificate = blob_of(auth->certificate.data, auth->certificate.len);
	s->tls_key = blob_of(auth->key.data, auth->key.len);
	s->origins = auth->origins.strs;
	s->hosts = auth->hosts.strs;
	s->max_unauthenticated = c->max_unauthenticated;
	s->relay_line_bytes = c->relay_line_bytes;
	s->legacy_clients = c->legacy_clients;
}

const char *
auth_address(const struct auth *auth)
{
	return auth->address;
}

const char *
auth_token_file(const struct auth *auth)
{
	bool asked_for = auth->listener != -1 && !config_trusts_everybody(auth->boxd->config);

	return asked_for ? auth->token.path : "";
}

uint64_t
auth_refused(const struct auth *auth)
{
	return auth->refused;
}
