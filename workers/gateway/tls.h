/*
 * TLS 1.2 and later, without a socket: bytes of the client in, bytes for it out.  OpenSSL never sees a descriptor,
 * so back-pressure and time limits stay where they are for everybody: in the flow.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/buf.h"
#include "base/err.h"

struct tls_keys; /* certificate and key of LangBot's door */
struct tls;      /* of one client */

/* Before the walls stand: OpenSSL looks around in the file system when it starts, and never again. */
int tls_init(struct err *);

/* PEM, both.  NULL and the reason if they are no pair. */
struct tls_keys *tls_keys_open(const struct buf *certificate, const struct buf *key, struct err *);
void             tls_keys_close(struct tls_keys **);

struct tls *tls_open(struct tls_keys *, struct err *);
void        tls_close(struct tls **);

/*
 * What the client sent; what it says is appended to plain, and what TLS itself has to answer to sealed.
 * -1: it broke the protocol, or has closed; sealed may hold an alert.
 */
int tls_receive(struct tls *, const void *bytes, size_t n, struct buf *plain, struct buf *sealed, struct err *);

/* The handshake is done: only from here on something can be said. */
bool tls_is_up(const struct tls *);

/* Say this, all of it. */
int tls_say(struct tls *, const void *bytes, size_t n, struct buf *sealed, struct err *);

/* Nothing more will be said. */
void tls_bye(struct tls *, struct buf *sealed);
