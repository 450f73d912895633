#!/bin/sh
# Wrong flags, wrong files, a taken place: boxd says exactly what, and starts nothing.
. t/lib/sh/boxd.sh
refuses() { # code, pattern, name, arguments
	_c=$1 _p=$2 _n=$3
	shift 3
	"$BUILD/boxd" "$@" >"$D/out" 2>"$D/err"
	is $? "$_c" "$_n: exit $_c"
	like "$(cat "$D/err")" "$_p" "$_n: says why"
}
conf() { printf '%s\n' "$@" >"$D/c"; }

conf '# fine' '' 'max_sessions = 7' 'nonsense = 1'
refuses 2 "$D/c:4: there is no option 'nonsense'" "unknown key" -c "$D/c"
conf 'max_sessions = 5001'
refuses 2 "$D/c:1: max_sessions: 5001 is not in 1\.\.5000" "out of range" -c "$D/c"
conf 'max_sessions = many'
refuses 2 "$D/c:1: max_sessions: 'many' is not a whole number" "not a number" -c "$D/c"
conf 'just words'
refuses 2 "$D/c:1: 'just words' is not 'name = value'" "no equals sign" -c "$D/c"
refuses 2 "open $D/none: No such file" "missing file" -c "$D/none"
refuses 2 "unrecognized option" "unknown flag" --frobnicate
refuses 2 "unexpected argument 'extra'" "stray argument" extra
conf 'socket_group = no-such-group'
refuses 1 "no group 'no-such-group'" "unknown group" -c "$D/c" --state-dir "$D/s2" --runtime-dir "$D/r2"
: >"$D/file"
refuses 1 "$D/file is not a directory" "a file for a directory" --state-dir "$D/file" --runtime-dir "$D/r2"
long=$D/$(head -c 90 /dev/zero | tr '\0' r)
refuses 2 "runtime_dir: [0-9]+ characters" "a path too long for a socket" --state-dir "$D/s2" --runtime-dir "$long"

"$BUILD/boxd" --check-config -c "$D/c" >/dev/null; is $? 0 "--check-config takes a good file"
conf 'x = y'
"$BUILD/boxd" --check-config -c "$D/c" 2>/dev/null; is $? 2 "and refuses a bad one"
like "$("$BUILD/boxd" --version)" '^boxd [0-9]' "--version"
like "$("$BUILD/boxd" --help)" 'usage: boxd' "--help"
"$BUILD/boxd" --print-config | cmp -s - etc/boxd.conf
ok "etc/boxd.conf is what --print-config prints"
sed 's/^#\([a-z]\)/\1/' etc/boxd.conf >"$D/c"
"$BUILD/boxd" --check-config -c "$D/c" >/dev/null
ok "and every default in it is valid"

boxd_start
refuses 1 "another boxd \(pid $BOXD_PID\) uses $D/state" "a taken state directory" --state-dir "$D/state" --runtime-dir "$D/r3"
refuses 1 "another process listens there" "a taken socket" --state-dir "$D/s3" --runtime-dir "$D/run"
ok "the first is unharmed" boxctl ping
done_testing
