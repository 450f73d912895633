#!/bin/sh
# An agent's command has the network of its profile: none, or one with the section of rules that has the profile's name.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules"
cat >"$D/rules" <<'EOF'
deny 93.184.216.34 port 8080

[network_basic]
allow good.example port 80
deny all

[network_extended]
allow 10.20.30.40
EOF
boxd_start
agent() { # profile command
	box agent exec --profile "$1" --session-id "$1" -c "$2" 2>&1
}
page() { echo "curl -sS $1"; }

like "$(agent network_basic "$(page http://good.example/)")" 'host=good.example' "network_basic: what its section allows"
like "$(agent network_basic "$(page http://other.example/)")" 'Could not resolve' "and nothing else"
like "$(agent network_basic "$(page http://10.20.30.40/)")" "refused|reset|Couldn't connect" "nothing private"
like "$(agent network_extended "$(page http://other.example/)")" 'host=other.example' "network_extended: the internet"
like "$(agent network_extended "$(page http://10.20.30.40/)")" '^served 10.20.30.40' "and what its section opens"
like "$(agent network_extended "$(page http://192.168.77.7/)")" "refused|reset|Couldn't connect" "no more"
like "$(agent network_extended "$(page http://93.184.216.34:8080/)")" "reset|Empty reply|Couldn't connect" "and what all have"
like "$(agent offline "$(page http://93.184.216.34/)")" "Couldn't connect|unreachable|Failed to connect" "offline: none"
like "$(agent default "$(page http://93.184.216.34/)")" 'served 93.184.216.34' "default: the internet"
like "$(agent offline_readonly "$(page http://93.184.216.34/)")" "Couldn't connect|unreachable|Failed to connect" "offline_readonly: none"
like "$(box agent exec --profile offline_readonly --network on --session-id locked -c "$(page http://93.184.216.34/)" 2>&1)" "Couldn't connect|unreachable|Failed to connect" "also when it is asked for"
like "$(box agent exec --profile default --network on --session-id asked -c "$(page http://good.example/)" 2>&1)" 'host=good.example' "default and asked for: the rules for all"
like "$(box agent exec --profile default --network on --session-id asked -c "$(page http://10.20.30.40/)" 2>&1)" "refused|reset|Couldn't connect" "and no section of another profile"
is "$(net agent@network_basic mode)" egress "it has numbers as any session"
isnt "$(net agent@network_basic denied)" 0 "of what was refused too"
is "$(box inspect agent@network_basic -o json | field network_set)" network_basic "its section is in its spec"

# rules that change are an agent's at once, too
sed -i 's/^allow good.example port 80$/allow other.example/' "$D/rules"
box net --reload >/dev/null
like "$(agent network_basic "$(page http://other.example/)")" 'host=other.example' "a section that changed"
like "$(agent network_basic "$(page http://good.example/)")" 'Could not resolve' "holds in sessions that are there"
done_testing
