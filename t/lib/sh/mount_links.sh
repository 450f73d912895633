# Links that a command leaves in its workspace, and what they may not do.  Needs: boxd running, box, own PATH (gives it to boxd's user).
echo planted >"$D/skill/passwd"
echo planted >"$D/skill/planted"
# enough to pass for /proc, /dev or /usr, where nobody looks twice
mkdir -p "$D/skill/self/ns" "$D/skill/bin"
: >"$D/skill/self/mountinfo"
: >"$D/skill/self/ns/uts"
: >"$D/skill/null"
for p in sh cat; do
	cp "$(command -v $p)" "$D/skill/bin/"
	ldd "$(command -v $p)" | grep -oE '/[^ ]+' | while read -r l; do mkdir -p "$D/skill$(dirname "${l#/usr}")" && cp -L "$l" "$D/skill${l#/usr}"; done
done
own "$D/skill"
in_ws() { box run --host-path "$D/ws" "$@" 2>&1; }

# ---- links in the workspace ----
for to in /proc /proc/self /usr /usr/bin /etc /dev /dev/shm /tmp /home /run /opt / .. ../.. ../proc ../../proc . /workspace /workspace/real "$D/other" /proc/self/root /proc/self/cwd /proc/1/root; do
	in_ws -c "rm -rf link; mkdir -p real; ln -s '$to' link" >/dev/null
	for at in link link/sub link/sub/er; do
		got=$(in_ws --mount "$D/skill:/workspace/$at" -c 'cat /proc/planted /usr/planted /etc/planted /dev/planted /proc/sub/planted /etc/sub/planted /opt/planted /home/planted 2>/dev/null; true')
		unlike "$got" planted "$at -> $to: nothing appears where the link leads"
		like "$got" "the mount point /workspace/$at: /workspace/link is a symbolic link" "it is refused, and the error names the link"
	done
done
ok "nothing was made behind them" test ! -e "$D/other/sub"
is "$(ls -A "$D/ws" | sort | tr '\n' ' ')" "link real " "and nothing in the workspace"
in_ws -c 'rm -rf link real; mkdir a; ln -s ../../../proc a/b' >/dev/null
like "$(in_ws --mount "$D/skill:/workspace/a/b/c" -- true)" 'the mount point /workspace/a/b/c: /workspace/a/b is a symbolic link' "a link further down"
in_ws -c 'rm -rf a; ln -s /nowhere dangling; ln -s loop loop' >/dev/null
like "$(in_ws --mount "$D/skill:/workspace/dangling/x" -- true)" '/workspace/dangling is a symbolic link' "a link to nothing"
like "$(in_ws --mount "$D/skill:/workspace/loop" -- true)" '/workspace/loop is a symbolic link' "a loop"
like "$(in_ws --mount "$D/skill/passwd:/workspace/dangling:ro" -- true)" '/workspace/dangling is a symbolic link' "for a file, too"
in_ws -c 'rm -f dangling loop; ln -s /etc etc' >/dev/null
like "$(box run --host-path "$D/ws" --mount-path /data --mount "$D/skill:/data/etc" -- true 2>&1)" 'the mount point /data/etc: /data/etc is a symbolic link' "wherever the workspace is"
like "$(box run --mount "$D/ws:/opt" --mount "$D/skill:/opt/etc/x" -- true 2>&1)" 'the mount point /opt/etc/x: /opt/etc is a symbolic link' "and in any mount"
like "$(box run --mount "$D/ws:/opt" --mount-path /opt/etc -- true 2>&1)" '/opt/etc' "also for the workspace itself"
rm -f "$D/ws/etc"

# ---- links of the root itself ----
is "$(box run --mount "$D/skill:/root/x:ro" --mount "$D/skill:/var/tmp/x:ro" -c 'cat /home/x/planted /tmp/x/planted' 2>&1 | tr '\n' ' ')" "planted planted " "/root and /var/tmp are links of the skeleton, and followed"

# ---- what a mount may not hide ----
for at in / /. // /proc /proc/ /proc/self /proc/sys //proc /./proc /dev /dev/shm /dev/pts /dev/null /sys /sys/fs /usr /usr/bin /usr/local/x /bin /sbin /lib /lib64 /lib64/x /etc /etc/ \
	/etc/ssl /etc/ssl/certs /etc/alternatives /etc/pki/x /etc/ld.so.cache /etc/ld.so.preload /etc/resolv.conf /etc/profile /etc/mtab; do
	like "$(box run --mount "$D/skill:$at" -- true 2>&1)" "spec.extra_mounts.0.mount_path: .*(would hide what|is the sandbox's own)" "extra mount on $at"
	like "$(box run --mount-path "$at" -- true 2>&1)" "spec.mount_path: .*(would hide what|is the sandbox's own)" "workspace on $at"
	like "$(box run --host-path "$D/ws" --mount-path "$at" -- true 2>&1)" "spec.mount_path: .*(would hide what|is the sandbox's own)" "host_path on $at"
done
n=0
for at in $(box run -c 'while read -r _ _ _ _ at _; do echo "$at"; done </proc/self/mountinfo' | grep -vxE '/tmp|/home|/workspace'); do
	n=$((n + 1))
	like "$(box run --mount "$D/skill:$at" -- true 2>&1)" "would hide what|is the sandbox's own" "what every sandbox has mounted is closed: $at"
done
ok "that was the list of its mounts" test $n -gt 5
for at in /workspace/x /opt /opt/a/b /data /mnt/x /srv/x /tmp/x /home/x /var/lib/x /etc/own /run /run/x; do
	is "$(box run --mount "$D/skill:$at:ro" -c "cat $at/planted; stat -f -c %T /proc" 2>&1 | tr '\n' ' ')" "planted proc " "a mount on $at works"
done

# ---- links of an image ----
img=$D/state/images/linked
mkdir -p "$img/bin" "$img/var" "$img/srv" "$img/etc"
cp "$(command -v sh)" "$(command -v cat)" "$img/bin/"
for p in sh cat; do
	ldd "$(command -v $p)" | grep -oE '/[^ ]+' | while read -r l; do mkdir -p "$img$(dirname "$l")" && cp -L "$l" "$img$l"; done
done
ln -s /srv "$img/var/data"
ln -s /proc "$img/p"
ln -s ../proc/self "$img/var/p"
ln -s /usr "$img/var/u"
ln -s ../../../../.. "$img/var/r"
ln -s /workspace/l "$img/w"
ln -s /workspace "$img/over"
mkdir -p "$img/usr/bin"
own "$D/state/images"
is "$(box run --image linked --mount "$D/skill:/var/data/x:ro" -c 'cat /srv/x/planted' 2>&1)" planted "a link of an image is followed inside of it"
for at in /p /p/x /var/p /var/u /var/u/x /var/r /var/r/proc; do
	like "$(box run --image linked --mount "$D/skill:$at" -c true 2>&1)" "the mount point $at leads to /[a-z/]*, .*(would hide what|is the sandbox's own)" "but not to what a mount may not hide: $at"
done
ln -s /proc "$D/ws/l"
like "$(box run --image linked --host-path "$D/ws" --mount "$D/skill:/w/x" -c true 2>&1)" "the mount point /w/x: /workspace/l is a symbolic link" "nor through a workspace"
rm "$D/ws/l"
like "$(box run --image linked --host-path "$D/ws" --mount "$D/skill:/w/x" -c true 2>&1)" "the mount point /w/x is hidden by another mount" "a mount that another one would hide is refused"
like "$(box run --image linked --host-path "$D/ws" --mount "$D/skill:/over" -c true 2>&1)" "the mount point /over is hidden by another mount" "and so is one that would hide, or be hidden by, the workspace"
rm -r "$img/proc" 2>/dev/null
ln -s /srv "$img/proc"
own "$img"
like "$(box run --image linked -c true 2>&1)" "/proc of the image is not a directory" "an image whose /proc is a link is refused"

# ---- links that come and go while mount points are made ----
if [ "$(uname -m)" != x86_64 ] || ! in_ws -- perl -e 'exit 0' >/dev/null; then
	skip 3 "the race needs perl inside, and the number that renameat2 has on x86_64"
	return
fi
box create --name racer --host-path "$D/ws" >/dev/null
box exec racer -t 300 -- perl -e '
	mkdir "/workspace/m";
	symlink "/tmp", "/workspace/l";
	open my $m, ">", "/workspace/flipping"; close $m;
	my ($m1, $l1) = ("/workspace/m\0", "/workspace/l\0"); # no literals: syscall could write to them
	for (my $i = 0; !-e "/workspace/stop"; $i++) {
		syscall(316, -100, $m1, -100, $l1, 2) == 0 or die "renameat2: $!"; # RENAME_EXCHANGE
		if (-l "/workspace/l") { rename "/workspace/m/x", "/workspace/gone$i" }
	}' >/dev/null 2>&1 & flipper=$!
eventually test -e "$D/ws/flipping"
i=0 made=0 refused=0 odd=0
while [ $i -lt 80 ] || { [ $i -lt 400 ] && { [ $made = 0 ] || [ $refused = 0 ]; }; }; do
	i=$((i + 1))
	got=$(in_ws --mount "$D/skill:/workspace/m/x" -c 'stat -f -c %T /proc; head -c 8 /proc/meminfo; cat /tmp/x/planted 2>/dev/null; true' | tr '\n' ' ')
	case $got in
	'proc MemTotal') made=$((made + 1)) ;;
	*'is a symbolic link'* | *'cannot be made'* | *'is hidden by'*) refused=$((refused + 1)) ;;
	*) odd=$((odd + 1)); diag "$got" ;;
	esac
done
: >"$D/ws/stop"
wait $flipper
is $? 0 "links came and went all the time"
note "made $made, refused $refused"
is $odd 0 "each time the mount is below the workspace, or refused"
ok "both were seen" test $made -gt 0 -a $refused -gt 0
