/*
 * box-egress alone, driven over its channel as the supervisor would, in namespaces of the test's own:
 *
 *	the test, and box-egress	the "host": 185.199.108.10 and 2a00:1450::10, with one way out
 *	net				the "internet" behind that way: every address is there
 *	a sandbox			loopback only, with rules that redirect its connections, as boxd makes it
 *
 * All are in one process: a socket stays in the namespace it was made in.  Nothing leaves the machine.
 */
#pragma once

#include <netinet/in.h>

#include "base/netaddr.h"
#include "workbox.h"

#define SERVER "93.184.216.34" /* an address of the internet, as good as any other */
#define SERVER6 "2606:2800:220:1::34"
#define HOST "185.199.108.10"

struct egressbox {
	struct workbox      work;
	struct msg_net_info counts;       /* of the last EGRESS_COUNTS; its lists are gone */
	unsigned            n_counts;     /* so many came */
	unsigned            n_denied;     /* EGRESS_DENIED */
	uint64_t            denied_id;    /* of the last */
	char                denied[1024]; /* "tcp name address port rule count" */
};

struct sandbox {
	uint64_t id;
	int      ns, listener, dns, refusals;
};

/* Make the namespaces, or skip all tests and say why. */
void world_begin(void);

/* Start it with these rules, one in a line: "allow 1.2.3.0/24 port 80-90", "deny *.example", "allow all". */
void egressbox_start(struct egressbox *, const char *rules, const struct msg_egress_start *others);

/* The next that is started gets no more descriptors than this. */
void egressbox_may_have(unsigned descriptors);

/* Its exit status; it is told to go by the end of its channel, or killed. */
int egressbox_end(struct egressbox *, bool by_force);

/* Other rules for all; they hold when this returns. */
void egressbox_rules(struct egressbox *, const char *rules);

void sandbox_make(struct sandbox *, uint64_t id);
void sandbox_free(struct sandbox *);

/* Let it out; narrow as rules above, or NULL; before: what was counted, or NULL. */
void egressbox_open(struct egressbox *, const struct sandbox *, const char *narrow, const struct msg_net_info *before);
void egressbox_close(struct egressbox *, const struct sandbox *);

/* What is known of it now; valid until the next call. */
const struct msg_net_info *egressbox_look(struct egressbox *, const struct sandbox *, bool flows);

/* Read what comes until there were so many EGRESS_COUNTS, or EGRESS_DENIED. */
void egressbox_await(struct egressbox *, unsigned counts, unsigned denied);

/* "tcp good.example 1.2.3.4 80 rule 3", the i-th denial of an answer, "" when there is none. */
const char *denial_text(const struct msg_net_info *, size_t i);

/* Bytes of memory that it has in use, and descriptors. */
size_t egressbox_memory(const struct egressbox *);
size_t egressbox_descriptors(const struct egressbox *);

/* ---- sockets ---- */

/* From a sandbox, blocking; or -1 and errno. */
int inside_connect(const struct sandbox *, const char *address, uint16_t port);

/* On the host itself. */
int host_connect(const char *address, uint16_t port);
int host_listen(uint16_t port);

/* At a port of all addresses of the internet. */
int net_listen(uint16_t port);

/* One more; the address it was made to, if not NULL. */
int net_accept(int listener, char to[NETADDR_TEXT]);

/* The outcome of one read: "3 bytes", "end", "reset", or the error. */
const char *outcome(int fd);

/* All of it, or bail out. */
void put(int fd, const char *text);

/* As many as text has, and whether they are these. */
bool got(int fd, const char *text);

/* ---- names ---- */

/*
 * A name server of the internet at 9.9.9.9, in a process of its own that ends with the test.
 * table: "good.example 1.2.3.4\n..."; all else is NXDOMAIN.
 */
void net_names(const char *table);

/* Ask from a sandbox: "1.2.3.4 5.6.7.8", "" for no address, "rcode 3". */
const char *inside_resolve(const struct sandbox *, const char *name);

/* ---- processes ---- */

/* Run fn in a child that ends with the test. */
pid_t helper(void (*fn)(int), int fd);
void  helper_end(pid_t);

/*
 * For a helper: of each connection, everything that comes is sent back, until its end; or it is read away, and its end
 * is answered with the number of bytes.
 */
void serve_echo(int listener);
void serve_sink(int listener);
