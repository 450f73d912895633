/*
 * DNS packets of both sides.  The first byte chooses: a question of a sandbox, or an answer of a resolver to a question
 * that is read from the packet itself, so that the answer fits it.  Whatever comes in, every reply is a packet with that
 * question, no longer than it may be, and with no address that was refused.
 */
#include "fuzz.h"
#include "workers/egress/dns/dns_local.h"
#include "workers/egress/dns/dns_packet.h"

static bool
judge(void *arg, const struct netaddr *a, uint32_t ttl)
{
	must((a->family == 4 || a->family == 6) && ttl <= REPLY_TTL_MOST);
	return a->bytes[3] % 4 != 2;
}

static void
no_refused(const ldns_pkt *p)
{
	ldns_rr_list *l = ldns_pkt_answer(p);

	must(ldns_rr_list_rr_count(l) <= REPLY_RECORDS && ldns_rr_list_rr_count(ldns_pkt_additional(p)) == 0);
	for (size_t i = 0; i < ldns_rr_list_rr_count(l); i++) {
		const ldns_rr *rr = ldns_rr_list_rr(l, i);

		must(ldns_rr_get_class(rr) == LDNS_RR_CLASS_IN);
		if (ldns_rr_get_type(rr) == LDNS_RR_TYPE_A)
			must(ldns_rdf_data(ldns_rr_rdf(rr, 0))[3] % 4 != 2);
	}
}

static void
check(struct reply *r, const struct question *q, size_t most)
{
	ldns_pkt *p;

	must(r->n >= LDNS_HEADER_SIZE && r->n <= most && LDNS_QR_WIRE(r->bytes) && LDNS_ID_WIRE(r->bytes) == q->id);
	/* long ones cost ldns much memory, which is why what is read of them is not its business */
	if (r->n <= 4096) {
		must(ldns_wire2pkt(&p, r->bytes, r->n) == LDNS_STATUS_OK);
		must(ldns_pkt_qdcount(p) == (q->qname_len > 0 ? 1 : 0) && ldns_pkt_edns(p) == q->edns);
		no_refused(p);
		ldns_pkt_free(p);
	}
	reply_clear(r);
}

static void
try_question(const uint8_t *p, size_t n)
{
	struct question q;
	struct reply    r = { 0 };
	int             rcode = question_parse(&q, p, n);

	must(rcode >= QUESTION_SILENCE && rcode <= 16);
	if (rcode == QUESTION_SILENCE)
		return;
	must(q.udp_most >= REPLY_UDP_LEAST && q.udp_most <= REPLY_UDP_MOST && q.qname_len <= sizeof(q.qname));
	must(reply_rcode(&r, &q, rcode));
	check(&r, &q, REPLY_UDP_LEAST);
	if (rcode != 0)
		return;
	must(*q.name != '\0' && strlen(q.name) <= LIM_DNS_NAME &&
	     strspn(q.name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") == strlen(q.name));
	local_name(q.name);
	must(reply_loopback(&r, &q));
	check(&r, &q, REPLY_UDP_LEAST);
}

/* The same head without QR, and the question behind it. */
static bool
question_of(struct question *q, const uint8_t *p, size_t n)
{
	uint8_t head[QUESTION_MOST];
	size_t  len = n < sizeof(head) ? n : sizeof(head);

	if (n < LDNS_HEADER_SIZE)
		return false;
	memcpy(head, p, len);
	memset(head + 2, 0, 10);
	head[5] = 1;
	return question_parse(q, head, len) == 0;
}

static void
try_answer(const uint8_t *p, size_t n, size_t most)
{
	struct question q;
	struct reply    r = { 0 };

	if (!question_of(&q, p, n))
		return;
	must(reply_answer(&r, &q, most, p, n, judge, NULL));
	check(&r, &q, most);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	if (n < 1)
		return 0;
	/* a copy that ends where the bytes end, so that a look behind them is seen */
	uint8_t *copy = malloc(n);
	memcpy(copy + 1, p + 1, n - 1);
	if (p[0] % 4 == 0)
		try_question(copy + 1, n - 1);
	else
		try_answer(copy + 1, n - 1, p[0] % 4 == 1 ? REPLY_UDP_LEAST : REPLY_TCP_MOST);
	free(copy);
	return 0;
}
