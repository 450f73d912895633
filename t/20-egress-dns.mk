egress_DNS := t/lib/dnsbox t/lib/namebox t/lib/dnswire \
	$(addprefix workers/egress/,dns dns_stream dns_packet dns_answer dns_local resolver ports)
20-egress-dns_EXTRA := $(egress_DNS)
20-egress-dns_LIBS  := $(call libs,libcares ldns)
20-egress-dns-limits_EXTRA := $(egress_DNS)
20-egress-dns-limits_LIBS  := $(call libs,libcares ldns)
