#!/bin/sh
# boxctl call makes any request a client may make, and says what is wrong with the others before anything is sent.
. t/lib/sh/boxd.sh
boxd_start
like "$(box call ping -o json)" '"version": *"[0-9.]+"' "a request without parameters"
is "$(box call create '{"session": "s", "spec": {"memory_mb": 64, "persistent": true, "extra_mounts": []}}' -o json |
	perl -MJSON::PP -e 'local $/; my $j = decode_json(<STDIN>); print join " ", $j->{session}, $j->{spec}{memory_mb}, $j->{spec}{persistent} ? "yes" : "no"')" \
	"s 64 yes" "a struct, a number, a boolean, a list"
like "$(box call exec '{"session": "s", "argv": ["cat"], "stdin": "höhö"}' -o json)" '"stdout": *"höhö"' "bytes"
is "$(box call exec '{"session": "nobody", "argv": ["true"]}' 2>&1)" "boxctl: session nobody not found" "a refusal is told"
refused() { # parameter text
	said=$(box call $1 "$2" 2>&1)
	is $? 2 "$3: exit 2"
	like "$said" "$4" "and it says why"
}
refused exec '{"session": 1}' "a wrong type" 'session'
refused exec '{"sessions": "s"}' "an unknown field" 'sessions'
refused exec '[1]' "no object" 'no JSON object'
refused exec '{' "no JSON" 'no JSON object'
refused worker_start '{}' "not for clients" "worker_start' is no request"
refused nothing '{}' "unknown" "nothing' is no request"
done_testing
