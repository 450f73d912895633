#!/bin/sh
# A sandboxed command prints a request of boxd's protocol.  Whichever standard streams boxctl's caller has closed, boxd
# never reads it, and boxctl says that the output was lost.
. t/lib/sh/boxd.sh
command -v setpriv >/dev/null || plan skip_all "no setpriv here"

# payload NAME: the request that makes a session of that name with a host directory in it, as a client would send it
payload() {
	perl -e 'sub str { pack("CN", 0xdb, length $_[0]) . $_[0] }
		print pack("CC", 0x94, 0), pack("CQ>", 0xcf, 1 << 40), str("create"),
			pack("C", 0x82), str("session"), str($ARGV[0]), str("spec"), pack("C", 0x81), str("host_path"), str($ARGV[1])' "$1" "$D/host"
}
no_stranger() {
	is "$(ctl ps --names | grep -v '^s$')" "" "$who: $1: boxd read no request of the command's" || ctl rm -f stolen >/dev/null
}
ctl() { timeout -k 5 60 $user "$BUILD/boxctl" --socket "$D/run/boxd.sock" "$@"; }

# tried NAME STATUS: how an attempt of that name ended
tried() {
	isnt "$2" 0 "$who: $1: boxctl does not claim success"
	no_stranger "$1"
}

attack() {
	ctl create --name s >/dev/null || { fail "$who: a session"; return; }
	payload stolen | ctl exec s -i -c 'cat >payload'
	payload stolen >"$D/payload"
	is "$(ctl exec s -c 'cksum <payload')" "$(cksum <"$D/payload")" "$who: the payload is in the session"

	# that it is a request, and may do this
	perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Peer => shift) or die; print $s <STDIN>; $s->flush; sysread $s, $_, 4096; exit !/stolen/' \
		"$D/run/boxd.sock" <"$D/payload"
	ok "$who: the payload is a request that boxd would follow"
	ctl rm -f stolen >/dev/null

	ctl exec s -- cat payload >&- 2>"$D/said"; tried "exec >&-" $?
	like "$(cat "$D/said")" 'write (standard output|stdout).*Bad file' "$who: exec >&-: and says why"
	ctl exec s -c 'cat payload >&2' 2>&- >/dev/null; tried "exec 2>&-" $?
	ctl exec s -c 'cat payload; cat payload >&2' >&- 2>&-; tried "exec >&- 2>&-" $?
	ctl exec s -c 'cat payload; cat payload >&2' <&- >&- 2>&-; tried "exec <&- >&- 2>&-" $?
	ctl exec s --no-stream -- cat payload >&- 2>"$D/said"; tried "exec --no-stream >&-" $?
	is "$(ctl exec s -- echo fine <&-)" fine "$who: exec <&-: a command that needs no input runs"
	no_stranger "exec <&-"
	ctl exec s -i -- cat <&- >"$D/said" 2>&1; tried "exec -i <&-" $?
	like "$(cat "$D/said")" 'read standard input: Bad file' "$who: exec -i <&-: and says why"
	ctl run -i -c cat <"$D/payload" >&- 2>/dev/null; tried "run >&-" $?
	ctl run -i -c 'cat >&2' <"$D/payload" 2>&- >/dev/null; tried "run 2>&-" $?
	ctl cp s:payload - >&- 2>"$D/said"; tried "cp s:payload - >&-" $?
	ctl cp s:payload - >&- 2>&-; tried "cp s:payload - >&- 2>&-" $?
	ctl cp - s:copy <&- 2>"$D/said"; tried "cp - s:copy <&-" $?

	ctl process start s p -- sh -c 'cat payload; cat payload >&2; until [ -e go ]; do sleep 0.05; done' >/dev/null
	printed() { ctl process logs s p 2>&1 | cmp -s - "$D/twice"; }
	cat "$D/payload" "$D/payload" >"$D/twice"
	eventually printed
	ctl process logs s p >&- 2>"$D/said"; tried "process logs >&-" $?
	ctl process logs s p 2>&- >/dev/null; tried "process logs 2>&-" $?
	ctl process attach s p >&- 2>"$D/said"; tried "process attach >&-" $?
	like "$(cat "$D/said")" 'write standard output: Bad file' "$who: process attach >&-: and says why"
	ctl process attach s p <&- >&- 2>&-; tried "process attach <&- >&- 2>&-" $?
	ctl process attach s p -i <&- >/dev/null 2>"$D/said"; tried "process attach -i <&-" $?
	ctl process write s p <&- 2>"$D/said"; tried "process write <&-" $?
	ctl exec s -- touch go
	ctl process attach s p 2>&- >"$D/said"
	is "$? $(cksum <"$D/said")" "0 $(cksum <"$D/payload")" "$who: process attach 2>&-: its output comes out"
	no_stranger "process attach 2>&-"
	for what in ps status "inspect s" "files s" "call ping" version help "doctor"; do
		ctl $what >&- 2>"$D/said"
		tried "$what >&-" $?
		like "$(cat "$D/said")" 'write standard output: Bad file' "$who: $what >&-: and says why"
	done
	ctl rm s >/dev/null
	is "$(ctl ps --names)" "" "$who: no session but those that were asked for"
	is "$(ls -A "$D/host")" "" "$who: the host directory is untouched"
}

who=root user=
mkdir "$D/host"
boxd_start
attack
boxd_stop

# everything is the user's
who=user user="setpriv --reuid 65534 --regid 65534 --clear-groups"
[ "$(id -u)" = 0 ] || plan skip_all "this test changes users, which needs root"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
BUILD=$D/bin BOXD_WRAP=$user
rm -rf "$D/state" "$D/run"
chown -R 65534:65534 "$D"
boxctl() { ctl "$@"; }
boxd_start
if ctl run -- true 2>"$D/said"; then
	attack
else
	like "$(cat "$D/said")" 'namespace' "no sandbox for users here, and the barrier is named"
fi
done_testing
