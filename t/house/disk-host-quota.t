#!/bin/sh
# workspace_quota_mb on a directory that no kernel keeps it for: checked before, while and after each command.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 300'
boxd_start
mkdir "$D/w" "$D/other"
on() { # name [option...]: a session with a quota of 8 MiB on $D/w
	_name=$1
	shift
	boxctl create --name "$_name" --host-path "$D/w" --workspace-quota 8 "$@" >/dev/null
}
told='used=[0-9]+ bytes limit=8388608 bytes entries=[0-9]+ host_path='$D/w' session_id=s'

on s
case $(disk s quota) in a\ watcher*) ;; *) plan skip_all "a kernel keeps a quota on ${TMPDIR:-/tmp}: $(disk s quota)" ;; esac
is "$(disk s workspace)" host "session info: the host's"
like "$(disk s quota)" 'watcher, .*no kernel quota: ' "session info: watched, and why"
is "$(disk s hard_bytes) $(disk s hard_inodes)" "false false" "session info: not hard"
is "$(disk s limit_bytes)" 8388608 "session info: the limit"
is "$(boxctl exec s -c 'head -c 4000000 /dev/zero >a; sleep 0.3; stat -c %s a')" 4000000 "within the quota a command runs"

# ---- while ----
boxctl exec s -t 60 -o json -c 'head -c 20000000 /dev/zero >b; touch wrote; sleep 98765' >"$D/out" 2>"$D/err"
is $? 137 "while: the command is killed"
is "$(field cause <"$D/out")" disk "while: the cause is told"
like "$(field error <"$D/out")" "^workspace quota exceeded during execution: $told\$" "while: used and limit are told"
ok "while: the file stays" [ -e "$D/w/b" ]

# ---- before ----
boxctl exec s -c 'touch /workspace/ran' >/dev/null 2>"$D/err"
is $? 125 "before: the next command is refused"
like "$(cat "$D/err")" "^boxctl: workspace quota exceeded before execution: $told\$" "before: in these words"
ok "before: it did not run" [ ! -e "$D/w/ran" ]
is "$(boxctl ps --names)" s "before: the session stays"
rm "$D/w/b"
is "$(boxctl exec s -- echo again)" again "before: with room again it runs"

# ---- after ---- (all at once: on a busy machine the watcher would come while something is written)
boxctl exec s -t 60 -o json -c 'echo done; fallocate -l 20000000 b; exit 3' >"$D/out" 2>"$D/err"
is $? 3 "after: a command that was faster than the watcher has its exit code"
is "$(field cause <"$D/out")" disk "after: the cause is told"
like "$(field error <"$D/out")" "^workspace quota exceeded (after|during) execution: $told\$" "after: in these words"
like "$(field stdout <"$D/out")" 'done' "after: its output is there"
rm "$D/w/b"

# ---- who is killed ----
boxctl create --name n --host-path "$D/other" --workspace-quota 8 >/dev/null
for s in s s n; do
	boxctl exec $s -t 60 -o json -- sleep 98765 >"$D/out.$s.$$" 2>/dev/null &
	jobs="$jobs $!"
done
both() { boxctl inspect s -o json | grep -q '"running": 2'; }
eventually both
boxctl exec s -t 60 -o json -c 'head -c 20000000 /dev/zero >b; sleep 98765' >"$D/out" 2>/dev/null
is "$(field cause <"$D/out")" disk "of several commands the writer is killed"
none() { boxctl inspect s -o json | grep -q '"running": 0'; }
eventually none
is "$(field cause <"$D/out.s.$$")" disk "and all others, since any could have been it"
like "$(boxctl inspect n)" 'running: +1' "but none of another session"
boxctl rm n >/dev/null
wait $jobs
rm "$D/w/b"

# ---- files ----
boxctl exec s -t 60 -o json -c 'i=0; while [ $i -lt 400 ]; do : >f$i; i=$((i+1)); done; sleep 98765' >"$D/out" 2>/dev/null
like "$(field error <"$D/out")" "^workspace entry limit exceeded during execution: entries>300 host_path=$D/w session_id=s\$" \
	"too many files: killed, in these words"
boxctl exec s -- true 2>"$D/err"
like "$(cat "$D/err")" "workspace entry limit exceeded before execution: entries>300 host_path=$D/w session_id=s\$" \
	"too many files: the next is refused"
rm "$D/w"/f*

# ---- another worker ----
boxctl exec s -t 60 -o json -c 'until [ -e go ]; do sleep 0.05; done; head -c 20000000 /dev/zero >b; sleep 98765' >"$D/out" 2>/dev/null &
job=$!
one() { boxctl inspect s -o json | grep -q '"running": 1'; }
eventually one
kill -9 "$(boxctl inspect s -o json | field worker_pid)"
replaced() { boxctl inspect s -o json | grep -q '"worker_restarts": 1' && boxctl inspect s -o json | grep -q '"state": "ready"'; }
eventually replaced
touch "$D/w/go"
wait $job
is "$(field cause <"$D/out")" disk "after a crash of its worker the session is watched again"
rm -f "$D/w/b" "$D/w/go"

# ---- in the background ----
boxctl exec s -c 'setsid sh -c "sleep 0.2; while head -c 4000000 /dev/zero >>b; do sleep 0.1; done" >/dev/null 2>&1 &'
ok "a command leaves a writer behind"
gone() { ! boxctl ps --names | grep -qx s; }
eventually gone
ok "that crosses the line: the session ends"
like "$(cat "$D/log")" "workspace quota exceeded by a background process: $told" "and the log tells why"
ok "it did not go far" [ "$(stat -c %s "$D/w/b")" -lt 200000000 ]
rm "$D/w/b"

# ---- none ----
boxctl create --name free --host-path "$D/w" >/dev/null
is "$(disk free quota)" none "without a quota nothing is watched"
is "$(boxctl exec free -c 'head -c 20000000 /dev/zero >b && echo fine')" fine "and nothing is refused"
boxctl create --name ro --host-path "$D/w:ro" --workspace-quota 8 >/dev/null
is "$(disk ro quota)" read-only "where nothing can be written nothing is watched"
is "$(boxctl exec ro -- echo fine)" fine "and nothing is refused"
done_testing
