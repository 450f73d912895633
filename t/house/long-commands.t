#!/bin/sh
# A command may have 1 MiB; what does not fit one argument behaves as what does.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_config 'langbot.output_bytes = 16777216'
boxd_start
boxctl create --name s >/dev/null

# The same command twice: as it is, and made long by comments behind it; what a shell calls itself in an error is not
# the command's business.
cat >"$D/twice.pl" <<'PERL'
use strict; use warnings; use JSON::PP;
my ($rpc, $socket, $dir, $session, $command) = @ARGV;
my @told;
for my $pad ("", "\n" . ("# " . "x" x 120 . "\n") x 2000) {
	my $call = "exec " . encode_json({ session => $session, command => $command . $pad, stdin => "IN\n" });
	open my $f, ">", "$dir/call" or die; print $f "$call\n"; close $f;
	my $answer = `perl $rpc $socket <$dir/call`;
	my $r = eval { decode_json($answer) } or die "$answer\n";
	$r->{stderr} =~ s{/proc/self/fd/9: }{}g;
	$r->{stderr} =~ s{/bin/sh: line \d+: }{/bin/sh: }g if $session eq "bb"; # its ash names the line of a file only
	push @told, "code=$r->{exit_code} out=$r->{stdout} err=$r->{stderr}";
}
print $told[0] eq $told[1] ? $told[0] : "short: $told[0]\nlong:  $told[1]\n";
PERL
twice_in() { perl "$D/twice.pl" t/lib/sh/rpc.pl "$D/run/boxd.sock" "$D" "$@"; }
twice() { twice_in s "$1"; }

is "$(twice 'echo "$0" $#; exit 7')" 'code=7 out=/bin/sh 0
 err=' "\$0, no arguments, exit"
is "$(twice 'cat; read x; echo "$? $x"')" 'code=0 out=IN
1 
 err=' "standard input is untouched"
is "$(twice 'ls /proc/self/fd')" 'code=0 out=0
1
2
3
 err=' "no descriptor more"
is "$(twice 'exec 9>/tmp/nine; echo x >&9; cat /tmp/nine')" 'code=0 out=x
 err=' "descriptor 9 is the command's own"
is "$(twice 'set -e; false; echo no')" 'code=1 out= err=' "set -e"
is "$(twice 'return 3; echo no')" 'code=3 out= err=' "return"
is "$(twice 'f() { return 4; }; f')" 'code=4 out= err=' "the last status"
is "$(twice 'trap "echo bye" EXIT; exit 5')" 'code=5 out=bye
 err=' "traps"
is "$(twice 'kill -TERM $$')" 'code=-1 out= err=' "a signal"
like "$(twice 'echo one
nosuch')" '^code=127 out=one
 err=/bin/sh: 2: nosuch: not found' "errors name the line"
like "$(twice 'echo one; echo two
fi')" '^code=2 out=one
two
 err=/bin/sh: 2: Syntax error: "fi" unexpected' "a syntax error comes after what was before it"
like "$(twice 'set -u; echo $nothing')" '^code=2 out= err=/bin/sh: 1: nothing: parameter not set' "set -u"
is "$(twice 'cat <<EOF
$0 $((1 + 1))
EOF')" 'code=0 out=/bin/sh 2
 err=' "here documents"
is "$(twice 'alias l=echo
l hi; PATH=/nowhere; l still; exit 0')" 'code=0 out=hi
still
 err=' "aliases, and no program is needed to read it"
is "$(twice 'sleep 0.1 & wait $!; echo $?; (exit 6)')" 'code=6 out=0
 err=' "background commands and subshells"

# how long
long() { # bytes: a command of exactly so many
	perl -e 'my $c = "echo \${#x}"; my $n = $ARGV[0] - length("x=;") - length $c; print "exec {\"session\": \"s\", \"command\": \"x=", "y" x $n, ";$c\"}\n"' "$1" |
		perl t/lib/sh/rpc.pl "$D/run/boxd.sock" 2>&1
}
says_length() { long "$1" | sed -n 's/.*"stdout":"\([0-9]*\)\\n".*/\1/p'; }
for n in 131070 131071 131072 131073 500000 1048576; do
	is "$(says_length $n)" $((n - 13)) "a command of $n bytes"
done
like "$(long 1048577)" 'exec.command: .*1048576' "one byte more is refused, by name"
is "$(boxctl exec s -- echo alive)" alive "and the session lives on"
boxctl exec s -c 'echo "x=1" >~/.profile; ls /proc/self/fd >>/tmp/fds' >/dev/null
is "$(twice 'echo $x')" 'code=0 out=1
 err=' "it is a login shell"

# by LangBot's door
{
	printf 'box_exec {"context": {"instance": "inst-1", "workspace": "ws-1", "generation": 1}, "spec": {"session_id": "s", "workdir": "/tmp", "cmd": "x='
	head -c 900000 /dev/zero | tr '\0' y
	printf '; echo ${#x}"}}\n'
} >"$D/call"
is "$(perl t/lib/sh/rpc.pl "$D/run/boxd.sock" <"$D/call" | sed -n 's/.*"stdout":"\([0-9]*\)\\n".*/\1/p')" 900000 "LangBot's commands, too"

# and how much comes back
is "$(perl -e 'print "box_exec {\"context\": {\"instance\": \"inst-1\", \"workspace\": \"ws-1\", \"generation\": 1}, \"spec\": {\"session_id\": \"s\", \"workdir\": \"/tmp\", \"cmd\": \"yes | head -c 14000000\"}}\n"' |
	perl t/lib/sh/rpc.pl "$D/run/boxd.sock" | perl -ne 'print length($1) if /"stdout":"([^"]*)"/')" 21000000 "all of it comes"
boxd_stop
sed -i '/output_bytes/d' "$D/boxd.conf"
boxd_start
is "$(perl -e 'print "box_exec {\"context\": {\"instance\": \"inst-1\", \"workspace\": \"ws-1\", \"generation\": 1}, \"spec\": {\"session_id\": \"s\", \"workdir\": \"/tmp\", \"cmd\": \"yes | head -c 14000000\"}}\n"' |
	perl t/lib/sh/rpc.pl "$D/run/boxd.sock" | perl -ne 'print length($1) if /"stdout":"([^"]*)"/')" 1572864 "by default a MiB"

# ---- another shell ----
if busybox --help 2>&1 | grep -q ash && ! ldd "$(command -v busybox)" >/dev/null 2>&1; then
	mkdir -p "$D/state/images/bb/bin"
	cp "$(command -v busybox)" "$D/state/images/bb/bin/busybox"
	for a in sh cat ls; do ln -s busybox "$D/state/images/bb/bin/$a"; done
	boxctl create --name bb --image bb >/dev/null
	is "$(twice_in bb 'echo "$0" $#; cat; ls /proc/self/fd; exit 7')" 'code=7 out=/bin/sh 0
IN
0
1
2
3
 err=' "busybox: \$0, standard input, descriptors, exit"
	is "$(twice_in bb 'set -e; trap "echo bye" EXIT; cat <<EOF
$0 $((1 + 1))
EOF
false; echo no')" 'code=1 out=/bin/sh 2
bye
 err=' "busybox: here documents, set -e, traps"
	like "$(twice_in bb 'echo one
nosuch')" '^code=127 out=one' "busybox: a command that is not there"
else
	skip 3 "no static busybox here"
fi
done_testing
