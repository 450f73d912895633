#!/bin/sh
# On a host that has one family of addresses, names have addresses of that family alone, and nothing waits for the other.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_start
session s

on_host ip -6 route del default
is "$(inside s name good.example)" "good.example: OK 93.184.216.34" "without IPv6: a name with both has the other"
like "$(inside s name six.example)" 'six.example: (NODATA|NONAME)' "a name with IPv6 alone has none"
like "$(fetch s http://good.example/)" '^served 93.184.216.34' "so what looks for both finds the one"
is "$(inside s tcp 2606:2800:220:1::34/80)" "2606:2800:220:1::34/80: ECONNRESET" "an address of it is reset at once"
on_host ip -6 route add default via 2a00:1450::1
like "$(inside s tcp six.example/80)" 'OK served 2606:2800:220:1::34' "with it again: it is there"

# the resolver must still be reached
boxd_stop
boxd_config 'network.resolvers = 2620:fe::fe'
boxd_start
session s
on_host ip -4 route del default
is "$(inside s name good.example)" "good.example: OK 2606:2800:220:1::34" "without IPv4 likewise"
like "$(fetch s http://good.example/)" '^served 2606:2800:220:1::34' "it is reached"
is "$(inside s tcp 93.184.216.34/80)" "93.184.216.34/80: ECONNRESET" "and the other reset at once"
done_testing
