#!/bin/sh
# A directory image of the store is the root when there is one of that name; else the host view is.
. t/lib/sh/boxd.sh
boxd_start
field() { boxctl inspect "$1" -o json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }

boxctl create --name host --image no/such:image@1 >/dev/null
is "$(in_session host -c 'test -x /usr/bin/env && echo host')" host "without an image of that name: the host view"
is "$(field host image)" no/such:image@1 "the name is kept"
like "$(boxctl create --name host --image other 2>&1)" 'already exists with image=no/such:image@1, not other' "and compared"

# a small image: a shell, a few programs and their libraries
image() { # directory
	mkdir -p "$1/bin" "$1/etc" "$1/data"
	for p in sh ls cat touch mkdir id stat rm; do
		cp -L "$(command -v $p)" "$1/bin/$p"
		ldd "$(command -v $p)" | grep -oE '/[^ ]+' | while read -r _l; do
			mkdir -p "$1$(dirname "$_l")"
			cp -Ln "$_l" "$1$_l"
		done
	done
	echo "root:x:0:0::/home:/bin/sh" >"$1/etc/passwd"
	echo "127.0.0.1 in-the-image" >"$1/etc/hosts"
	echo v1 >"$1/data/version"
}
image "$D/state/images/tiny%3A1"
ln -s tiny%3A1 "$D/state/images/images.example.org%2Facme%2Ftiny%3Alatest"
boxctl create --name i --image tiny:1 >/dev/null
is "$(in_session i -c 'cat /data/version /etc/hosts' | tr '\n' ' ')" "v1 127.0.0.1 in-the-image " "its files are the root"
is "$(in_session i -c 'ls -d /usr/bin /etc/ssl 2>/dev/null')" "" "and nothing else of the host"
is "$(in_session i -c 'ls /dev/null /proc/self/status /tmp /home /workspace -d | while read f; do echo x; done' | tr -d '\n')" xxxxx \
	"with our /dev, /proc, /tmp, /home and workspace, which it did not have"
is "$(in_session i -c 'pwd; touch f /tmp/f /home/f && echo written' | tr '\n' ' ')" "/workspace written " "that can be written"
like "$(in_session i -c 'touch /data/x')" 'Read-only' "but the image cannot"
is "$(in_session i -c 'stat -c %u:%g /data/version /data' | tr '\n' ' ')" "0:0 0:0 " "its files belong to root inside"
is "$(in_session i -c 'for d in /proc/acpi /proc/scsi; do [ ! -d $d ] || ls $d; done')" "" "what is masked in /proc is empty"
boxctl create --name l --image images.example.org/acme/tiny:latest >/dev/null
is "$(in_session l -- cat /data/version)" v1 "a name with slashes is one file name, and may be a link"

boxctl create --name w --image tiny:1 --writable-root --mount-path /deep/work --mount "$D/state/../boxd.conf:/etc/mounted:ro" >/dev/null
is "$(in_session w -c 'pwd; echo v2 >/data/version; rm /etc/hosts; mkdir /new; cat /data/version; test -f /etc/mounted && echo mounted' | tr '\n' ' ')" \
	"/deep/work v2 mounted " "with a writable root it can be changed"
is "$(cat "$D/state/images/tiny%3A1/data/version")" v1 "in a copy"
is "$(in_session i -- cat /data/version)" v1 "that no other session sees"
is "$(ls "$D/state/images/tiny%3A1" | tr '\n' ' ')" "$(cd "$D/state/images/tiny%3A1" && ls -d bin data etc lib* usr 2>/dev/null | sort | tr '\n' ' ')" "and nothing was made in the image"

mkdir "$D/state/images/bad" && ln -s /etc "$D/state/images/bad/tmp"
like "$(boxctl create --name b --image bad 2>&1)" 'spec.image: /tmp of the image is not a directory|mount point /tmp' "an image whose /tmp is a link is refused"
ok "which harms nothing" boxctl ping
if [ "$(id -u)" = 0 ]; then
	# a file system that cannot be id-mapped, and what is said of it
	mkdir "$D/low" "$D/up" "$D/work" "$D/state/images/odd"
	if mount -t overlay -o "lowerdir=$D/low,upperdir=$D/up,workdir=$D/work" odd "$D/state/images/odd" 2>/dev/null; then
		like "$(boxctl create --name o --image odd 2>&1)" 'spec.image: the image is on overlay, which cannot be id-mapped' "one that cannot be id-mapped is named"
		mkdir "$D/state/images/odd/dir"
		umount "$D/state/images/odd"
		mkdir "$D/mnt" && mount -t overlay -o "lowerdir=$D/low,upperdir=$D/up,workdir=$D/work" odd "$D/mnt"
		like "$(boxctl create --name o --host-path "$D/mnt/dir" 2>&1)" "spec.host_path: $D/mnt/dir is on overlay, which cannot be id-mapped.*; mount it read-only, or" \
			"also for a host path"
		echo text >"$D/mnt/dir/f"
		boxctl create --name o --host-path "$D/mnt/dir:ro" >/dev/null
		is "$(in_session o -- cat f)" text "which can still be read"
		boxctl rm o >/dev/null
		umount "$D/mnt"
	else
		skip 3 "no overlay can be mounted here"
	fi
else
	skip 3 "mounting needs root"
fi
done_testing
