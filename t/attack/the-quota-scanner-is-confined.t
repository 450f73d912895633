#!/bin/sh
# The processes that measure a workspace look at what a stranger made: what they have, and what happens when they go.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 3000'
boxd_start
mkdir "$D/w" "$D/x"
boxctl create --name s --host-path "$D/w" --workspace-quota 8 --pids 16 --memory 64 >/dev/null
case $(disk s quota) in a\ watcher*) ;; *) plan skip_all "a kernel keeps a quota on ${TMPDIR:-/tmp}: $(disk s quota)" ;; esac
of() { boxctl inspect s -o json | field "$1"; }
scanner() { # box-scan or box-look
	for _p in $(cat /proc/"$(of worker_pid)"/task/*/children); do
		[ "$(cat /proc/"$_p"/comm)" != "$1" ] || echo "$_p"
	done
}
confined() { # it is so when it has its filter
	grep -q '^Seccomp:.2' /proc/"$(scanner box-scan)"/status && grep -q '^Seccomp:.2' /proc/"$(scanner box-look)"/status
}
eventually confined
ok "both are there, and confined"

# ---- what they have ----
base=$(sed -n 's/^uid_base = //p' "$D/boxd.conf")
status() { sed -n "s/^$2:[[:space:]]*//p" /proc/"$1"/status; }
data=0
grep -qa __asan_init "$BUILD/box-session" && data=unlimited # a sanitizer needs memory of its own
for name in box-scan box-look; do
	p=$(scanner $name)
	uid=$(status "$p" Uid | cut -f1)
	ok "$name: the uid is one of sandboxes ($uid)" [ "$uid" -ge "$base" ]
	is "$(status "$p" Uid | tr '\t' '\n' | sort -u)" "$uid" "$name: it has no other"
	is "$(status "$p" Gid | tr '\t' '\n' | sort -u)" "$uid" "$name: nor another group"
	is "$(status "$p" Groups)" "" "$name: nor more groups"
	[ $name = box-scan ] && caps=0000000000000004 || caps=0000010000080004 # DAC_READ_SEARCH; SYS_PTRACE, CHECKPOINT_RESTORE
	is "$(status "$p" CapEff) $(status "$p" CapPrm)" "$caps $caps" "$name: the rights it needs"
	is "$(status "$p" CapBnd) $(status "$p" CapAmb) $(status "$p" CapInh)" "0000000000000000 0000000000000000 0000000000000000" "$name: and no way to others"
	is "$(status "$p" NoNewPrivs) $(status "$p" Seccomp)" "1 2" "$name: no_new_privs and a filter"
	limit() { sed -n "s/^Max $1  *//p" /proc/"$p"/limits | cut -d' ' -f1; }
	is "$(limit 'processes') $(limit 'core file size') $(limit 'file size') $(limit 'data size')" "0 0 0 $data" "$name: it can make no process, core, file or memory"
	id=$(of id)
	for controller in memory pids cpu; do
		place=$(sed -n "s/^[0-9]*:$controller://p" /proc/"$p"/cgroup)
		[ -n "$place" ] || place=$(sed -n 's/^0:://p' /proc/"$p"/cgroup)
		like "$place" "/s$id(/init)?\$" "$name: in the session's $controller cgroup"
	done
done
is "$(ls /proc/"$(scanner box-scan)"/fd | tr '\n' ' ')" "0 1 2 3 4 5 " "box-scan: its descriptors and no other"
is "$(ls /proc/"$(scanner box-look)"/fd | tr '\n' ' ')" "0 1 2 3 4 " "box-look: its descriptors and no other"
is "$(readlink /proc/"$(scanner box-scan)"/root)" "$D/w" "box-scan: the workspace is its root"
is "$(stat -L -c %i "/proc/$(scanner box-look)/root")" 1 "box-look: a procfs is its root"
is "$(stat -f -L -c %T "/proc/$(scanner box-look)/root")" proc "box-look: of the kernel's"
for fd in 0 1 2; do
	is "$(readlink /proc/"$(scanner box-scan)"/fd/$fd) $(readlink /proc/"$(scanner box-look)"/fd/$fd)" "/dev/null /dev/null" "standard descriptor $fd is nothing"
done

# ---- what the client notices ----
is "$(box exec s -c 'ps -e -o comm= | grep -cE "box-(scan|look)"')" 0 "inside they are not seen"
most() { # how many processes a session can have
	box exec "$1" -t 20 -- perl -e 'for (;;) { $p = fork; last unless defined $p; if (!$p) { sleep 98765; exit } push @all, $p } print scalar(@all) . "\n"; kill 9, @all' 2>/dev/null
}
boxctl create --name plain --host-path "$D/x" --pids 16 >/dev/null
boxctl create --name watched --host-path "$D/x" --workspace-quota 8 --pids 16 >/dev/null
free=$(most plain)
ok "processes of a session can be counted ($free)" [ "$free" -gt 5 ]
is "$(most watched)" "$free" "they take none of the client's processes"
is "$(boxctl rm watched plain >/dev/null; boxctl ps --names)" s "their sessions go"

# ---- when they go ----
restarts=0
goes() { # name signal what-is-told
	rm -f "$D/out"
	boxctl exec s -t 120 -o json -c 'sleep 98765' >"$D/out" 2>/dev/null &
	job=$!
	runs() { boxctl inspect s -o json | grep -q '"running": 1'; }
	eventually runs
	kill "-$2" "$(scanner "$1")"
	wait $job
	is "$(field cause <"$D/out")" disk "$1 gets $2: the command is killed, with cause disk"
	like "$(field error <"$D/out")" "^workspace quota cannot be checked: .*$3.* host_path=$D/w session_id=s\$" "and told why"
	restarts=$((restarts + 1))
	again() { boxctl inspect s -o json | grep -q "\"worker_restarts\": $restarts" && boxctl inspect s -o json | grep -q '"state": "ready"'; }
	eventually again
	is "$(box exec s -t 60 -o json -c 'head -c 20000000 /dev/zero >f; sleep 98765' 2>/dev/null | field cause)" disk "and the next scanner measures again"
	rm -f "$D/w/f"
}
goes box-scan KILL 'died'
goes box-look KILL 'died'
# the first of them comes and goes without a command: nothing is lost
kill -9 "$(scanner box-scan)"
restarts=$((restarts + 1))
again() { boxctl inspect s -o json | grep -q "\"worker_restarts\": $restarts" && boxctl inspect s -o json | grep -q '"state": "ready"'; }
eventually again
is "$(box exec s -- echo alive)" alive "one that dies while nothing runs is replaced"
eventually confined
goes box-look STOP 'did not answer within'
done_testing
