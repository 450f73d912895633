/* What dns_packet.c has for dns_answer.c: replies in parts. */
#pragma once

#include "dns/dns_packet.h"

/* The asked name; NULL without memory. */
ldns_rdf *question_name(const struct question *);

/* Of class IN.  Takes the name, NULL too; NULL without memory. */
ldns_rr *record_new(uint16_t type, uint32_t ttl, ldns_rdf *owner);

/* Bytes as they are: all of the record's data. */
bool record_set_data(ldns_rr *, const uint8_t *, size_t n);

/* The head and the question, as they came; NULL without memory. */
ldns_pkt *reply_begin(const struct question *, int rcode);

/* Takes the record, NULL too. */
bool packet_push(ldns_pkt *, ldns_pkt_section, ldns_rr *);

/* Takes the packet, NULL too. */
bool reply_finish(struct reply *, ldns_pkt *);
