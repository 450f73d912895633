#include "dnswire.h"

#include <arpa/inet.h>
#include <stdbool.h> /* before ldns */
#include <ldns/ldns.h>
#include <stdlib.h>
#include <string.h>

/* ---- writing ---------------------------------------------------------------------- */

void
wire_u16(struct buf *b, unsigned x)
{
	uint8_t two[2] = { (uint8_t)(x >> 8), (uint8_t)x };

	buf_append(b, two, sizeof(two));
}

void
wire_head(struct buf *b, unsigned id, unsigned flags, unsigned qd, unsigned an, unsigned ns, unsigned ar)
{
	wire_u16(b, id);
	wire_u16(b, flags);
	wire_u16(b, qd);
	wire_u16(b, an);
	wire_u16(b, ns);
	wire_u16(b, ar);
}

void
wire_name(struct buf *b, const char *dotted)
{
	while (*dotted != '\0') {
		size_t  n = strcspn(dotted, ".");
		uint8_t len = (uint8_t)n;

		buf_append(b, &len, 1);
		buf_append(b, dotted, n);
		dotted += n + (dotted[n] == '.');
	}
	buf_append(b, "", 1);
}

void
wire_question(struct buf *b, const char *name, unsigned type)
{
	wire_name(b, name);
	wire_u16(b, type);
	wire_u16(b, 1);
}

void
wire_record(struct buf *b, const char *name, unsigned type, uint32_t ttl, const void *data, size_t n)
{
	wire_question(b, name, type);
	wire_u16(b, ttl >> 16);
	wire_u16(b, ttl & 0xffff);
	wire_u16(b, (unsigned)n);
	buf_append(b, data, n);
}

void
wire_address(struct buf *b, const char *name, uint32_t ttl, const char *address)
{
	uint8_t bytes[16];
	bool    v6 = strchr(address, ':') != NULL;

	if (inet_pton(v6 ? AF_INET6 : AF_INET, address, bytes) != 1)
		abort();
	wire_record(b, name, v6 ? T_AAAA : T_A, ttl, bytes, v6 ? 16 : 4);
}

void
wire_pointing(struct buf *b, const char *name, unsigned type, const char *before, size_t n, const char *target)
{
	struct buf data = { 0 };

	buf_append(&data, before, n);
	wire_name(&data, target);
	wire_record(b, name, type, 300, data.data, data.len);
	buf_clear(&data);
}

void
wire_soa(struct buf *b, const char *zone, uint32_t ttl)
{
	struct buf data = { 0 };

	wire_name(&data, "ns.example");
	wire_name(&data, "admin.example");
	for (unsigned i = 1; i <= 5; i++) {
		wire_u16(&data, 0);
		wire_u16(&data, i);
	}
	wire_record(b, zone, T_SOA, ttl, data.data, data.len);
	buf_clear(&data);
}

void
wire_opt(struct buf *b, unsigned udp_bytes, unsigned version)
{
	wire_name(b, "");
	wire_u16(b, T_OPT);
	wire_u16(b, udp_bytes);
	wire_u16(b, version & 0xff);
	wire_u16(b, 0);
	wire_u16(b, 0);
}

void
wire_ask(struct buf *b, unsigned id, const char *name, unsigned type)
{
	wire_head(b, id, RD, 1, 0, 0, 0);
	wire_question(b, name, type);
}

/* ---- reading ---------------------------------------------------------------------- */

/* "a.example. 300 A 1.2.3.4": ldns puts tabs and the class between. */
static void
put_record(struct buf *b, const ldns_rr *rr, const char *before)
{
	char *text = ldns_rr2str(rr), *word, *rest = text;

	buf_printf(b, "%s", before);
	for (int i = 0; (word = strsep(&rest, "\t \n")) != NULL; i++)
		if (*word != '\0' && i != 2)
			buf_printf(b, " %s", word);
	free(text);
}

static void
put_records(struct buf *b, const ldns_rr_list *l, const char *first)
{
	for (size_t i = 0; i < ldns_rr_list_rr_count(l); i++)
		put_record(b, ldns_rr_list_rr(l, i), i == 0 ? first : ",");
}

static void
put_question(struct buf *b, const ldns_pkt *p)
{
	const ldns_rr *rr = ldns_rr_list_rr(ldns_pkt_question(p), 0);

	if (rr == NULL)
		return;
	char *name = ldns_rdf2str(ldns_rr_owner(rr)), *type = ldns_rr_type2str(ldns_rr_get_type(rr));
	buf_printf(b, " %s %s", name, type);
	free(name);
	free(type);
}

static void
put_head(struct buf *b, const ldns_pkt *p)
{
	ldns_lookup_table *rcode = ldns_lookup_by_id(ldns_rcodes, ldns_pkt_get_rcode(p));

	if (ldns_pkt_edns_extended_rcode(p) != 0)
		buf_printf(b, "+%u ", ldns_pkt_edns_extended_rcode(p));
	buf_printf(b, "%s", rcode == NULL ? "?" : rcode->name);
	if (ldns_pkt_tc(p))
		buf_printf(b, " tc");
	if (ldns_pkt_edns(p))
		buf_printf(b, " edns");
}

const char *
wire_text(const void *bytes, size_t n)
{
	static struct buf b;
	ldns_pkt         *p;

	b.len = 0;
	if (ldns_wire2pkt(&p, bytes, n) != LDNS_STATUS_OK)
		return "broken";
	if (!ldns_pkt_qr(p) || !ldns_pkt_ra(p) || ldns_pkt_aa(p) || ldns_pkt_ad(p))
		buf_printf(&b, "(odd flags) ");
	put_head(&b, p);
	put_question(&b, p);
	put_records(&b, ldns_pkt_answer(p), ":");
	put_records(&b, ldns_pkt_authority(p), " auth");
	put_records(&b, ldns_pkt_additional(p), " more");
	buf_append(&b, "", 1);
	ldns_pkt_free(p);
	return b.data;
}
