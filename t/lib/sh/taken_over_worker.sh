# Run by t/attack/a-taken-over-worker-gains-nothing.c: a worker of each kind is made to call what it has no business with.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "only root can make another process call"
number() { ctl inspect "$1" -o json | sed -n "s/.*\"$2\": \([0-9]*\).*/\1/p"; }
worker_of() { number "$1" worker_pid; }
cgroups_of() { find /sys/fs/cgroup -type d -name "s$(number "$1" id)" 2>/dev/null; }
ready() { ctl inspect "$1" 2>/dev/null | grep -Eq 'state: +ready'; }
has_landlock() { perl -e 'exit(syscall(444, 0, 0, 1) < 1)'; }

# Who it is: "uids|gids|groups|capabilities that are not empty|no_new_privs|seccomp"
identity() { # an ordinary user cannot empty the bounding set; no_new_privs makes it worthless
	awk -v skip="${USER_ID:+CapBnd:}" '/^Uid:/ { u = $2 " " $3 " " $4 " " $5 } /^Gid:/ { g = $2 " " $3 " " $4 " " $5 } /^Groups:/ { $1 = ""; sub(/^ /, ""); s = $0 }
		/^Cap/ && $2 !~ /^0*$/ && $1 != skip { c = c $1 } /^NoNewPrivs:/ { n = $2 } /^Seccomp:/ { f = $2 }
		END { print u "|" g "|" s "|" c "|" n "|" f }' "/proc/$1/status"
}
sandbox_uid() { awk '{ print $2 }' "/proc/$1/uid_map"; }
expected() { # init: what its worker must be
	_first=$(sandbox_uid "$1")
	_own=$((_first + 65535))
	if [ -n "$USER_ID" ]; then
		echo "$USER_ID $USER_ID $USER_ID $USER_ID|$USER_ID $USER_ID $USER_ID $USER_ID|||1|2"
	else
		echo "$_own $_own $_first $_own|$_own $_own $_own $_own|$_first||1|2"
	fi
}

# Call everything, as the worker; print what was not refused.  On a worker that is not confined these calls succeed, so
# none may do harm: what is written, killed or moved is this test's own, and the rest has arguments that the kernel itself
# would refuse, but with another error.  = must fail with EPERM, which is the filter's; ? may do either.
succeeds() { # pid neighbour's session
	_cg=$(cgroups_of "$2" | head -n 1)
	_state=$D/state/sessions/$(number "$2" id)
	_there=$(worker_of "$2")
	set -- "$1"
	for _f in /etc/shadow /etc/passwd "$TOKEN" "$D/state/lock" "$_state/state" "$OWN/state" "$D/secret" "/proc/$_there/status" /dev/null; do
		set -- "$@" "openat,-100,@$_f,0" "openat,-100,@../../../../../../../..$_f,0"
	done
	for _f in "$D/loot" "$D/state/loot" "$_state/loot" "$OWN/loot"; do
		set -- "$@" "mkdirat,-100,@$_f,0700" "openat,-100,@$_f.file,0101,0600"
	done
	set -- "$@" "openat,-100,@$D/secret,1" "unlinkat,-100,@$D/secret.2,0" "fchownat,-100,@$D/secret,1,1,0" "fchmodat,-100,@$D/secret,0666"
	[ -z "$_cg" ] || set -- "$@" "openat,-100,@$_cg/cgroup.procs,0" "openat,-100,@$_cg/cgroup.procs,1" \
		"openat,-100,@${_cg%/*}/cgroup.procs,1" "mkdirat,-100,@$_cg/loot,0755" "mkdirat,-100,@${_cg%/*}/loot,0755"
	# what it has open leads nowhere, and takes in nobody
	for _fd in "/proc/$1/fd/"*; do
		_fd=${_fd##*/}
		case $(readlink "/proc/$1/fd/$_fd") in
		*/tasks) set -- "$@" "write,$_fd,@$VICTIM,${#VICTIM}" ;;
		/sys/fs/cgroup/*/"s${OWN##*/}")
			set -- "$@" "openat,$_fd,@../cgroup.procs,1" "mkdirat,$_fd,@../loot,0755" "openat,$_fd,@../../../../../../etc/shadow,0" \
				"?openat,$_fd,@cgroup.procs,1" "write,%,@$VICTIM,${#VICTIM}" \
				"?openat,$_fd,@tasks,1" "write,%,@$VICTIM,${#VICTIM}" ;;
		esac
	done
	for _p in "$VICTIM" "$BOXD_PID" "$_there"; do
		set -- "$@" "=kill,$_p,0" "=tgkill,$_p,$_p,0" "=pidfd_open,$_p,0" "=process_vm_readv,$_p,0,0,0,0,0" "=prlimit64,$_p,7,0,0"
	done
	set -- "$@" "=ptrace,0x4206,$VICTIM,0,0" "=socket,1,1,0" "=socket,1,5,0" "=socket,2,1,0" "=socket,2,3,1" "=socket,10,2,0" \
		"=socket,16,3,0" "=socketpair,1,2,0,0" "=connect,-1,!$D/run/boxd.sock,110" "=bind,-1,!$D/x,110" \
		"=execve,@/nonexistent/boxd,0,0" "=clone,0x10000,0,0,0,0" "=setns,-1,0" "=unshare,1" "=mount,@none,@/nonexistent/boxd,@tmpfs,0,0" \
		"=chroot,@/nonexistent/boxd" "=setuid,0" "=setgid,0" "=setresuid,0,0,0" "setresuid,-1,0,-1" "=setresuid,-1,-1,0" \
		"=setgroups,0,0" "=bpf,-1,0,0" "=io_uring_setup,0,0" "=perf_event_open,0,0,-1,-1,0" "=keyctl,-1,0,0" \
		"=open_by_handle_at,-1,0,0" "=mmap,0,4096,7,0x22,-1,0"
	# once more as the sandbox's uid, which it can be
	_pid=$1
	shift
	[ -n "$USER_ID" ] || set -- "$@" "?setresuid,-1,$_first,-1" "$@" "?setresuid,-1,$((_first + 65535)),-1"
	"$INJECT" "$_pid" "$@" >"$D/calls" 2>&1 || echo "the calls could not be made"
	[ "$(grep -c '' "$D/calls")" = $# ] || echo "not all were tried: $(tail -n 1 "$D/calls")"
	sed -n -e '/^?/d' -e '/^=.*: EPERM$/d' -e '/^[^=].*: E[A-Z]*$/d' -e p "$D/calls"
}

# What an attack that succeeded left.
tidy() {
	rm -rf "$D"/loot "$D"/loot.file "$D"/state/loot "$D"/state/loot.file "$D"/state/sessions/*/loot "$D"/state/sessions/*/loot.file
	find /sys/fs/cgroup -depth -type d -path "*/$(tail -n 1 "$D/.instances")/*" -name loot -exec rmdir {} + 2>/dev/null
	echo secret >"$D/secret" && echo secret >"$D/secret.2" && chmod 600 "$D/secret" "$D/secret.2"
}

# worker PID, of session NAME; the other arguments name it
check() { # name neighbour what
	_pid=$(worker_of "$1") OWN=$D/state/sessions/$(number "$1" id) _first=$(sandbox_uid "$(number "$1" init_pid)")
	is "$(identity "$_pid")" "$(expected "$(number "$1" init_pid)")" "$3: a uid of its own, no capability, a filter"
	is "$("$INJECT" "$_pid" getpid)" "getpid: done" "$3: it can be made to call"
	tidy
	is "$(succeeds "$_pid" "$2")" "" "$3: and gains nothing by it"
	is "$(ctl exec "$1" -- echo alive)" alive "$3: it goes on"
}

gone() { [ ! -e "/proc/$1" ]; }

# A worker that says "closed" and has closed nothing.
lies() { # name what
	_init=$(number "$1" init_pid)
	rm -f "$D/lie"
	_worker=$(worker_of "$1") _id=$(number "$1" id)
	"$INJECT" "$_worker" >"$D/lie" 2>&1 &
	_liar=$!
	eventually grep -qs held "$D/lie"
	ctl rm "$1" >/dev/null
	ok "$2: its session is removed"
	ok "$2: its lie about the end is noticed" grep -q "session=$_id .* sweep" "$D/log"
	eventually gone "$_init"
	ok "$2: its sandbox is dead all the same"
	eventually gone "$_worker"
	ok "$2: and so is it"
	kill "$_liar" 2>/dev/null
	wait "$_liar" 2>/dev/null
	kill -9 "$_init" "$_worker" 2>/dev/null # where it succeeds
}

every_worker() { # what: each is confined; that of a spare is none of a session one can ask for
	for _w in $(pgrep -x box-session -P "$BOXD_PID"); do
		identity "$_w"
	done | awk -F'|' '$4 != "" || $5 != 1 || $6 != 2 || $1 ~ /(^| )0( |$)/' >"$D/weak"
	ok "$1" [ ! -s "$D/weak" ] || diag "$(cat "$D/weak")"
}

# root's, as boxd is: to be signalled, traced or moved
sleep 1000000 &
VICTIM=$!
end_victim() { kill "$VICTIM" 2>/dev/null; wait "$VICTIM" 2>/dev/null; rm -f "$D/secret"*; }
at_end end_victim

# ---- boxd is root ----
USER_ID= TOKEN=$D/state/keys/langbot.token
ctl() { boxctl "$@"; }
boxd_config 'listen = 127.0.0.1:0' 'spare_sandboxes = 1' 'log_level = debug'
boxd_start
ok "there is a token to be taken" [ -s "$TOKEN" ]
mkdir -m 777 "$D/w" "$D/q"
ctl create --name other --memory 64 >/dev/null
ctl create --name private --memory 64 >/dev/null
ctl create --name host --host-path "$D/w" >/dev/null
ctl create --name watched --host-path "$D/q" --workspace-quota 8 >/dev/null
ctl create --name disk --workspace-size 64 --memory 32 >/dev/null
ctl create --name net --network on >"$D/net" 2>&1
for kind in private host watched disk net; do
	if ready $kind; then
		check $kind other "$kind"
	else
		skip 4 "$kind: no such session here: $(head -n 1 "$D/net")"
	fi
done
check other private "other"
one_spare() { grep -q 'name=\.spare\..* ready' "$D/log" && [ "$(pgrep -cx box-session -P "$BOXD_PID")" -gt "$(ctl ps --names | wc -l)" ]; }
eventually one_spare
every_worker "each worker is confined, that of a spare sandbox too"

# ---- whose the cgroups are ----
first=$(sandbox_uid "$(number private init_pid)")
for c in $(cgroups_of private); do find "$c" -uid "$first"; done >"$D/owned"
is "$(cat "$D/owned")" "" "no file of its cgroups belongs to the sandbox"
for c in $(cgroups_of private); do find "$c" -gid "$first" -perm -020; done | sed 's|.*/||' | sort -u >"$D/written"
is "$(grep -vxE 'cgroup\.procs|cgroup\.kill' "$D/written")" "" "and init can write none that limits it"
is "$(stat -c '%u %a' "$D/state/sessions/$(number private id)")" "0 700" "its state is root's"

# ---- adopted ----
adopt() { # name
	vanish "$(worker_of "$1")"
	eventually ready "$1"
}
adopt private
adopt watched
check private other "adopted"
check watched other "adopted and watched"

# as a boxd that ran its workers as root left them
for c in $(cgroups_of private); do
	chown -R 0:0 "$c"
	find "$c" -name cgroup.procs -o -name cgroup.kill | xargs chown "$first"
	find "$c" -type f -perm -020 -exec chmod g-w {} +
done
adopt private
for c in $(cgroups_of private); do find "$c" -not -uid $((first + 65535)); done >"$D/owned"
is "$(cat "$D/owned")" "" "of an older boxd: its cgroups are the worker's again"
check private other "of an older boxd"
is "$(ctl exec private -t 0.5 -- sleep 60 2>&1; echo $?)" "boxctl: command timed out after 0.5 s; 1 process killed
124" "of an older boxd: a timeout works"

vanish "$BOXD_PID"
boxd_start
for kind in other private host watched; do eventually ready $kind; done
check private other "after a restart of boxd"
every_worker "after a restart of boxd: each worker is confined"

# ---- it lies ----
ctl create --name liar >/dev/null
lies liar "a liar"

# ---- what it must still be able to do ----
ctl pause private >/dev/null && ctl resume private >/dev/null
ok "it pauses and goes on"
ctl exec private -t 0.3 -- sleep 60 >/dev/null 2>&1
is "$(ctl exec private -- echo again)" again "a place for the next command is made"
printf hello | ctl cp - private:f
is "$(ctl cp private:f -)" hello "files go in and out"
for kind in $(ctl ps --names); do ctl rm "$kind" >/dev/null || fail "rm $kind"; done
is "$(ctl ps --names)" "" "all are removed"
unlike "$(cat "$D/log")" 'level=error|left over.*stays| stays' "and the log has no error" || diag "$(grep -E 'error|stays' "$D/log")"
boxd_stop

# ---- boxd is an ordinary user ----
USER_ID=65534
rm -rf "$D/state" "$D/run"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
chown -R 65534:65534 "$D"
setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxd" -c "$D/boxd.conf" --state-dir "$D/state" --runtime-dir "$D/run" \
	</dev/null >>"$D/log" 2>&1 &
BOXD_PID=$!
ctl() { setpriv --reuid 65534 --regid 65534 --clear-groups "$D/bin/boxctl" --socket "$D/run/boxd.sock" "$@"; }
answers() { ctl ping >/dev/null 2>&1; }
eventually answers
if ! ctl create --name s >/dev/null 2>&1 || ! ctl create --name other >/dev/null 2>&1; then
	skip 13 "user namespaces are closed to ordinary users here"
elif ! has_landlock; then
	skip 13 "a user's worker is kept from the user's files by landlock alone, which this kernel has not"
else
	check s other "a user's"
	every_worker "a user's: each worker is confined"
	vanish "$(worker_of s)"
	eventually ready s
	check s other "a user's, adopted"
	lies s "a user's liar"
fi
ctl rm s >/dev/null 2>&1
done_testing
