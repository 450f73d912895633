#!/bin/sh
# When boxd says that a command was killed, all that it had open is given back: a file without a name takes no space any more.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "a file system of its own needs root"
mkdir "$D/w"
mount -t tmpfs -o size=256m,mode=777 tmpfs "$D/w" || plan skip_all "no tmpfs can be mounted here"
held() { df --output=used -B1M "$D/w" | tail -n 1 | tr -d ' '; }

# The last to die of it holds a file that takes a while to be freed.  Every time anew: it is a race.
killed() { # who
	for i in 1 2 3 4 5 6; do
		box exec s -t 1 -c 'exec 9>f; rm f; head -c 200000000 /dev/zero >&9; sleep 98765' >/dev/null 2>"$D/err"
		is "$(held) $(grep -c 'timed out' "$D/err")" "0 1" "$1: $i"
	done
}

boxd_start
box() { boxctl "$@"; }
boxctl create --name s --host-path "$D/w" --memory 600 >/dev/null
ok "a session"
killed "root's boxd"
boxd_stop

. t/lib/sh/not_root.sh
user_start
boxctl create --name s --host-path "$D/w" --memory 600 >/dev/null
ok "a session of an ordinary user"
killed "the boxd of an ordinary user"
boxd_stop
umount "$D/w"
done_testing
