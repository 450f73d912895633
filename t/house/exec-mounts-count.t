#!/bin/sh
# What a command mounts writable counts against workspace_quota_mb, whoever comes and goes, and its session stays as it is.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0'
boxd_start
mkdir "$D/w" "$D/a" "$D/b" "$D/w/p"
told() { echo "workspace quota exceeded $1 execution: used=[0-9]+ bytes limit=8388608 bytes"; }
new() { # name [option...]
	_name=$1
	shift
	boxctl create --name "$_name" --workspace-quota 8 "$@" >/dev/null
	boxctl exec "$_name" -c 'echo kept >/tmp/k; sleep 98765 >/dev/null 2>&1 & echo $! >/tmp/pid' >/dev/null
	pids=$(inits "$_name")
}
inits() { boxctl inspect "$1" -o json | field init_pid; boxctl inspect "$1" -o json | field worker_pid; }
stays() { # name, when
	is "$(boxctl exec "$1" -c 'cat /tmp/k; kill -0 $(cat /tmp/pid) && echo lives')" "kept
lives" "$2: /tmp and a background process are there"
}
scanners() { grep -l "/s$(boxctl inspect s -o json | field id)\$" $(pgrep -x box-scan | sed 's|.*|/proc/&/cgroup|') 2>/dev/null | wc -l; }
fill() { # at once: what grows while a process of the session lives would end the session
	head -c 20000000 /dev/zero >"$D/filling"
	mv "$D/filling" "$1"
}

# ---- a directory of the host's, and beside it what commands name ----
new s --host-path "$D/w"
is "$(boxctl exec s --mount "$D/a:/workspace/m" -c 'head -c 4000000 /dev/zero >m/x && stat -c %s m/x')" 4000000 "a new writable mount, within the quota"
boxctl exec s --mount "$D/a:/workspace/m" -t 60 -o json -c 'head -c 20000000 /dev/zero >m/y; sleep 98765' >"$D/out" 2>/dev/null
is "$(field cause <"$D/out")" disk "too much in it: the command is killed"
like "$(field error <"$D/out")" "$(told during)" "and why is told"
like "$(boxctl exec s -- true 2>&1)" "$(told before)" "the next command is refused, also without the mount"
rm "$D/a/y"
is "$(boxctl exec s -- echo again)" again "with room again it runs"
is "$(inits s)" "$pids" "neither the sandbox nor its worker was replaced"
stays s "after a new mount"
is "$(boxctl exec s --mount "$D/a:/workspace/m" --mount "$D/b:/workspace/n" -c 'echo >n/x; ls m n | tr "\n" " "')" "m: x  n: x " "one more of them"
fill "$D/b/y"
like "$(boxctl exec s -- true 2>&1)" "$(told before)" "which counts, too"
rm "$D/b/y"
fill "$D/a/y"
like "$(boxctl exec s -- true 2>&1)" "$(told before)" "and so does the first one still"
rm "$D/a/y"
for i in $(seq 20); do
	boxctl exec s --mount "$D/a:/workspace/m" -- true &
	boxctl exec s --mount "$D/b:/workspace/n" -- true
	wait $!
done
one() { [ "$(scanners)" = 1 ]; }
eventually one
ok "one process measures the session, however often the mounts change"
is "$(inits s)" "$pids" "and nothing was replaced"

# ---- two at once, each with a mount that is new ----
mkdir "$D/c" "$D/d"
boxctl exec s --mount "$D/c:/workspace/c" -- true & one=$!
boxctl exec s --mount "$D/d:/workspace/d" -- true
wait $one
for x in c d; do
	fill "$D/$x/y"
	like "$(boxctl exec s -- true 2>&1)" "$(told before)" "two at once: what is in $x counts"
	rm "$D/$x/y"
done

# ---- what failed to be mounted is not taken for measured ----
mkdir "$D/e"
boxctl exec s -c 'echo >/workspace/file; mkdir -p /workspace/e'
like "$(boxctl exec s --mount "$D/e:/workspace/file" -- true 2>&1)" 'it is a file in the sandbox' "a mount that fails"
is "$(boxctl exec s --mount "$D/e:/workspace/e" -- echo fine)" fine "the same directory at another place"
fill "$D/e/y"
like "$(boxctl exec s -- true 2>&1)" "$(told before)" "which counts"
rm "$D/e/y"

# ---- another directory in its place ----
mv "$D/a" "$D/old"
mkdir "$D/a"
boxctl exec s --mount "$D/a:/workspace/m" -t 60 -o json -c 'head -c 20000000 /dev/zero >m/y; sleep 98765' >"$D/out" 2>/dev/null
is "$(field cause <"$D/out")" disk "another directory of that name counts"
rm "$D/a/y"

# ---- crashes ----
vanish "$(boxctl inspect s -o json | field worker_pid)"
fill "$D/b/y"
refused() { boxctl exec s -- true 2>&1 | grep -Eq "$(told before)"; }
eventually refused
ok "a worker that was killed: the next one measures the mounts of commands, too"
rm "$D/b/y"
rm -r "$D/d"
vanish "$BOXD_PID"
boxd_start
fill "$D/b/y"
eventually refused
ok "boxd killed: it knows what counts, though one of the directories is gone"
rm "$D/b/y"
stays s "after crashes"
is "$(inits s | head -1)" "$(echo "$pids" | head -1)" "it is the same sandbox as ever"
boxctl exec s --mount "$D/b:/workspace/n" -t 60 -o json -c 'head -c 20000000 /dev/zero >n/y; sleep 98765' >"$D/out" 2>/dev/null
is "$(field cause <"$D/out")" disk "and a mount it has had before counts as before"
rm "$D/b/y"

# ---- the whole session ends when a process that was left behind fills a mount ----
boxctl exec s --mount "$D/b:/workspace/n" -c 'cd n; setsid sh -c "sleep 0.2; while head -c 4000000 /dev/zero >>y; do sleep 0.1; done" >/dev/null 2>&1 &'
gone() { ! boxctl ps --names | grep -qx s; }
eventually gone
ok "a background process that still has the mount cannot fill it"
ok "and did not get far" [ "$(stat -c %s "$D/b/y")" -lt 200000000 ]
rm "$D/b/y"

# ---- a workspace that a kernel bounds, and a session that had nothing to measure ----
new p
is "$(boxctl exec p --mount "$D/a:/workspace/m" -c 'echo >m/x && echo fine')" fine "a private workspace: a writable mount"
like "$(disk p quota)" 'a watcher for what is in 1 writable extra mounts' "session info tells who measures it"
boxctl exec p --mount "$D/a:/workspace/m" -t 60 -o json -c 'head -c 20000000 /dev/zero >m/y; sleep 98765' >"$D/out" 2>/dev/null
is "$(field cause <"$D/out")" disk "too much in it: the command is killed"
rm -f "$D/a/y"
is "$(inits p)" "$pids" "nothing was replaced"
stays p "private"
is "$(boxctl exec p --mount "$D/a:/workspace/m:ro" -- echo fine)" fine "read-only it needs nobody"

# ---- so many, and no more ----
mkdir "$D/many"
for i in $(seq 257); do mkdir "$D/many/$i"; done
args() { for i in $(seq "$1" "$2"); do printf ' --mount %s:/workspace/%s' "$D/many/$i" "$i"; done; }
twice() { for i in $(seq "$1" "$2"); do printf ' --mount %s:/workspace/again%s' "$D/many/$i" "$i"; done; }
new d $(args 1 130)
is "$(boxctl exec d $(twice 1 130) -- echo fine)" fine "130 writable mounts, and the same 130 at other places"
vanish "$(echo "$pids" | tail -1)"
is "$(boxctl exec d -- echo fine)" fine "each is remembered once, and a worker that was killed is replaced"
boxctl rm d >/dev/null
is "$(boxctl exec p $(args 1 255) -- echo fine)" fine "255 more writable mounts"
like "$(boxctl exec p $(args 256 257) -- echo fine 2>&1)" 'exec.extra_mounts: more than 256 writable mounts would count against the workspace_quota_mb of session p; mount read-only, or make another session' "a 257th is refused, and what to do is told"
is "$(boxctl exec p $(args 3 200) -- echo fine)" fine "those it has had are none"
stays p "with 256 of them"
done_testing
