#!/bin/sh
# Directories and files of the host in a session: where they are, whose they are, and what changes them.
. t/lib/sh/boxd.sh
boxd_start
mkdir "$D/work" "$D/lib" "$D/skill"
echo text >"$D/lib/file"
echo run >"$D/skill/SKILL.md"
field() { boxctl inspect "$1" -o json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }

if [ "$(id -u)" = 0 ]; then
	chown 1234:2345 "$D/work"
	owner=1234:2345
else
	owner=$(id -u):$(id -g)
fi
boxctl create --name w --host-path "$D/work" >/dev/null
is "$(in_session w -c 'pwd; echo a >made; mkdir dir; stat -c %u:%g . made dir' | tr '\n' ' ')" "/workspace 0:0 0:0 0:0 " \
	"host_path is the workspace, and root's inside"
is "$(stat -c %u:%g "$D/work/made" "$D/work/dir" | sort -u)" "$owner" "what is written there belongs to the directory's owner"
echo b >"$D/work/from-outside"
is "$(in_session w -- cat from-outside)" b "both sides see the same files"
boxctl rm w >/dev/null
is "$(cat "$D/work/made")" a "and they stay"

boxctl create --name r --host-path "$D/lib:ro" --mount-path /data/lib >/dev/null
is "$(in_session r -c 'pwd; cat file' | tr '\n' ' ')" "/data/lib text " "mount_path is where commands start"
like "$(in_session r -c 'echo x >file')" 'Read-only file system' "ro is read-only"
like "$(in_session r -c 'mkdir /data/x')" 'Read-only file system' "and so is the root around it"
boxctl rm r >/dev/null
boxctl create --name p --mount-path /data >/dev/null
is "$(in_session p -c 'pwd; echo x >f && cat f' | tr '\n' ' ')" "/data x " "a private workspace can be elsewhere too"
boxctl rm p >/dev/null

boxctl create --name e --host-path "$D/work" --mount "$D/skill:/workspace/.skills/one:ro" --mount "$D/lib:/lib2/a/b" \
	--mount "$D/lib/file:/etc/one-file:ro" --mount "$D/skill:/tmp/s" --mount "$D/skill:/home/s" --mount "$D/skill:/opt" >/dev/null
is "$(in_session e -c 'cat .skills/one/SKILL.md /etc/one-file /tmp/s/SKILL.md /home/s/SKILL.md /opt/SKILL.md' | sort | uniq -c | tr -s ' ' | tr '\n' ' ')" \
	" 4 run  1 text " "extra mounts: below the workspace, of one file, in /etc, /tmp, /home, /opt"
is "$(in_session e -c 'echo c >/lib2/a/b/c')$(cat "$D/lib/c")" c "and anywhere, writable"
like "$(in_session e -c 'echo x >/etc/one-file')" 'Read-only' "but not those that are ro"
like "$(in_session e -c 'touch /etc/x')" 'Read-only' "the root stays read-only"
is "$(in_session e -- python3 -c 'import ssl; print(1)')" 1 "and is otherwise what it was"

# whatever set of mounts a create names, the session stays as it is, with all that runs in it
first=$(field e id)
boxctl create --name e --host-path "$D/work" --mount "$D/skill:/opt" --mount "$D/skill:/opt/" --mount "$D/skill:/home/s" \
	--mount "$D/skill:/tmp/s" --mount "$D/lib/file:/etc/one-file:ro" --mount "$D/lib:/lib2/a/b" \
	--mount "$D/skill:/workspace/.skills/one:ro" >/dev/null
is "$(field e id)" "$first" "the same set in another order is the same session"
in_session e -c "echo x >/tmp/mark; sleep 600" >/dev/null 2>"$D/err" & slow=$!
eventually in_session e -- test -e /tmp/mark >/dev/null
ok "a command runs in it"
boxctl create --name e --host-path "$D/work" --mount "$D/skill:/opt" >/dev/null
ok "another set of mounts is no conflict"
boxctl create --name e --host-path "$D/work" >/dev/null
ok "nor is none"
is "$(field e id)" "$first" "the session is the same"
is "$(in_session e -c 'ls /tmp /opt; pgrep -c sleep' | tr '\n' ' ')" "/opt: SKILL.md  /tmp: mark s 1 " "with its mounts, its files and what runs in it"
kill "$slow"
wait "$slow"
is "$(boxctl create --name e --host-path "$D/lib" 2>&1 | grep -c 'already exists with host_path')" 1 "another host_path is a conflict"
# a worker that takes over knows the workspace again, and the mounts never went away
worker=$(field e worker_pid)
vanish "$worker"
is "$(in_session e -c 'cat made')" a "after a worker's crash the mounts are there"
unlike "$(cat "$D/log")" 'workspace is not found again' "and the new worker has found the directory"

# a whole state of long paths is not too long for the next daemon
long=$(printf '%0200d' 0)
mkdir -p "$D/$long/$long/$long/$long"
set --
for i in $(seq 60); do
	set -- "$@" --mount "$D/$long/$long/$long/$long:/m/$long/$long/$long/$i:ro"
done
boxctl create --name long "$@" >/dev/null
ok "sixty mounts with long paths"
vanish "$BOXD_PID"
boxd_start
is "$(in_session long -c "ls -d /m/$long/$long/$long/* | wc -l" | tr -d ' ')" 60 "outlive the daemon"
mv "$D/work" "$D/work2"
vanish "$(field e worker_pid)"
is "$(in_session e -c 'cat made')" a "also when it was moved"
eventually grep -q 'workspace is not found again' "$D/log"
ok "which is logged"
done_testing
