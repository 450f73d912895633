#!/bin/sh
# Mounts that a command names give it nothing but them, and nobody else anything: not by their place, not by links, not by what runs beside it.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "an ordinary user's boxd is tried by t/house/exec-mounts.t"
mkdir -p "$D/a" "$D/b" "$D/w" "$D/w2"
echo A >"$D/a/f"
echo B >"$D/b/f"
boxd_start
boxctl create --name s --host-path "$D/w" >/dev/null
boxctl create --name other --host-path "$D/w2" >/dev/null
ok "two sessions"
with() { _at=$1; shift; boxctl exec s -t 60 --mount "$D/a:$_at:ro" "$@" 2>&1; }

# ---- places ----
for at in / /proc /proc/self /proc/1/root /dev /dev/shm /sys /usr /usr/bin /bin /lib64 /etc /etc/ld.so.cache /etc/resolv.conf /etc/../proc /workspace /workspace/..; do
	like "$(with "$at" -- true)" 'exec.extra_mounts.0.mount_path' "nothing is mounted on $at"
done

# ---- links that a command has left ----
boxctl exec s -c 'ln -s /proc p; ln -s /usr u; ln -s .. up; mkdir real; ln -s real l' >/dev/null
for at in p/x p u/bin up/etc l/x l; do
	like "$(with "/workspace/$at" -- true)" 'symbolic link' "a link is not followed: $at"
done
boxctl exec s -c 'ln -s /etc /tmp/e; ln -s /proc/self/fd /home/fd' >/dev/null
like "$(with /tmp/e/x -- true)" 'symbolic link' "nor one in /tmp"
like "$(with /home/fd/0 -- true)" 'symbolic link' "nor one into /proc"

# ---- nothing inside is gained ----
is "$(with /opt/m -c 'sed -n "s/^Cap[^:]*:.//p" /proc/self/status | sort -u; grep -c NoNewPrivs:.1 /proc/self/status')" "0000000000000000
1" "no capability, no new ones"
for call in 'umount /opt/m' 'mount --bind /opt/m /tmp' 'mount -o remount,rw /opt/m' 'unshare -m true' 'nsenter -t 1 -m true' 'nsenter --mount=/proc/1/ns/mnt true'; do
	with /opt/m -c "$call" >/dev/null
	isnt $? 0 "refused: $call"
done
is "$(with /opt/m -- perl -e 'open my $n, "<", "/proc/1/ns/mnt"; print syscall(308, $n ? fileno $n : 0, 0), " ", $!+0')" "-1 1" "and setns by its number: EPERM"
is "$(with /opt/m -c 'ls /proc/self/fd | wc -l')" 4 "no descriptor of it is left in the command"
like "$(boxctl exec s -c 'grep Cap /proc/1/status' | tr -s '\t\n' ' ')" 'CapEff: 0000000000000000 CapBnd: 0000000000000000' "init uses no capability"

# ---- nobody else sees it ----
boxctl exec s -t 120 --mount "$D/a:/opt/m:ro" -c 'echo $$ >/tmp/pid; : >/tmp/up; exec sleep 98765' >/dev/null 2>&1 & long=$!
eventually boxctl exec s -- test -e /tmp/up
is "$(boxctl exec s -c 'ls /opt; grep -c /opt/m /proc/1/mounts')" 0 "not in the session"
is "$(boxctl exec other -c 'ls /opt')" "" "not in another"
is "$(grep -l " /opt/m " /proc/[0-9]*/mountinfo 2>/dev/null | while read -r f; do readlink "${f%mountinfo}ns/mnt"; done | sort -u | wc -l)" 1 "no other mount namespace of the machine has it"
for way in '/proc/$(cat /tmp/pid)/root/opt/m/f' '/proc/$(cat /tmp/pid)/cwd/../opt/m/f'; do
	boxctl exec other -c "cat $way" >/dev/null 2>&1
	isnt $? 0 "nor through /proc of another session: $way"
done
boxctl exec s -c 'kill $(cat /tmp/pid)' >/dev/null
wait $long
mounted() { grep -q "$D/a" /proc/[0-9]*/mountinfo 2>/dev/null || grep -q ' /opt/m ' /proc/[0-9]*/mountinfo 2>/dev/null; }
gone() { ! mounted; }
eventually gone
ok "it ends with its command"
boxctl exec s --mount "$D/a:/opt/m:ro" -c 'sleep 98765 >/dev/null 2>&1 & echo $! >/tmp/pid' >/dev/null
is "$(boxctl exec s -c 'ls /opt; kill -0 $(cat /tmp/pid) && echo lives')" lives "a child that stays behind keeps it to itself"
boxctl exec s -c 'kill -9 $(cat /tmp/pid)' >/dev/null
eventually gone
ok "until it ends too"

# ---- a source that changes while it is judged ----
mkdir "$D/w2/mine" "$D/w2/evil"
echo mine >"$D/w2/mine/f"
ln -s /root "$D/w2/evil/f"
(while [ ! -e "$D/stop" ]; do
	rm -rf "$D/w2/x"; cp -r "$D/w2/mine" "$D/w2/x" 2>/dev/null; rm -rf "$D/w2/x"; ln -s /root "$D/w2/x"
done) & swapper=$!
bad=0
for i in $(seq 40); do
	got=$(boxctl exec s -t 60 --mount "$D/w2/x:/opt/m:ro" -c 'ls -A /opt/m' 2>/dev/null)
	[ -z "$got" ] || [ "$got" = f ] || bad=$((bad + 1))
done
: >"$D/stop"
wait $swapper
is "$bad" 0 "a source that is swapped meanwhile is mounted as what was judged, or not"

# ---- many, and beside a bomb ----
set --
for i in $(seq 60); do set -- "$@" --mount "$D/a:/opt/m/$i:ro"; done
is "$(boxctl exec s -t 120 "$@" -c 'cat /opt/m/*/f | sort | uniq -c | tr -s " "')" " 60 A" "sixty at once"
boxctl exec s -t 20 -c 'b() { while :; do b & b; done; }; b 2>/dev/null' >/dev/null 2>&1 & bomb=$!
seen=0
for i in 1 2 3 4 5 6 7 8; do
	timeout 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec other -t 50 --mount "$D/b:/opt/n:ro" -- cat /opt/n/f >"$D/out" 2>&1
	[ "$(cat "$D/out")" = B ] && seen=$((seen + 1))
	timeout 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -t 50 --mount "$D/a:/opt/m:ro" -- cat /opt/m/f >/dev/null 2>&1
done
wait $bomb
is "$seen" 8 "a bomb in one session is nothing to the mounts of another"
boxctl rm s # its children live on behind it
boxctl create --name s --host-path "$D/w" >/dev/null
ok "which is ended"

# ---- kill -9 of whoever is in it ----
for i in 1 2 3 4; do # five crashes of its worker would end the session
	with /opt/m -- cat /opt/m/f >"$D/out" & one=$!
	kill -9 $(pgrep -P "$BOXD_PID" box-session) 2>/dev/null
	wait $one
	like "$(cat "$D/out")" '^A$|died|crash|not started' "killed in the middle: it runs, or says why not ($i)"
done
eventually boxctl exec s -- true >/dev/null 2>&1
is "$(with /opt/m -- cat /opt/m/f)" A "and goes on"
vanish "$BOXD_PID"
boxd_start
is "$(with /opt/m -- cat /opt/m/f)" A "also in the next boxd"
done_testing
