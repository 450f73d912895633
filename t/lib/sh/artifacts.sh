# Digest-addressed mounts of LangBot's.
#
#	package NAME                     $D/src/NAME: files of a package, to be changed before
#	sealed NAME [PERL]               its manifest; its digits are in $digits
#	mount NAME                       the mount object of it
#	with_mounts "$(mount a)"         the rest of a spec
. t/lib/sh/langbot.sh

package() { # name
	mkdir -p "$D/src/$1/scripts"
	printf '# Hi\n' >"$D/src/$1/SKILL.md"
	printf '#!/bin/sh\necho hi from %s\n' "$1" >"$D/src/$1/scripts/run.sh"
	chmod 755 "$D/src/$1/scripts/run.sh"
}
sealed() { # name [perl]
	digits=$(perl t/lib/sh/manifest.pl "$D/src/$1" "$D/src/$1.json" ${2:+"$2"})
}
mount_of() { # name digits
	printf '{"host_path": "%s", "mount_path": "/opt/langbot-artifacts/%s", "mode": "ro", "content_digest": "sha256:%s", "manifest_path": "%s"}' \
		"$D/src/$1" "$2" "$2" "$D/src/$1.json"
}
with_mounts() { # mount...
	printf ', "extra_mounts": ['
	_comma=
	for _m; do
		printf '%s%s' "$_comma" "$_m"
		_comma=', '
	done
	printf ']'
}
# The copies that a boxd of this test has, of all workspaces.
copies() { (cd "$D/state/artifacts" && ls -d ws-*/* native/* 2>/dev/null); }
at() { echo "/opt/langbot-artifacts/$1"; }
