# Links that a command leaves where the next command shall start.  Needs: boxd running, box, $D/ws.
box create --name s --host-path "$D/ws" >/dev/null
# what is outside of the root has no path inside
where='[ "$(/bin/pwd -P 2>/dev/null)" ] && [ -e "$(/bin/pwd -P)" ] && echo inside || echo "OUTSIDE: $(readlink /proc/self/cwd)"'
started() { box exec s -t 30 -w "$1" -c "$where" 2>&1 | grep -c OUTSIDE; }
outside=0 made=0
for who in self 1 thread-self self/task/1; do
	for n in 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
		in_box -c "ln -sfn /proc/$who/fd/$n /workspace/d" >/dev/null
		outside=$((outside + $(started /workspace/d) + $(started /workspace/d/..) + $(started "/proc/$who/fd/$n")))
		in_box -w /workspace/d/made-by-workdir -- true >/dev/null
	done
done
is $outside 0 "no command starts outside of its root, whatever descriptor a link names"
made=$(find /sys/fs/cgroup -name made-by-workdir 2>/dev/null | wc -l)
is "$made" 0 "and no directory is made there"
find /sys/fs/cgroup -depth -name made-by-workdir -exec rmdir {} + 2>/dev/null
for to in /proc/self/cwd /proc/1/cwd /proc/1/root /proc/self/root /dev/fd /proc/self; do
	in_box -c "ln -sfn $to /workspace/d" >/dev/null
	like "$(in_box -w /workspace/d/x -- pwd)" 'workdir /workspace/d/x: a symbolic link leads in a circle, or through a link of /proc' "$to is refused"
done
in_box -c 'ln -sfn d2 /workspace/d; ln -sfn d /workspace/d2' >/dev/null
like "$(in_box -w /workspace/d -- pwd)" 'workdir /workspace/d: a symbolic link leads in a circle' "a circle"

# ---- what works as before ----
in_box -c 'rm d d2; mkdir -p real/sub; ln -s real rel; ln -s /workspace/real/sub abs; ln -s ../../../../tmp up; echo >file' >/dev/null
is "$(in_box -w /workspace/rel -- pwd -P)" /workspace/real "a relative link"
is "$(in_box -w /workspace/abs/../new/er -- pwd -P)" /workspace/real/new/er "an absolute one, dots, and what is missing is made"
is "$(in_box -w /workspace/up -- pwd -P)" /tmp "a link that goes up stops at the root"
is "$(in_box -w /workspace//real/./sub/ -- pwd -P)" /workspace/real/sub "slashes and dots"
is "$(in_box -w / -- pwd -P)" / "the root"
like "$(in_box -w /workspace/file -- pwd)" 'workdir /workspace/file: Not a directory' "a file"
like "$(in_box -w /workspace/file/x -- pwd)" 'workdir /workspace/file/x: Not a directory' "below a file"
like "$(in_box -w /usr/x -- pwd)" 'workdir /usr/x: Read-only file system' "where nothing can be made"
like "$(in_box -w "/workspace/$(printf '%0300d' 0)" -- pwd)" 'File name too long' "a name that is too long"
