#!/bin/sh
# The same for the boxd of an ordinary user: a shell can read a command that does not fit one argument.
. t/lib/sh/boxd.sh
. t/lib/sh/not_root.sh
user_start
boxctl create --name s >/dev/null
{
	printf 'exec {"session": "s", "stdin": "IN\\n", "command": "cat; ls /proc/self/fd | wc -l; x='
	head -c 900000 /dev/zero | tr '\0' y
	printf '; echo $0 ${#x}; exit 7"}\n'
} >"$D/call"
r=$($USER_IS perl t/lib/sh/rpc.pl "$D/run/boxd.sock" <"$D/call")
is "$(printf '%s\n' "$r" | sed -n 's/.*"stdout":"\([^"]*\)".*/\1/p')" 'IN\n4\n/bin/sh 900000\n' "it runs, with its standard input and no descriptor more"
is "$(printf '%s\n' "$r" | sed -n 's/.*"exit_code":"\{0,1\}\(-\{0,1\}[0-9]*\).*/\1/p')" 7 "and has its exit code"
done_testing
