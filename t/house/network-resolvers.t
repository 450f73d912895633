#!/bin/sh
# Names are asked of the resolvers that the operator names: several, of both families, with ports, also when some are dead.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
resolvers() {
	boxd_stop
	boxd_config "network.resolvers = $1"
	boxd_start
	session s
	: >"$NET/wire"
}
resolvers '9.9.9.9:53, [2620:fe::fe]:53'
is "$(inside s dns A good.example)" "good.example: NOERROR 93.184.216.34" "two, with ports"
resolvers '2620:fe::fe'
is "$(inside s dns A good.example)" "good.example: NOERROR 93.184.216.34" "one of IPv6"
isnt "$(came udp 2620:fe::fe 53)" 0 "it was asked"
is "$(came udp 9.9.9.9 53)" 0 "and no other"
resolvers '192.168.77.7'
is "$(inside s dns A good.example)" "good.example: NOERROR 93.184.216.34" "a private one, which is the host's own business"
is "$(inside s udp 192.168.77.7/53)" "192.168.77.7/53: EPERM" "and out of reach from inside"
resolvers '93.184.216.99, 9.9.9.9'
is "$(inside s dns A good.example)" "good.example: NOERROR 93.184.216.34" "the first is dead: the next is asked"
is "$(inside s dns A other.example)" "other.example: NOERROR 151.101.0.223" "again"
resolvers '9.9.9.9:7007'
is "$(inside s dns A good.example)" "good.example: SERVFAIL" "nobody is there: told so"
resolvers '93.184.216.99'
session other
later "$D/never" exec s -t 50 -- getent hosts good.example
like "$(fetch other http://93.184.216.34/)" '^served' "nobody answers: what needs no name goes on"
is "$(inside other dns A good.example)" "good.example: SERVFAIL" "and who asks is told in the end"
wait $LATER
isnt $? 0 "libc gives up too"
resolvers '9.9.9.9'
for i in 1 2 3 4 5; do inside s dns A good.example; done >/dev/null
like "$(inside s name good.example)" 'OK' "one is enough"
done_testing
