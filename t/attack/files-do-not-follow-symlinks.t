#!/bin/sh
# Somebody inside swaps directories, symlinks, FIFOs and files as fast as he can while file requests
# walk, read, write, list and remove there: nothing outside of the workspace is ever touched or told.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 64 >/dev/null
rpc() { timeout -k 5 300 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" "$@" 2>&1; }
case $(uname -m) in
x86_64) exchange=316 ;;
aarch64) exchange=276 ;;
*) plan skip_all "no number of renameat2 for $(uname -m) here" ;;
esac

# /tmp/victim is inside, and no part of the workspace: what a request may be led to at most
boxctl exec s -c 'mkdir /tmp/victim; echo SECRET >/tmp/victim/f; mkdir -p /tmp/victim/sub; echo SECRET >/tmp/victim/sub/f; chmod 700 /tmp/victim/sub'
victim() { boxctl exec s -c 'cd /tmp/victim && find . -printf "%p %y %m %s %T@ %i\n" | sort; cat f sub/f'; }
before=$(victim)
echo host >"$D/host-victim"

# start PERL: as a command inside, until stop
start() {
	"$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -- perl -e "sub swap { my (\$x, \$y) = @_; syscall($exchange, -100, \$x, -100, \$y, 2) } $1" >/dev/null 2>"$D/attack" &
	attacker=$!
	eventually boxctl exec s -- test -e /tmp/started
}
stop() { # name
	boxctl exec s -c 'touch /tmp/stop'
	wait $attacker
	is "$? $(cat "$D/attack")" "0 " "$1: the attack went on to the end"
	boxctl exec s -c 'rm -rf /tmp/stop /tmp/started * 2>/dev/null'
}
meets='^invalid: .* is a symlink'
# every eighth time it stays swapped for a moment, else only for as long as a system call takes
stay='select(undef, undef, undef, 0.0005) if $i % 8 == 0;'
go='open(F, ">/tmp/started"); close(F); while (!-e "/tmp/stop") { for my $i (1 .. 200) {'
# again NAME COUNT LINE...: so many times, and more rounds of it until the attack has met us in both states
again() {
	_name=$1 _count=$2 _round=0 _sent=0
	shift 2
	: >"$D/answers"
	while [ $_round -lt 30 ]; do
		_n=0
		while [ $_n -lt "$_count" ]; do
			printf '%s\n' "$@"
			_n=$((_n + 1))
		done | rpc >>"$D/answers"
		_sent=$((_sent + _count * $#)) _round=$((_round + 1))
		! grep -aqE "$meets" "$D/answers" || ! grep -aq '^{' "$D/answers" || break
	done
	is "$(wc -l <"$D/answers")" $_sent "$_name: every request is answered"
}
judge() { # name: the answers are in $D/answers
	unlike "$(grep -a -m 3 SECRET "$D/answers")" SECRET "$1: nothing of the victim is told"
	is "$(victim)" "$before" "$1: the victim is as it was"
	is "$(grep -acvE '^(\{|invalid: |not_found: |state: |denied: )' "$D/answers")" 0 "$1: every answer is a result or a refusal"
	grep -aqE "$meets" "$D/answers"
	ok "$1: the attack met us: some requests found what was swapped in"
	[ "$(grep -ac '^{' "$D/answers")" -gt 0 ]
	ok "$1: and some the directory"
}

# ---- a directory on the way is a symlink every other moment -----------------------------------
boxctl exec s -c 'mkdir -p a/sub; ln -s /tmp/victim b; echo mine >a/f'
start "$go swap('a', 'b'); $stay } } swap('a', 'b') if -l 'a'"
again walking 300 \
	'file_open {"session":"s","path":"a/f","access":"write"}' \
	'file_write {"session":"s","handle":"@handle","data":"mine"}' \
	'file_close {"session":"s","handle":"@handle","commit":true}' \
	'file_open {"session":"s","path":"a/f"}' \
	'file_read {"session":"s","handle":"@handle"}' \
	'file_close {"session":"s","handle":"@handle"}' \
	'file_list {"session":"s","path":"a/sub"}' \
	'file_stat {"session":"s","path":"a/sub/f"}' \
	'file_mkdir {"session":"s","path":"a/sub/new/er","parents":true}' \
	'file_symlink {"session":"s","path":"a/sub/link","target":"/tmp/victim/f"}' \
	'file_remove {"session":"s","path":"a/sub/f"}' \
	'file_remove {"session":"s","path":"a/sub","recursive":true}' \
	'file_mkdir {"session":"s","path":"a/sub"}'
judge walking
stop walking

# ---- what is removed with all that is in it ------------------------------------------------------
boxctl exec s -c 'ln -s /tmp/victim link'
# he makes things in "new" alone, which is never swapped: what appears with the victim is our doing
start "$go mkdir 'new'; rename('link', 'new/old') if -d 'link' && !-l 'link'; symlink('/tmp/victim', 'link'); mkdir 'new/x'; mkdir 'new/x/y'; symlink('/tmp/victim', 'new/x/y/l'); rename('new', 'tree'); swap('tree/x', 'link'); swap('tree/x', 'link'); swap('tree', 'link'); $stay swap('tree', 'link'); rename('tree/x/y', 'tree/z') } }"
again removing 700 'file_remove {"session":"s","path":"tree","recursive":true}' 'file_remove {"session":"s","path":"tree/x/y","recursive":true}'
judge removing
stop removing

# ---- the file itself -------------------------------------------------------------------------------
boxctl exec s -c 'mkdir k; echo mine >t'
start "use POSIX; my @make = (sub { symlink('/tmp/victim/f', 'k/n') }, sub { POSIX::mkfifo('k/n', 0666) }, sub { mkdir('k/n') }, sub { open(N, '>k/n'); close(N) });
	$go for my \$make (@make) { unlink('k/n'); rmdir('k/n'); \$make->(); swap('t', 'k/n'); $stay } } }"
meets='^invalid: t is a FIFO'
again opening 600 \
	'file_open {"session":"s","path":"t"}' \
	'file_read {"session":"s","handle":"@handle"}' \
	'file_close {"session":"s","handle":"@handle"}' \
	'file_open {"session":"s","path":"t","access":"write"}' \
	'file_write {"session":"s","handle":"@handle","data":"mine"}' \
	'file_close {"session":"s","handle":"@handle","commit":true}' \
	'file_stat {"session":"s","path":"t"}'
judge opening
grep -q '^invalid: t is a symlink' "$D/answers" && grep -q '^invalid: t is a directory' "$D/answers"
ok "opening: a symlink and a directory too"
is "$(boxctl exec s -c 'find . -name ".boxd*" | wc -l' | tr -d ' ')" 0 "opening: no temporary name is left"
stop opening

# ---- what moves while it is walked --------------------------------------------------------------------
boxctl exec s -c 'mkdir -p p/q/r/s other; ln -s /tmp/victim p/q/r/l'
start "$go rename('p/q', 'other/q'); swap('p', 'other'); rename('other/q', 'p/q'); rename('p/q/r', 'r'); rename('r', 'other/r'); rename('other/r', 'p/q/r') } }"
meets=.
again moving 600 \
	'file_mkdir {"session":"s","path":"p/q/r/s/t","parents":true}' \
	'file_list {"session":"s","path":"p/q/r"}' \
	'file_stat {"session":"s","path":"p/q/r/l/f"}' \
	'file_remove {"session":"s","path":"p/q","recursive":true}'
unlike "$(cat "$D/answers")" 'SECRET|"name":"f"' "moving: nothing of the victim is told"
is "$(victim)" "$before" "moving: the victim is as it was"
stop moving

# ---- devices, and links to the host's own ---------------------------------------------------------------
boxctl exec s -c "ln -s $D/host-victim h; ln -s /proc/self/root/tmp/victim pr; ln -s /dev/zero z; ln -s /proc/1 one"
for p in h z; do
	like "$(rpc file_open "{\"session\":\"s\",\"path\":\"$p\"}")" '^invalid: . is a symlink' "$p is not opened"
done
for p in pr/f one/environ; do
	like "$(rpc file_open "{\"session\":\"s\",\"path\":\"$p\"}")" '^invalid: [a-z]+ is a symlink' "$p is not reached"
done
is "$(cat "$D/host-victim")" host "the host's file is as it was"
is "$(find "$D/state" -name 'mine' -o -name 'tree' | wc -l)" 0 "and nothing appeared there"
done_testing
