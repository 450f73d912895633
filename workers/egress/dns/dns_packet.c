/*
 * ldns reads and writes the packets; dns_answer.c has the answers.  It follows up to 65535 compression pointers for one
 * name, and reads as many records as a header claims: so a question is short and has one record at most behind it.
 */
#include "dns/dns_packet_impl.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- questions ------------------------------------------------------------------------- */

static bool
is_known(uint16_t type)
{
	switch (type) {
	case LDNS_RR_TYPE_A:
	case LDNS_RR_TYPE_AAAA:
	case LDNS_RR_TYPE_CNAME:
	case LDNS_RR_TYPE_MX:
	case LDNS_RR_TYPE_TXT:
	case LDNS_RR_TYPE_SRV:
	case LDNS_RR_TYPE_PTR:
	case LDNS_RR_TYPE_NS:
	case LDNS_RR_TYPE_SOA:
	case LDNS_RR_TYPE_CAA:
	case LDNS_RR_TYPE_NAPTR:
	case LDNS_RR_TYPE_SVCB:
	case LDNS_RR_TYPE_HTTPS:
		return true;
	default:
		return false;
	}
}

static bool
is_name_byte(uint8_t c)
{
	return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

/* Labels with dots between them.  false: the root, or a byte that is in no name of a host or service. */
static bool
name_text(char text[LIM_DNS_NAME + 1], const uint8_t *wire, size_t n)
{
	size_t len = 0;

	if (n < 2 || n > LDNS_MAX_DOMAINLEN)
		return false;
	for (size_t at = 0; wire[at] != 0; at += 1u + wire[at]) {
		if (at > 0)
			text[len++] = '.';
		for (size_t i = 1; i <= wire[at]; i++) {
			text[len] = (char)tolower(wire[at + i]);
			if (!is_name_byte((uint8_t)text[len++]))
				return false;
		}
	}
	text[len] = '\0';
	return true;
}

static void
read_edns(struct question *q, const ldns_pkt *p)
{
	uint16_t most = ldns_pkt_edns_udp_size(p);

	q->edns = true;
	q->udp_most = most < REPLY_UDP_LEAST ? REPLY_UDP_LEAST : most > REPLY_UDP_MOST ? REPLY_UDP_MOST : most;
}

/* An additional record that is no OPT is of no use here; a signature, for one, would have to be checked. */
static int
read_packet(struct question *q, const ldns_pkt *p)
{
	const ldns_rr  *rr = ldns_rr_list_rr(ldns_pkt_question(p), 0);
	const ldns_rdf *name = rr == NULL ? NULL : ldns_rr_owner(rr);

	if (name == NULL || ldns_rdf_size(name) > sizeof(q->qname))
		return LDNS_RCODE_FORMERR;
	q->type = (uint16_t)ldns_rr_get_type(rr);
	q->qname_len = ldns_rdf_size(name);
	memcpy(q->qname, ldns_rdf_data(name), q->qname_len);
	if (ldns_pkt_edns(p))
		read_edns(q, p);
	if (ldns_pkt_edns_version(p) != 0)
		return 16; /* BADVERS */
	if (ldns_rr_get_class(rr) != LDNS_RR_CLASS_IN || !name_text(q->name, q->qname, q->qname_len))
		return LDNS_RCODE_REFUSED;
	return is_known(q->type) ? 0 : LDNS_RCODE_NOTIMPL;
}

static bool
is_small(const uint8_t *bytes, size_t n)
{
	return n <= QUESTION_MOST && LDNS_QDCOUNT(bytes) == 1 && LDNS_ANCOUNT(bytes) == 0 && LDNS_NSCOUNT(bytes) == 0 &&
	       LDNS_ARCOUNT(bytes) <= 1;
}

int
question_parse(struct question *q, const uint8_t *bytes, size_t n)
{
	ldns_pkt *p;
	int       rcode;

	*q = (struct question){ .udp_most = REPLY_UDP_LEAST };
	if (n < LDNS_HEADER_SIZE || LDNS_QR_WIRE(bytes))
		return QUESTION_SILENCE;
	q->id = LDNS_ID_WIRE(bytes);
	q->opcode = LDNS_OPCODE_WIRE(bytes);
	q->recursion = LDNS_RD_WIRE(bytes);
	q->unchecked = LDNS_CD_WIRE(bytes);
	if (q->opcode != LDNS_PACKET_QUERY)
		return LDNS_RCODE_NOTIMPL;
	if (!is_small(bytes, n) || ldns_wire2pkt(&p, bytes, n) != LDNS_STATUS_OK)
		return LDNS_RCODE_FORMERR;
	rcode = read_packet(q, p);
	ldns_pkt_free(p);
	return rcode;
}

/* ---- replies --------------------------------------------------------------------------- */

void
reply_clear(struct reply *r)
{
	free(r->bytes);
	*r = (struct reply){ 0 };
}

ldns_rr *
record_new(uint16_t type, uint32_t ttl, ldns_rdf *owner)
{
	ldns_rr *rr = owner == NULL ? NULL : ldns_rr_new();

	if (rr == NULL) {
		ldns_rdf_deep_free(owner);
		return NULL;
	}
	ldns_rr_set_owner(rr, owner);
	ldns_rr_set_type(rr, type);
	ldns_rr_set_class(rr, LDNS_RR_CLASS_IN);
	ldns_rr_set_ttl(rr, ttl);
	ldns_rr_set_question(rr, false);
	return rr;
}

bool
record_set_data(ldns_rr *rr, const uint8_t *p, size_t n)
{
	ldns_rdf *data = ldns_rdf_new_frm_data(LDNS_RDF_TYPE_UNKNOWN, n, p);

	if (data != NULL && ldns_rr_push_rdf(rr, data))
		return true;
	ldns_rdf_deep_free(data);
	return false;
}

ldns_rdf *
question_name(const struct question *q)
{
	return ldns_rdf_new_frm_data(LDNS_RDF_TYPE_DNAME, q->qname_len, q->qname);
}

bool
packet_push(ldns_pkt *p, ldns_pkt_section section, ldns_rr *rr)
{
	if (rr != NULL && ldns_pkt_push_rr(p, section, rr))
		return true;
	ldns_rr_free(rr);
	return false;
}

static void
set_rcode(ldns_pkt *p, const struct question *q, int rcode)
{
	ldns_pkt_set_rcode(p, (uint8_t)(rcode & 15));
	if (q->edns) {
		ldns_pkt_set_edns_udp_size(p, REPLY_UDP_MOST);
		ldns_pkt_set_edns_extended_rcode(p, (uint8_t)(rcode >> 4));
	}
}

ldns_pkt *
reply_begin(const struct question *q, int rcode)
{
	ldns_pkt *p = ldns_pkt_new();

	if (p == NULL)
		return NULL;
	ldns_pkt_set_id(p, q->id);
	ldns_pkt_set_opcode(p, q->opcode);
	ldns_pkt_set_qr(p, true);
	ldns_pkt_set_ra(p, true);
	ldns_pkt_set_rd(p, q->recursion);
	ldns_pkt_set_cd(p, q->unchecked);
	set_rcode(p, q, rcode);
	if (q->qname_len > 0) {
		ldns_rr *rr = record_new(q->type, 0, question_name(q));

		if (rr != NULL)
			ldns_rr_set_question(rr, true);
		if (!packet_push(p, LDNS_SECTION_QUESTION, rr)) {
			ldns_pkt_free(p);
			return NULL;
		}
	}
	return p;
}

/* Into a buffer that grows: ldns_pkt2wire would take 64 KiB for each. */
bool
reply_finish(struct reply *r, ldns_pkt *p)
{
	ldns_buffer *b = p == NULL ? NULL : ldns_buffer_new(REPLY_UDP_MOST);
	bool         made = b != NULL && ldns_pkt2buffer_wire(b, p) == LDNS_STATUS_OK;

	*r = (struct reply){ 0 };
	if (made) {
		r->n = ldns_buffer_position(b);
		r->bytes = ldns_buffer_export(b);
	}
	ldns_buffer_free(b);
	ldns_pkt_free(p);
	return made;
}

bool
reply_rcode(struct reply *r, const struct question *q, int rcode)
{
	return reply_finish(r, reply_begin(q, rcode));
}

bool
reply_loopback(struct reply *r, const struct question *q)
{
	static const uint8_t v4[4] = { 127, 0, 0, 1 }, v6[16] = { [15] = 1 };
	ldns_pkt            *p = reply_begin(q, LDNS_RCODE_NOERROR);
	bool                 is_v4 = q->type == LDNS_RR_TYPE_A;

	if (p != NULL && (is_v4 || q->type == LDNS_RR_TYPE_AAAA)) {
		ldns_rr *rr = record_new(q->type, REPLY_TTL_MOST, question_name(q));

		if (rr == NULL || !record_set_data(rr, is_v4 ? v4 : v6, is_v4 ? sizeof(v4) : sizeof(v6))) {
			ldns_rr_free(rr);
			rr = NULL;
		}
		packet_push(p, LDNS_SECTION_ANSWER, rr);
	}
	return reply_finish(r, p);
}
