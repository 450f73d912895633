/* DNS packets written byte by byte, so that they can be wrong, and read back as text. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

enum { QR = 0x8000, TC = 0x0200, RD = 0x0100, RA = 0x0080, CD = 0x0010 }; /* in the second word of a head */
enum {
	T_A = 1,
	T_NS = 2,
	T_CNAME = 5,
	T_SOA = 6,
	T_PTR = 12,
	T_MX = 15,
	T_TXT = 16,
	T_AAAA = 28,
	T_SRV = 33,
	T_NAPTR = 35,
	T_OPT = 41,
	T_SVCB = 64,
	T_HTTPS = 65,
	T_CAA = 257,
};

void wire_u16(struct buf *, unsigned);
void wire_head(struct buf *, unsigned id, unsigned flags, unsigned qd, unsigned an, unsigned ns, unsigned ar);
void wire_name(struct buf *, const char *dotted); /* "": the root */
void wire_question(struct buf *, const char *name, unsigned type);
void wire_record(struct buf *, const char *name, unsigned type, uint32_t ttl, const void *data, size_t n);
void wire_address(struct buf *, const char *name, uint32_t ttl, const char *address); /* A or AAAA */
void wire_pointing(struct buf *, const char *name, unsigned type, const char *before, size_t n, const char *target);
void wire_soa(struct buf *, const char *zone, uint32_t ttl);
void wire_opt(struct buf *, unsigned udp_bytes, unsigned version);

/* A whole question with RD set. */
void wire_ask(struct buf *, unsigned id, const char *name, unsigned type);

/*
 * A reply as text: "NOERROR a.example A: a.example. 300 A 1.2.3.4, ... auth ...", with " tc" and " edns" behind the
 * rcode.  "broken" if it is none.  Lives until the next call.
 */
const char *wire_text(const void *, size_t n);
