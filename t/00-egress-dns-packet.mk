dns_PACKET := workers/egress/dns_packet workers/egress/dns_answer workers/egress/dns_local
00-egress-dns-packet_EXTRA := t/lib/dnswire $(dns_PACKET)
00-egress-dns-packet_LIBS  := $(call libs,ldns)
00-egress-dns-answer_EXTRA := t/lib/dnswire $(dns_PACKET)
00-egress-dns-answer_LIBS  := $(call libs,ldns)
fuzz_dns_EXTRA := $(dns_PACKET)
fuzz_dns_LIBS  := $(call libs,ldns)
