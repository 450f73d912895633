#!/bin/sh
# After all tests: no process, mount, cgroup, loop device or directory of ours.
. t/lib/boxd.sh
gone() { [ -z "$(pgrep -x 'boxd|box-session|box-init|box-gateway' | while read -r p; do
	grep -q '^State:.Z' /proc/"$p"/status 2>/dev/null || readlink /proc/"$p"/exe 2>/dev/null | grep "^$BUILD/\|memfd:box-init"; done)" ]; }
_within 30 gone
ok "no process" || diag "$(pgrep -a box)"
is "$(awk '$2 ~ /boxd-/ { print $2 }' /proc/mounts)" "" "no mount"
is "$(find /sys/fs/cgroup -maxdepth 2 -name 'boxd-*' 2>/dev/null)" "" "no cgroup"
is "$(losetup -a 2>/dev/null | grep boxd)" "" "no loop device"
is "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'boxd-*' ! -path "$D")" "" "no directory"
done_testing
