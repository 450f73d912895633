/*
 * An answer is read record by record, and a reply is made of those on the way from the asked name: what is not of class
 * IN, not of the asked type and no CNAME is not looked at.  ldns reads all names and all records with names in them,
 * with some care around it:
 *
 *   - it follows up to 65535 compression pointers for one name: so a bounded number of records is looked at;
 *   - it takes rdata-length bytes of memory for every string of a TXT record, and there can be as many strings as
 *     bytes: so records without names are copied as they are, after their form was checked;
 *   - it does not mind when a record's names end elsewhere than the record: so that is checked.
 */
#include <ctype.h>
#include <string.h>

#include "dns/dns_packet_impl.h"

enum {
	RECORDS_SEEN = 256,  /* of the answer section; more are not looked at */
	AUTHORITY_SEEN = 32, /* of the authority section, for its SOA */
	CHAIN_MOST = 16,     /* CNAMEs behind each other; resolvers end at about as many */
	FIXED = 10,          /* bytes of a record between its name and its data: type, class, TTL, length */
};

/* ---- records ---------------------------------------------------------------- */

/* An answer on its way through. */
struct reading {
	const struct question *q;
	const uint8_t         *wire;
	size_t                 n, pos;
	ldns_rr               *kept[REPLY_RECORDS]; /* owned; NULL again when it has gone on into the reply */
	size_t                 n_kept;
	ldns_rr               *soa; /* owned */
};

static bool
strings_fill(const uint8_t *p, size_t n)
{
	size_t at = 0;

	while (at < n)
		at += 1u + p[at];
	return n > 0 && at == n;
}

/* Has no names in it, and the form that its type has. */
static bool
is_plain(uint16_t type, const uint8_t *p, size_t n)
{
	switch (type) {
	case LDNS_RR_TYPE_A:
		return n == 4;
	case LDNS_RR_TYPE_AAAA:
		return n == 16;
	case LDNS_RR_TYPE_TXT:
		return strings_fill(p, n);
	case LDNS_RR_TYPE_CAA:
		return n >= 2 && p[1] > 0 && n >= 2u + p[1];
	default:
		return false;
	}
}

static bool
has_names(uint16_t type)
{
	switch (type) {
	case LDNS_RR_TYPE_CNAME:
	case LDNS_RR_TYPE_MX:
	case LDNS_RR_TYPE_SRV:
	case LDNS_RR_TYPE_PTR:
	case LDNS_RR_TYPE_NS:
	case LDNS_RR_TYPE_SOA:
	case LDNS_RR_TYPE_NAPTR:
		return true;
	default:
		return false;
	}
}

/* data: where its length stands.  end: where it ends, and no name in it reads further. */
static bool
read_data(ldns_rr *rr, const uint8_t *wire, size_t data, size_t end)
{
	uint16_t type = (uint16_t)ldns_rr_get_type(rr);
	size_t   at = data, n = end - data - 2;

	if (has_names(type))
		return ldns_wire2rdf(rr, wire, end, &at) == LDNS_STATUS_OK && at == end &&
		       ldns_rr_rd_count(rr) == ldns_rr_descriptor_maximum(ldns_rr_descript(type));
	return is_plain(type, wire + data + 2, n) && record_set_data(rr, wire + data + 2, n);
}

/* RFC 2181: a TTL with the top bit set counts as 0. */
static uint32_t
sane_ttl(uint32_t ttl)
{
	return ttl > INT32_MAX ? 0 : ttl > REPLY_TTL_MOST ? REPLY_TTL_MOST : ttl;
}

/* From behind a record's name to its end. */
static bool
skip_record(struct reading *a)
{
	if (a->pos > a->n || a->n - a->pos < FIXED)
		return false;
	size_t data = ldns_read_uint16(a->wire + a->pos + FIXED - 2);
	a->pos += FIXED;
	if (a->n - a->pos < data)
		return false;
	a->pos += data;
	return true;
}

/*
 * The next record.  false: the bytes there are not a record, so nothing after them can be found.  *rr is NULL for one that is
 * of no interest: neither of this type nor a CNAME.
 */
static bool
read_record(struct reading *a, uint16_t type, ldns_rr **rr)
{
	ldns_rdf *owner = NULL;

	*rr = NULL;
	if (ldns_wire2dname(&owner, a->wire, a->n, &a->pos) != LDNS_STATUS_OK)
		return false;
	size_t fixed = a->pos;
	if (!skip_record(a)) {
		ldns_rdf_deep_free(owner);
		return false;
	}
	const uint8_t *p = a->wire + fixed;
	uint16_t       is = ldns_read_uint16(p);
	if (ldns_read_uint16(p + 2) != LDNS_RR_CLASS_IN || (is != type && is != LDNS_RR_TYPE_CNAME)) {
		ldns_rdf_deep_free(owner);
		return true;
	}
	*rr = record_new(is, sane_ttl(ldns_read_uint32(p + 4)), owner);
	if (*rr != NULL && read_data(*rr, a->wire, fixed + FIXED - 2, a->pos))
		return true;
	ldns_rr_free(*rr);
	*rr = NULL;
	return false;
}

/* The bytes of labels and their lengths; a length is never a letter. */
static bool
same_name(const ldns_rdf *a, const uint8_t *name, size_t n)
{
	const uint8_t *p = ldns_rdf_data(a);

	if (ldns_rdf_size(a) != n)
		return false;
	for (size_t i = 0; i < n; i++)
		if (tolower(p[i]) != tolower(name[i]))
			return false;
	return true;
}

/* To our question, and nothing but it. */
static bool
read_head(struct reading *a)
{
	ldns_rr *rr = NULL;
	bool     same;

	if (a->n < LDNS_HEADER_SIZE || !LDNS_QR_WIRE(a->wire) || LDNS_OPCODE_WIRE(a->wire) != LDNS_PACKET_QUERY ||
	    LDNS_QDCOUNT(a->wire) != 1)
		return false;
	a->pos = LDNS_HEADER_SIZE;
	if (ldns_wire2rr(&rr, a->wire, a->n, &a->pos, LDNS_SECTION_QUESTION) != LDNS_STATUS_OK)
		return false;
	same = ldns_rr_get_type(rr) == a->q->type && ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN &&
	       same_name(ldns_rr_owner(rr), a->q->qname, a->q->qname_len);
	ldns_rr_free(rr);
	return same;
}

/* The first SOA there says how long a "no" may be remembered. */
static bool
read_authority(struct reading *a)
{
	size_t   n = LDNS_NSCOUNT(a->wire);
	ldns_rr *rr;

	for (size_t i = 0; i < n && i < AUTHORITY_SEEN && a->soa == NULL; i++) {
		if (!read_record(a, LDNS_RR_TYPE_SOA, &rr))
			return false;
		if (rr != NULL && ldns_rr_get_type(rr) == LDNS_RR_TYPE_SOA)
			a->soa = rr;
		else
			ldns_rr_free(rr);
	}
	return true;
}

static bool
read_answer(struct reading *a)
{
	size_t   n;
	ldns_rr *rr;

	if (!read_head(a))
		return false;
	n = LDNS_ANCOUNT(a->wire);
	for (size_t i = 0; i < n && i < RECORDS_SEEN; i++) {
		if (!read_record(a, a->q->type, &rr))
			return false;
		if (rr != NULL && a->n_kept < REPLY_RECORDS)
			a->kept[a->n_kept++] = rr;
		else
			ldns_rr_free(rr);
	}
	return n > RECORDS_SEEN || read_authority(a);
}

static void
reading_clear(struct reading *a)
{
	for (size_t i = 0; i < a->n_kept; i++)
		ldns_rr_free(a->kept[i]);
	ldns_rr_free(a->soa);
}

/* ---- from an answer to a reply ----------------------------------------------------------- */

static bool
is_address(uint16_t type)
{
	return type == LDNS_RR_TYPE_A || type == LDNS_RR_TYPE_AAAA;
}

static bool
may_pass(const ldns_rr *rr, reply_address *judge, void *arg)
{
	const ldns_rdf     *data = ldns_rr_rdf(rr, 0);
	struct sockaddr_in  v4 = { .sin_family = AF_INET };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6 };
	struct netaddr      a;
	uint16_t            port;

	if (ldns_rr_get_type(rr) == LDNS_RR_TYPE_A) {
		memcpy(&v4.sin_addr, ldns_rdf_data(data), sizeof(v4.sin_addr));
		netaddr_of((const struct sockaddr *)&v4, &a, &port);
	} else {
		memcpy(&v6.sin6_addr, ldns_rdf_data(data), sizeof(v6.sin6_addr));
		netaddr_of((const struct sockaddr *)&v6, &a, &port);
	}
	return judge(arg, &a, ldns_rr_ttl(rr));
}

/* All records of that name and type; how many there were.  Those that may not pass stay behind. */
static size_t
move_records(struct reading *a, ldns_pkt *p, const ldns_rdf *name, reply_address *judge, void *arg)
{
	size_t found = 0;

	for (size_t i = 0; i < a->n_kept; i++) {
		ldns_rr *rr = a->kept[i];

		if (rr == NULL || ldns_rr_get_type(rr) != a->q->type ||
		    !same_name(ldns_rr_owner(rr), ldns_rdf_data(name), ldns_rdf_size(name)))
			continue;
		found++;
		if (is_address(a->q->type) && !may_pass(rr, judge, arg))
			continue;
		a->kept[i] = NULL;
		packet_push(p, LDNS_SECTION_ANSWER, rr);
	}
	return found;
}

/* Where the name leads, if it is another's; the record goes into the reply.  NULL: it ends here. */
static const ldns_rdf *
move_alias(struct reading *a, ldns_pkt *p, const ldns_rdf *name)
{
	for (size_t i = 0; i < a->n_kept; i++) {
		ldns_rr *rr = a->kept[i];

		if (rr == NULL || ldns_rr_get_type(rr) != LDNS_RR_TYPE_CNAME ||
		    !same_name(ldns_rr_owner(rr), ldns_rdf_data(name), ldns_rdf_size(name)))
			continue;
		a->kept[i] = NULL;
		return packet_push(p, LDNS_SECTION_ANSWER, rr) ? ldns_rr_rdf(rr, 0) : NULL;
	}
	return NULL;
}

/* From the asked name along its CNAMEs to the records; each is used once, so a circle of them ends. */
static void
move_chain(struct reading *a, ldns_pkt *p, const ldns_rdf *asked, reply_address *judge, void *arg)
{
	const ldns_rdf *name = asked, *last = asked;
	size_t          found = 0;

	for (int i = 0; i <= CHAIN_MOST && name != NULL; i++) {
		last = name;
		found = move_records(a, p, name, judge, arg);
		name = found > 0 ? NULL : move_alias(a, p, name);
	}
	if (found > 0 || a->soa == NULL)
		return;
	if (same_name(ldns_rr_owner(a->soa), ldns_rdf_data(last), ldns_rdf_size(last)) ||
	    ldns_dname_is_subdomain(last, ldns_rr_owner(a->soa))) {
		packet_push(p, LDNS_SECTION_AUTHORITY, a->soa);
		a->soa = NULL;
	}
}

static ldns_pkt *
compose(struct reading *a, int rcode, reply_address *judge, void *arg)
{
	ldns_pkt *p = reply_begin(a->q, rcode);
	ldns_rdf *asked = question_name(a->q);

	if (p != NULL && asked != NULL)
		move_chain(a, p, asked, judge, arg);
	ldns_rdf_deep_free(asked);
	return p;
}

/* It is too long: ask by TCP; and by TCP there is no way to tell it. */
static bool
reply_too_long(struct reply *r, const struct question *q, size_t most)
{
	ldns_pkt *p = reply_begin(q, most == REPLY_TCP_MOST ? LDNS_RCODE_SERVFAIL : LDNS_RCODE_NOERROR);

	reply_clear(r);
	if (p != NULL && most != REPLY_TCP_MOST)
		ldns_pkt_set_tc(p, true);
	return reply_finish(r, p);
}

bool
reply_answer(struct reply *r, const struct question *q, size_t most, const uint8_t *answer, size_t n,
    reply_address *judge, void *arg)
{
	struct reading a = { .q = q, .wire = answer, .n = n };
	int            rcode = n < LDNS_HEADER_SIZE ? LDNS_RCODE_SERVFAIL : LDNS_RCODE_WIRE(answer);
	bool           made;

	if ((rcode == LDNS_RCODE_NOERROR || rcode == LDNS_RCODE_NXDOMAIN) && read_answer(&a))
		made = reply_finish(r, compose(&a, rcode, judge, arg));
	else
		made = reply_rcode(r, q, LDNS_RCODE_SERVFAIL);
	reading_clear(&a);
	return made && r->n > most ? reply_too_long(r, q, most) : made;
}
