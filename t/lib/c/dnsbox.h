/*
 * The names of one session, all around them: a name server that answers by the first label of a name, and clients by UDP
 * and TCP.  Everything is in one loop.
 */
#pragma once

#include "namebox.h"
#include "workers/egress/dns/dns.h"

enum { PLENTY = 1 << 30, DNSBOX_SOCKETS = 40 };

extern struct ev_loop  *loop;
extern struct namebox   server;
extern struct resolver *resolver;

#define UNTIL(cond)     \
	while (!(cond)) \
	ev_run(loop, EVRUN_ONCE)

void dnsbox_open(void);
void dnsbox_close(void);
void dnsbox_resolver(void); /* opens it, with the server */

/* ---- the server: see answers[] in dnsbox.c ---- */

/* "hold..." is answered when the test says so, and "never..." is not. */
nb_handler    dnsbox_asked;
extern size_t n_held;
void          release(void);

/* ---- the session; names that begin with "deny" are denied, and so are addresses of netrange.def ---- */

extern struct session {
	struct dns *dns;
	int         udp;         /* the client's end */
	char        asked[4096]; /* names that were judged */
	char        told[4096];  /* addresses that were passed on */
	unsigned    judged, refused_addresses, over_limit;
} s;

void session_open(uint64_t bytes_per_minute);
void session_close(void);

/* ---- a client by UDP; what it hears is in got[] ---- */

extern uint8_t got[65536];
extern size_t  n_got;

void        say(const void *bytes, size_t n);
bool        hear(void); /* false: nothing yet */
unsigned    got_id(void);
void        ask_udp(unsigned id, const char *name, unsigned type);
const char *lookup(const char *name, unsigned type); /* one question, and its reply as text */

/* ---- clients by TCP ---- */

struct client {
	int        fd; /* owned */
	struct buf in;
	bool       ended; /* closed by the other side */
};

struct client client_open(void);
void          client_close(struct client *);
bool          client_say(struct client *, const void *bytes, size_t n); /* false: it takes no more now */
bool          client_ask(struct client *, unsigned id, const char *name, unsigned type);
bool          client_hear(struct client *); /* a whole reply into got[] */
const char   *client_lookup(struct client *, const char *name, unsigned type);
void          put_framed(struct buf *, unsigned id, const char *name, unsigned type);
