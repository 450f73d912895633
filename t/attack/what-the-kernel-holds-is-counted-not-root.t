#!/bin/sh
# What init counts and watches by itself is bounded in the boxd of an ordinary user too, where no cgroup may limit memory.
. t/lib/sh/boxd.sh
. t/lib/sh/hoards.sh
. t/lib/sh/not_root.sh
user_start 'spare_sandboxes = 0'
if boxctl status | grep -q 'memory by cgroup'; then
	note "memory is limited by a cgroup here"
else
	for wall in cgroup.memory cgroup.sockets cgroup.kernel; do
		like "$(boxctl status | grep " $wall: ")" . "$wall is said to be missing"
	done
fi
for row in udp udp-parts tcp tcp-backlog tcp-keys netlink netlink-silent packet-headers multicast locks nameless-locks; do
	hoard_all 64 "hoards.$row"
done
done_testing
