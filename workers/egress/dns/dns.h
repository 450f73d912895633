/*
 * Names for sandboxes.  A session asks by UDP on a socket in its namespace, or by TCP on a connection that was
 * redirected; the host's resolvers are asked for what its rules let it ask, and only what may be passed on is.
 *
 * Hostile packets come from both sides and are taken apart by ldns alone; c-ares speaks with the resolvers.
 */
#pragma once

#include <ev.h>

#include "base/netaddr.h"
#include "rules/rules.h"
#include "wire/msg.h"

/* ---- the host's resolvers; one for all sessions ---- */

struct resolver;

/*
 * servers: "1.2.3.4", "1.2.3.4:53", "[::1]:53"; none: no name can be resolved.  sockets: at one time, for questions by UDP;
 * those beyond share.  Reads no file, then or later; opens /dev/urandom once, so it comes before the confinement.  The process ignores SIGPIPE (startup.h).
 */
struct resolver *resolver_open(struct ev_loop *, const struct strs *servers, size_t sockets, struct err *);
void             resolver_close(struct resolver **); /* after all that ask it */

/* From the next question on, and for those that wait.  -1 and the reason: those before stay, if one is no address. */
int resolver_servers(struct resolver *, const struct strs *servers, struct err *);

/* ---- the names of one session ---- */

struct dns;

/* None of these closes the session's dns. */
struct dns_ops {
	/* A well-formed question.  Counted, and judged: not allowed is answered NXDOMAIN. */
	void (*judge)(void *arg, const char *name, struct verdict *);

	/*
	 * An address of an answer to that name.  true: pass it on, and it is pinned for the name by now.  false: it is
	 * refused by a rule, or this host has no way to it; it is left out.
	 */
	bool (*address)(void *arg, const char *name, const struct netaddr *, uint32_t ttl_sec);

	/* A question was refused because there were too many, or too many bytes. */
	void (*over_limit)(void *arg);
};

/*
 * Takes the UDP socket when it succeeds.  localhost, and names of addresses in the ranges of netrange.def, are answered
 * without asking anybody: neither counted nor judged.
 */
struct dns *dns_open(struct ev_loop *, struct resolver *, int udp, uint64_t bytes_per_minute, const struct dns_ops *,
    void *arg, struct err *);

/* A redirected TCP connection to port 53 of 127.0.0.1.  Takes it. */
void dns_take(struct dns *, int fd);

/* With all questions that wait, and its connections. */
void dns_close(struct dns **);
