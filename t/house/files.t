#!/bin/sh
# Files of a session by request: put, get, list, stat, make and remove, by whoever's right the commands have.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --workspace-size 8 >/dev/null
rpc() { timeout -k 5 120 perl t/lib/sh/rpc.pl "$D/run/boxd.sock" "$@" 2>&1; }
call() { rpc "file_$1" "{\"session\":\"s\",$2}"; }
put() { # path text
	printf '%s\n' "file_open {\"session\":\"s\",\"path\":\"$1\",\"access\":\"write\"}" \
		"file_write {\"session\":\"s\",\"handle\":\"@handle\",\"data\":\"$2\"}" \
		'file_close {"session":"s","handle":"@handle","commit":true}' | rpc | tail -n 1
}

is "$(call mkdir '"path":"a/b","parents":true')" '{}' "a directory is made"
is "$(put a/b/f hello)" '{}' "a file is put into it"
is "$(boxctl exec s -- cat a/b/f)" hello "a command finds it"
is "$(boxctl exec s -- stat -c '%U %G %a' a/b/f a/b | tr '\n' ' ')" "root root 644 root root 755 " "as its own"
boxctl exec s -c 'echo from inside >a/g; ln -s /etc/passwd a/l'
like "$(call list '"path":"a"')" '"name":"b".*"kind":"file".*"name":"g".*"kind":"symlink".*"name":"l".*"target":"/etc/passwd"' "the list has all, sorted"
like "$(call stat '"path":"/workspace/a/g"')" '"kind":"file".*"size_bytes":12' "a file is told"
like "$(printf '%s\n' 'file_open {"session":"s","path":"a/g"}' 'file_read {"session":"s","handle":"@handle"}' | rpc)" \
	'"data":"from inside\\n","end":true' "and read"
like "$(call stat '"path":"../etc"')" '^invalid: path: \.\./etc has a' "dots are refused"
like "$(call stat '"path":"/etc/passwd"')" '^invalid: path: /etc/passwd is not beneath /workspace' "and other places"
like "$(call open '"path":"a/l"')" '^invalid: a/l is a symlink' "and symlinks"
like "$(call open '"path":"x","access":"write","mode":2541')" '^invalid: file_open.mode' "and setuid"
like "$(rpc file_stat '{"session":"nosuch","path":"."}')" '^not_found: session nosuch' "a session that is not there is told"
like "$(call read '"handle":1')" '^not_found: handle 1 is not open; the transfer must be started again' "a handle too"
is "$(call remove '"path":"a","recursive":true')" '{}' "a tree is removed"
is "$(boxctl exec s -c 'ls -A')" "" "and nothing is left"

# the workspace has 8 MiB
is "$(put f old)" '{}' "a small file"
n=0
{
	echo 'file_open {"session":"s","path":"f","access":"write"}'
	while [ $n -lt 10 ]; do
		echo "file_write {\"session\":\"s\",\"handle\":\"@handle\",\"offset\":$((n * 1048576)),\"data\":\"\$(1048576)\"}"
		n=$((n + 1))
	done
	echo 'file_close {"session":"s","handle":"@handle","commit":true}'
} >"$D/large"
like "$(rpc <"$D/large" | tail -n 1)" '^capacity: write f: the workspace is full: [0-9]+ KiB are left of 8192 KiB' "one that does not fit is refused"
is "$(boxctl exec s -- cat f)" old "the old one is there"
is "$(boxctl exec s -c 'ls -A; [ "$(df --output=used . | tail -n 1)" -lt 64 ] && echo free' | tr '\n' ' ')" "f free " "and the space is free again"
boxctl exec s -c 'i=0; while : >n$i; do i=$((i + 1)); done' 2>/dev/null
like "$(call open '"path":"another","access":"write"')" '^capacity: .*no inode is left of the [0-9]+' "so is running out of inodes"
boxctl exec s -c 'rm n*'

# it is no command, and does not keep a session alive
like "$(boxctl ps -o json)" '"running": 0' "box-files is not a running command"
like "$(boxctl exec s -- ps ax)" 'box-files /workspace' "though it runs inside"
like "$(boxctl rm s -o json)" '"killed": 0' "and is not counted when its session goes"
boxctl create --name short --idle 1 >/dev/null
rpc file_stat '{"session":"short","path":"."}' >/dev/null
gone() { ! boxctl ps --names | grep -qx short; }
eventually gone
ok "nor does it keep a session from being idle"

# its rights are the sandbox's
boxctl create --name t >/dev/null
rpc file_stat '{"session":"t","path":"."}' >/dev/null
like "$(boxctl exec t -c 'p=$(pgrep box-files); grep -E "^(NoNewPrivs|Seccomp|CapEff|CapBnd)" /proc/$p/status' | tr -s '\t\n' ' ')" \
	'CapEff: 0000000000000000 CapBnd: 0000000000000000 NoNewPrivs: 1 Seccomp: 2' "no capabilities, and the commands' filter"
like "$(boxctl exec t -c 'p=$(pgrep box-files); cat /proc/$p/environ; ls -l /proc/$p/fd; cat /proc/$p/mem' 2>&1)" \
	'denied.*' "it cannot be looked into"
is "$(boxctl exec t -t 20 -- python3 -c 'import ctypes, subprocess
c = ctypes.CDLL(None, use_errno=True)
p = int(subprocess.check_output(["pgrep", "box-files"]))
print(c.ptrace(16, p, 0, 0), ctypes.get_errno())' 2>/dev/null || echo -1 1)" "-1 1" "nor traced"
boxctl exec t -c 'kill -STOP $(pgrep box-files)'
timeout -k 5 60 "$BUILD/boxctl" --socket "$D/run/boxd.sock" rm t >/dev/null
ok "a session whose box-files is stopped is deleted at once"

# many at once
boxctl create --name m >/dev/null
i=0 pids=
while [ $i -lt 6 ]; do
	(
		n=0
		while [ $n -lt 50 ]; do
			echo "file_mkdir {\"session\":\"m\",\"path\":\"d$i/$n\",\"parents\":true}"
			n=$((n + 1))
		done
	) | rpc >"$D/many.$i" &
	pids="$pids $!"
	i=$((i + 1))
done
for p in $pids; do wait "$p"; done
is "$(cat "$D"/many.* | sort | uniq -c | tr -d ' \n')" '300{}' "six clients at once are all answered"
is "$(boxctl exec m -c 'ls -d d*/* | wc -l' | tr -d ' ')" 300 "and all is done"
done_testing
