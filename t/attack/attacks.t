#!/bin/sh
# Every attack that box-attack and boxctl know fails against a session, and leaves nothing behind.
. t/lib/sh/boxd.sh
boxd_start
before=$(attack_things)
boxctl doctor --attack -o json >"$D/json" 2>"$D/err"
code=$?
rows() { perl -MJSON::PP -e 'local $/; my $j = decode_json(<STDIN>); printf "%s %s %s\n", @$_{qw(result name detail)} for @{$j->{attacks}}' <"$D/json"; }
rows >"$D/rows"
ok "the suite runs to its end" [ -s "$D/rows" ]
is "$(cat "$D/err")" "" "without a complaint"

# TAP's name of a skipped test is lost with skip(), and here the names matter
while read -r result name detail; do
	detail=$(printf '%s' "$detail" | tr '#' '_')
	case $result in
	held) pass "$name: $detail" ;;
	skipped) _tests=$((_tests + 1)) && echo "ok $_tests - $name # SKIP $detail" ;;
	*) fail "$name: $detail" ;;
	esac
done <"$D/rows"

is "$code" "$(grep -q '^open ' "$D/rows" && echo 1 || echo 0)" "the exit status tells whether one is open"
for result in held open skipped; do
	is "$(perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{$ARGV[0]}' $result <"$D/json")" "$(grep -c "^$result " "$D/rows")" "the number of $result"
done

# What is on the list of box-attack was run, and boxctl's own half too.
"$BUILD/box-attack" --list | cut -f2 | grep -v '^neighbour' >"$D/listed"
while read -r name; do
	grep -q "^[a-z]* $name " "$D/rows" || echo "$name"
done <"$D/listed" >"$D/missing"
is "$(cat "$D/missing")" "" "every attack on the list has a row"
for name in outside.victim environment.client environment.daemon boxctl.closed-stdout boxctl.closed-stderr; do
	ok "boxctl adds $name" grep -q "^[a-z]* $name " "$D/rows"
done
unlike "$(cat "$D/rows")" "needs boxctl's half" "none lacks its other half"
is "$(boxctl ps --names)" "" "its sessions are gone"
is "$(attack_things)" "$before" "and its things on the host"
boxctl ping >/dev/null
ok "boxd answers"
done_testing
