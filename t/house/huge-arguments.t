#!/bin/sh
# Arguments and environment may be as large as the kernel lets them be; beyond that the error names which it was.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
in_box() { boxctl exec s "$@"; }
ulimit -s 65536 2>/dev/null || plan skip_all "the test itself may not have that many arguments"
x=$(head -c 100000 /dev/zero | tr '\0' x)
repeat() { # N WORD...: the words N times, in $list for eval
	_n=$1 list=
	while [ "$_n" -gt 0 ]; do
		list="$list $2"
		_n=$((_n - 1))
	done
}

# the kernel's own limit: a quarter of an 8 MiB stack
repeat 19 '"$x"'
is "$(eval "in_box -- perl -e 'my \$n = 0; \$n += length for @ARGV; print \$n' -- $list")" 1900000 "1.9 MB of arguments arrive"
list= i=0
while [ $i -lt 19 ]; do list="$list -e V$i=\$x" i=$((i + 1)); done
is "$(eval "in_box $list -- perl -e 'my \$n = 0; \$n += length(\$ENV{\"V\$_\"}) for 0 .. 18; print \$n'")" 1900000 "and 1.9 MB of environment"
seq 1 60000 | sed 's/.*/a/' | tr '\n' ' ' >"$D/many"
is "$(in_box -- perl -e 'print scalar @ARGV' -- $(cat "$D/many"))" 60000 "60000 arguments arrive"
long=$(head -c 131000 /dev/zero | tr '\0' y)
is "$(in_box -- perl -e 'print length $ARGV[0]' -- "$long")" 131000 "one of 131 kB too"

repeat 21 '"$x"'
eval "in_box -- true $list" 2>"$D/err"
is $? 126 "2.1 MB of arguments are too many"
like "$(cat "$D/err")" 'exec true: argv has 2100[0-9]* bytes and env [0-9]*, and the kernel takes 2097152 of both' "and the error names argv, its size and the limit"
list= i=0
while [ $i -lt 21 ]; do list="$list -e V$i=\$x" i=$((i + 1)); done
eval "in_box $list -- true" 2>"$D/err"
is $? 126 "2.1 MB of environment are too much"
like "$(cat "$D/err")" 'argv has [0-9]+ bytes and env 2100[0-9]*, and' "and the error names env"
is "$(in_box -- echo alive)" alive "the session lives on"
is "$(boxctl inspect s -o json | sed -n 's/.*"worker_restarts": \([0-9]*\).*/\1/p')" 0 "and its worker never fell"
done_testing
