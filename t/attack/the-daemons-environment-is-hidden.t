#!/bin/sh
# What the operator gave boxd in its environment is nowhere inside.
. t/lib/sh/boxd.sh
SECRET=s3cr3t-$$-in-boxd AWS_SECRET_ACCESS_KEY=s3cr3t-$$-in-boxd
export SECRET AWS_SECRET_ACCESS_KEY
boxd_start
needle=s3cr3t-$$
unset AWS_SECRET_ACCESS_KEY SECRET
boxctl create --name s --pids 60 --memory 96 >/dev/null

ok "boxd has it" grep -q "$needle" "/proc/$BOXD_PID/environ"
# the needle is put together inside, so that the search does not find itself
search='my $n = "s3" . "cr3t-" . shift; my $hits = 0; my $read = 0;
	for my $p (glob "/proc/[0-9]*") { for my $f ("environ", "cmdline", "auxv") {
		open(my $h, "<", "$p/$f") or next; local $/; my $t = <$h>; $read++; $hits++ if index($t // "", $n) >= 0 } }
	$hits++ for grep { index($ENV{$_}, $n) >= 0 } keys %ENV;
	print "read ", $read > 0 ? "some" : "none", ", found $hits\n"'
is "$(in_box -- perl -e "$search" $$)" "read some, found 0" "it is in no environment and no arguments inside"
like "$(in_box -e "MINE=$needle" -- perl -e "$search" $$)" 'found [1-9]' "the search finds one that a client passes"
is "$(in_box -- env | cut -d= -f1 | sort | tr '\n' ' ')" "HOME LANG LOGNAME PATH SHELL TMPDIR USER " "a command's variables are boxd's list and no more"
like "$(in_box -c 'cat /proc/1/environ')" 'denied' "init's cannot be read"
init=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
if [ -r "/proc/$init/environ" ] && cat "/proc/$init/environ" >"$D/env" 2>/dev/null; then
	is "$(tr '\0' '\n' <"$D/env")" "" "and it has none at all"
else
	skip 1 "only root may look at init's environment from outside"
fi
is "$(in_box -c "set | grep -c s3cr3[t]-$$; exit 0")" 0 "nor does a shell know it"
boxctl exec s -- sleep 0.01
is "$(tr -d '\0' <"$D/log" | grep -c "$needle")" 0 "the log does not tell it"
done_testing
