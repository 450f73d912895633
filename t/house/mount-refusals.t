#!/bin/sh
# Every path that may not be mounted is refused by field, path, rule and remedy; for host_path and extra_mounts alike.
. t/lib/sh/boxd.sh
mkdir -p "$D/ok/below" "$D/blocked/below" "$D/elsewhere"
boxd_config "mounts.block = $D/blocked"
boxd_start
n=0
refused() { # pattern, name, arguments
	_p=$1 _n=$2
	shift 2
	n=$((n + 1))
	boxctl create --name "r$n" "$@" >"$D/out" 2>"$D/err"
	is $? 1 "$_n is refused"
	like "$(cat "$D/err")" "$_p" "$_n: why"
}
both() { # pattern, name, path
	refused "spec.host_path: $1" "$2" --host-path "$3:ro"
	refused "spec.extra_mounts.0.host_path: $1" "$2, as an extra mount" --mount "$3:/x:ro"
}

both '/ contains /.*, which is blocked; choose a directory elsewhere' "the root" /
for p in /etc /proc /sys /dev /boot /run; do
	[ -d $p ] || continue
	both "$p is blocked; choose a directory elsewhere" "$p" $p
done
both '/etc/ssl is below /etc, which is blocked; choose' "below /etc" /etc/ssl
both '/proc/self is below /proc|/proc/self .really /proc/[0-9]+. is below /proc, which is blocked' "below /proc" /proc/self
if [ -h /var/run ]; then
	both '/var/run \(really /run\) is blocked' "/var/run by its link" /var/run
else
	both '/var/run is blocked' "/var/run" /var/run
fi
both '/var contains /var/.*, which is blocked' "what contains a blocked one" /var
both '/root is blocked; choose a directory elsewhere$' "root's home" /root
both '/root/x is below /root, which is blocked; choose a directory elsewhere, or let the operator open it with mounts.allow = /root/x in boxd.conf' \
	"below root's home" /root/x
both "$D/state is boxd's own" "boxd's state" "$D/state"
both "$D/run is boxd's own" "boxd's runtime directory" "$D/run"
both "$D/state/sessions is below $D/state, which is boxd's own" "below it" "$D/state/sessions"
mkdir -p "$D/state/langbot"
both "$D/state/langbot is below $D/state, which is boxd's own" "where LangBot's files are, as a whole" "$D/state/langbot"
ln -s ../keys "$D/state/langbot/link"
mkdir -p "$D/state/keys"
both "$D/state/langbot/link \\(really $D/state/keys\) is below $D/state, which is boxd's own" "a link out of it" "$D/state/langbot/link"
rm "$D/state/langbot/link"
both "$D contains $D/(state|run), which is boxd's own" "what contains it" "$D"
both "$D/blocked is blocked by mounts.block; choose a directory elsewhere, or let the operator take it off mounts.block" \
	"the operator's own" "$D/blocked"
both "$D/blocked/below is below $D/blocked, which is blocked by mounts.block" "below it" "$D/blocked/below"
refused "spec.host_path: /usr/share holds|spec.host_path: /usr/share is below /usr, which holds the host's programs; mount it read-only, or let" \
	"the host's programs, to write" --host-path /usr/share
boxctl create --name usr --mount /usr/share:/share:ro >/dev/null
ok "but they can be read"
refused "holds boxd's own programs; mount it read-only" "boxd's own programs, to write" --host-path "$BUILD"

# by another name
ln -s /etc "$D/ok/link"
both "$D/ok/link \(really /etc\) is blocked" "a symlink to it" "$D/ok/link"
both "$D/ok/link/ssl \(really /etc/ssl\) is below /etc" "through a symlink" "$D/ok/link/ssl"
both "$D/ok/below/../link/ssl/../../root/x \(really /root/x\) is below /root" "through dots" "$D/ok/below/../link/ssl/../../root/x"
ln -s ../../../../../../../../../../../etc "$D/ok/up"
both "$D/ok/up \(really /etc\) is blocked" "a relative symlink" "$D/ok/up"
ln -s loop "$D/ok/loop"
both "$D/ok/loop: Too many levels of symbolic links" "a loop of symlinks" "$D/ok/loop"
ln -s /root/missing/dir "$D/ok/dangling"
refused "$D/ok/dangling \(really /root/missing/dir\) is below /root" "a symlink to what does not exist" --host-path "$D/ok/dangling"
ok "and nothing was made there" test ! -e /root/missing

# what is no directory
perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "$ARGV[0]/s.sock", Listen => 1); IO::Socket::UNIX->new(Local => "$ARGV[0]/below/docker.sock", Listen => 1); ' "$D/ok"
refused "is a socket" "a socket" --mount "$D/ok/s.sock:/s:ro"
mkfifo "$D/ok/fifo"
refused "is not a directory and not a regular file" "a FIFO" --mount "$D/ok/fifo:/f:ro"
: >"$D/ok/file"
refused "spec.host_path: $D/ok/file is not a directory" "a file to work in" --host-path "$D/ok/file"
perl -MIO::Socket::UNIX -e 'my $s = IO::Socket::UNIX->new(Local => "$ARGV[0]/docker.sock", Listen => 1); open my $f, ">", "$ARGV[0]/listens"; close $f; sleep 600' "$D/elsewhere" &
engine=$!
eventually test -e "$D/elsewhere/listens"
both "$D/elsewhere contains $D/elsewhere/docker.sock, the socket of a container engine" "a directory with an engine's socket" "$D/elsewhere"
kill $engine; wait $engine 2>/dev/null

# what is missing, or no path
both "$D/ok/none does not exist; make it first$" "a missing directory" "$D/ok/none"
refused "spec.host_path: $D/ok/none/er does not exist; make it first$" "a missing directory, to write" --host-path "$D/ok/none/er"
refused "spec.extra_mounts.0.host_path: $D/ok/none does not exist; make it first$" "the same as an extra mount" --mount "$D/ok/none:/x"
refused "spec.extra_mounts.0.host_path: /nosuch does not exist; make it first$" "one in the root directory" --mount /nosuch:/x
ok "none of them is made" test ! -e "$D/ok/none" -a ! -e /nosuch
refused "$D/ok/none/../x does not exist" "dots behind what is missing" --host-path "$D/ok/none/../x"
refused "$D/ok/file/x: Not a directory" "below a file" --host-path "$D/ok/file/x"
refused "'C:.x5cdata' is a Windows path" "a Windows path" --host-path 'C:\data'
refused "'relative/dir' is not an absolute path" "a relative path" --host-path relative/dir
for p in / /etc; do
	refused "spec.mount_path: a mount on '$p' would hide what every command needs" "mount_path $p" --mount-path $p
done
for p in /proc /dev/shm /usr/local /bin /lib/x /sys /etc/ssl/certs; do
	refused "spec.mount_path: '$p' cannot be mounted on: /.* is the sandbox's own" "mount_path $p" --mount-path $p
done
refused "spec.mount_path: 'here' is not an absolute path" "a relative mount_path" --mount-path here
refused "spec.mount_path: '/a/../usr' is not an absolute path without '..'" "dots in mount_path" --mount-path /a/../usr
refused "spec.extra_mounts.0.mount_path: '/workspace' is where the workspace is" "the workspace's place" --mount "$D/ok:/workspace/"
refused "spec.extra_mounts.0.mount_path: a mount on '/a' would hide the workspace /a/b" "above the workspace" --mount-path /a/b --mount "$D/ok:/a"
refused "spec.extra_mounts.1.mount_path: '/x/y' is the place of extra_mounts.0 already" "two on one place" \
	--mount "$D/ok:/x/y:ro" --mount "$D/ok/below:/x//y/"
refused "cannot mount on (/x|/workspace/file): it is a file in the sandbox, but the source is a directory" "a directory on a file" \
	--host-path "$D/ok:ro" --mount "$D/ok/below:/workspace/file:ro"
refused "the mount point /workspace/none cannot be made inside: Read-only file system; make it" "no place in a read-only directory" \
	--host-path "$D/ok:ro" --mount "$D/ok/below:/workspace/none:ro"
for p in ../x .hidden 'a b' 'a%2fb' ''; do
	[ -n "$p" ] || continue
	refused "spec.image: '$p' is not a name" "image $p" --image "$p"
done
is "$(boxctl ps --names | tr '\n' ' ')" "usr " "no session came of it"

# the operator's ceiling
boxd_stop
printf '%s\n' "mounts.allow = $D/ok , /root/boxd-t-open, /etc/ssl" >"$D/boxd.conf"
boxd_start
boxctl create --name in --host-path "$D/ok/below:ro" >/dev/null
ok "below mounts.allow is allowed"
refused "$D/elsewhere is outside of mounts.allow \($D/ok, /root/boxd-t-open, /etc/ssl\); choose a directory below one of these, or let the operator add it" \
	"outside of mounts.allow" --host-path "$D/elsewhere"
ln -s "$D/elsewhere" "$D/ok/out"
refused "$D/ok/out \(really $D/elsewhere\) is outside of mounts.allow" "a symlink out of it" --host-path "$D/ok/out"
refused "/etc/ssl is below /etc, which is blocked" "mounts.allow does not open /etc" --host-path /etc/ssl:ro
refused "/root/other is below /root, which is blocked" "nor all of /root" --host-path /root/other
if [ "$(id -u)" = 0 ] && mkdir /root/boxd-t-open 2>/dev/null; then
	boxctl create --name home --host-path /root/boxd-t-open >/dev/null
	ok "but a directory below /root"
	rmdir /root/boxd-t-open
else
	skip 1 "/root is not ours to make a directory in"
fi
done_testing
