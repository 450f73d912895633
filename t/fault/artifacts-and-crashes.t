#!/bin/sh
# box-artifact or boxd dies while a copy is made: who waits is told, nothing half made is seen, and the next one works.
. t/lib/sh/boxd.sh
. t/lib/sh/artifacts.sh
boxd_config 'spare_sandboxes = 0' 'artifacts.revisions = 2'
boxd_start
package a
# so much that it can be stopped in the middle
head -c 120000000 /dev/zero >"$D/src/a/zero"
sealed a
mounts=$(with_mounts "$(mount_of a "$digits")")
copier() { pgrep -P "$BOXD_PID" -x box-artifact; }
staged() { ls "$D"/state/artifacts/.staging/*/package/SKILL.md >/dev/null 2>&1; }
clean() { [ -z "$(ls "$D/state/artifacts/.staging" "$D/state/artifacts/.trash" | grep '^[0-9]')" ]; }
# begin: a session waits for a copy that is stopped in the middle; its pid is in $pid
begin() {
	lb create ws-1 1 "$(spec "$1" '' "$mounts")" >"$D/out" &
	client=$!
	pid=
	until staged || ! kill -0 "$client" 2>/dev/null; do :; done
	pid=$(copier)
	kill -STOP "$pid"
}

begin s
ok "a copy is half made" staged
is "$(copies)" "" "nobody sees it"
walls=$(sed -n 's/^\(NoNewPrivs\|Seccomp\|CapEff\|CapBnd\):[[:space:]]*//p' "/proc/$pid/status" | tr '\n' ' ')
# the right to read what others own is kept where landlock says what can be read
like "$walls" '^000000000000000[04] 0000000000000000 1 2 $' "box-artifact: at most the right to read, nothing to gain, a filter"
is "$(says ws-1 1 other 'echo other')" 'other\n' "other sessions do not wait"
kill -9 "$pid"
wait "$client"
is "$(cat "$D/out")" "boxctl: box-artifact died (signal=9) while it copied an artifact" "kill -9: the client is told"
is "$(listed ws-1 1)" "other " "there is no session"
ok "nothing is left" eventually clean
is "$(copies)" "" "and no copy"

begin s
lb delete ws-1 1 "$(named s)" >"$D/deleted" 2>&1
wait "$client"
like "$(cat "$D/out")" 'deleted' "a session that is deleted while it waits"
kill -CONT "$pid"
copied() { [ -n "$(copies)" ]; }
ok "the copy is made all the same" eventually copied
rm -r "$D/src/a/zero"
is "$(says ws-1 1 s "cat $(at "$digits")/SKILL.md" "$mounts")" '# Hi\n' "for the next one"

package b
head -c 120000000 /dev/zero >"$D/src/b/zero"
sealed b
mounts=$(with_mounts "$(mount_of b "$digits")")
begin t
vanish "$BOXD_PID"
kill -CONT "$pid"
wait "$client"
boxd_start
is "$(copies | wc -l)" 1 "boxd dies: the half made copy is not there"
ok "and is removed" eventually clean
is "$(says ws-1 1 t "cat $(at "$digits")/SKILL.md" "$mounts")" '# Hi\n' "the next try works"
is "$(says ws-1 1 s 'echo alive' "$(with_mounts "$(mount_of a "$(copies | sed "/$digits/d; s|.*/||")")")")" 'alive\n' "the session with an artifact lives"

# only the command itself holds the copy; boxd dies, and another one shall not take it from under the command
lb delete ws-1 1 "$(named s)" >/dev/null 2>&1
lb delete ws-1 1 "$(named t)" >/dev/null 2>&1
says ws-1 1 other "echo >begun; until [ -e go ]; do sleep .05; done; cat $(at "$digits")/SKILL.md >read" "$mounts" >/dev/null 2>&1 &
client=$!
begun() { [ "$(says ws-1 1 other 'ls begun')" = 'begun\n' ]; }
ok "a command with an artifact" eventually begun
vanish "$BOXD_PID"
wait "$client"
boxd_start
package c; sealed c; mounts=$(with_mounts "$(mount_of c "$digits")")
package d; echo d >"$D/src/d/d"; sealed d; more=$(with_mounts "$(mount_of d "$digits")")
full() { lb exec ws-1 1 "$(spec "$1" 'true' "$2")" 2>&1; }
like "$(full other "$mounts"; full other "$more")" 'cache limit reached' "boxd dies: there is no room for others while it runs"
says ws-1 1 other 'touch go' >/dev/null
read_it() { [ "$(says ws-1 1 other 'cat read')" = '# Hi\n' ]; }
ok "it finds its artifact as it was" eventually read_it
fits() { case $(full other "$more") in *'limit reached'*) false ;; esac; }
ok "then there is room" eventually fits
done_testing
