#!/bin/sh
# An address becomes this host's own while sandboxes run: from then on it is denied, though it was reached before.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_start
session s
like "$(inside s tcp 45.33.32.156/8080)" 'OK served' "an address of the internet"
like "$(inside s tcp 45.33.32.156/8080)" 'OK served' "reached once more"
on_host ip addr add 45.33.32.156/32 dev h0
is "$(inside s tcp 45.33.32.156/8080)" "45.33.32.156/8080: ECONNRESET" "it is the host's own now, and refused"
like "$(box net s)" "this host's own address" "by that rule"
is "$(grep -c . "$HOST/visitors")" 0 "nobody came to the host's server"
on_host ip addr del 45.33.32.156/32 dev h0
like "$(inside s tcp 45.33.32.156/8080)" 'OK served' "it is somebody else's again"
on_host ip -6 addr add 2606:4700::beef/128 dev h0 nodad
is "$(inside s tcp 2606:4700::beef/8080)" "2606:4700::beef/8080: ECONNRESET" "the same of IPv6"
done_testing
