#!/bin/sh
# After all tests of this run: no process, mount, cgroup, loop device or directory of ours.
. t/lib/sh/boxd.sh
[ -e "$BUILD/t/instances" ] || plan skip_all "no tests ran before this one: make test"
sort -u "$BUILD/t/instances" >"$D/.instances"

ours() { # pids of our programs; an init runs from a memfd, so its cgroup or its parent tells
	pgrep -x 'boxd|boxctl|box-(session|init|gateway|store|pool|egress|files|scan|look|attack)' 2>/dev/null | while read -r p; do
		_ended "$p" || readlink "/proc/$p/exe" | grep "^$BUILD/"
	done
	_left_processes
}
gone() { [ -z "$(ours)" ]; }
_within 30 gone
ok "no process" || diag "$(pgrep -a box)"
is "$(awk '$2 ~ /boxd-t/ { print $2 }' /proc/mounts)" "" "no mount, and no volume"
is "$(_left_cgroups)" "" "no cgroup"
is "$(ls /run/netns 2>/dev/null | grep '^boxt-')" "" "no network namespace"
is "$(losetup -a 2>/dev/null | grep boxd-t)" "" "no loop device"
is "$(ls -d data 2>/dev/null)" "" "nothing of LangBot's in the source tree"
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'boxd-*' -newer "$BUILD/t/started" ! -path "$D" ! -path "$(_taken)")" "" "no directory"
done_testing
