/*
 * Who a connection is, and what it may ask for.  The gateway only carries bytes; the kernel is asked here, on
 * the client's own socket.
 *
 *	control socket, native    NATIVE at once: the kernel vouches for it
 *	control socket, HTTP      STRANGER whom the kernel vouches for: needs no token
 *	LangBot's door            STRANGER until HTTP_AUTH made it RPC or RELAY, and that for ever
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "auth/listen.h"
#include "wire/msg.h"

enum identity_kind {
	ID_STRANGER = 1 << 0,
	ID_NATIVE = 1 << 1,
	ID_RPC = 1 << 2,
	ID_RELAY = 1 << 3,
};

/* The one process a relay may speak with. */
struct relay_right {
	char asked[LIM_NAME + 1];   /* as the client calls the session */
	char session[LIM_NAME + 1]; /* its name here */
	char process[LIM_NAME + 1];
};

struct identity {
	uint64_t            conn;
	enum identity_kind  kind;
	bool                vouched; /* by the kernel */
	bool                asking;  /* its HTTP_AUTH, or what a probe asks for, is being decided */
	struct address      peer;    /* none: of the control socket */
	struct relay_right *relay;   /* owned; of a RELAY */
};

struct identities;

/* listener: the control socket, by which its clients are known. */
struct identities *identities_open(const char *allowed_group, int listener, struct err *);
void               identities_close(struct identities **);

/* A client came on this socket: remember it, or -1 and why it may not. */
int  identity_admit(struct identities *, uint64_t conn, int peer, enum speaks, struct err *);
void identity_forget(struct identities *, uint64_t conn);
void identity_forget_all(struct identities *);

/* NULL when it is not admitted. */
struct identity *identity_find(const struct identities *, uint64_t conn);

/* A stranger has shown who it is. */
void identity_becomes_rpc(struct identities *, struct identity *);
int  identity_becomes_relay(struct identity *, const struct relay_right *, struct err *);

/* For the log: an address, or "control-socket". */
const char *identity_peer(const struct identity *, char out[ADDRESS_TEXT]);

size_t identities_count(const struct identities *);

/* The clients of /rpc/ws among them. */
size_t identities_rpc(const struct identities *);
