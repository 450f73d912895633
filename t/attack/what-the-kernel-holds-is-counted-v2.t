#!/bin/sh
# The same where cgroup v2 limits memory; and a kernel that does not count is found out.
UML_SEC=${UML_SEC:-900} # some thirty attacks, one after the other
. t/lib/sh/uml.sh
if [ "$1" != inside ]; then
	uml_test "$0"
fi
. t/lib/sh/boxd.sh
. t/lib/sh/hoards.sh
"$BUILD/boxctl" --help >/dev/null 2>&1 || plan skip_all "these programs do not run in user-mode Linux" # sanitizers
boxd_start
like "$(boxctl status | grep limits:)" 'memory by cgroup v2' "memory is limited by cgroup v2"
like "$(boxctl status | grep walls:)" 'cgroup.sockets, cgroup.kernel' "sockets and the kernel's memory count"
hoard_all 24
done_testing
