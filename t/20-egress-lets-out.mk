# Tests of box-egress, in namespaces of their own; those of its rules and names are built by themselves.
egress_TESTS := 20-egress-lets-out 20-egress-under-load 20-egress-changes 20-egress-server-name 20-egress-refuses 20-egress-confined
$(foreach t,$(egress_TESTS),$(eval $(t)_EXTRA := t/lib/egressbox t/lib/egressworld t/lib/egresspeers t/lib/workbox workers/egress/route))
$(foreach t,$(egress_TESTS),$(eval $(t)_LIBS := $(call libs,libmnl libnftables)))

20-egress-server-name_EXTRA += workers/egress/hello workers/egress/hello_http workers/egress/requests
20-egress-server-name_LIBS  += $(call libs,openssl)
20-egress-refuses_EXTRA     += workers/egress/refusals

fuzz_hello_EXTRA    := workers/egress/hello workers/egress/hello_http workers/egress/requests
fuzz_hello_LIBS     := $(call libs,openssl)
fuzz_refusals_EXTRA := workers/egress/refusals
fuzz_refusals_LIBS  := $(call libs,libmnl)
