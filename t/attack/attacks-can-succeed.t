#!/bin/sh
# An attack that cannot succeed proves nothing.  Those that harm no machine are run where the walls are missing, and
# box-attack must say so.
. t/lib/sh/boxd.sh
attack() { timeout -k 5 120 "$BUILD/box-attack" "$@"; }
result() { attack --only="$1" | sed -n "s/	$1	.*//p"; }

# ---- on the host: no wall at all

for name in privileges.filter privileges.read-implies-exec privileges.page-zero calls.keyctl calls.bpf calls.add_key \
	calls.name_to_handle_at calls.io_uring_setup sockets.netlink sockets.families mounts.call-mount \
	mounts.call-fsconfig mounts.call-move_mount proc.processes proc.hidden-processes proc.net-unix; do
	is "$(result $name)" open "on the host: $name"
done
is "$(result namespaces.unshare-user)" open "on the host: namespaces.unshare-user"
is "$(result namespaces.clone-user)" open "on the host: namespaces.clone-user"
is "$(result namespaces.clone3-user)" open "on the host: namespaces.clone3-user"
if [ "$(id -u)" = 0 ]; then for name in namespaces.host-root namespaces.clone3-net privileges.capabilities sockets.raw sockets.packet \
	proc.cmdline cgroups.visible calls.clock_settime calls.unshare; do
	is "$(result $name)" open "on the host, as root: $name"
done; fi
if [ "$(uname -m)" = x86_64 ]; then
	for name in abi.i386-mount abi.i386-unshare abi.i386-keyctl; do
		like "$(result $name)" '^(open|skipped)$' "on the host: $name"
	done
fi
is "$(attack --only descriptors.leaked 9</etc/passwd | cut -f1,2 | head -n 1)" "open	descriptors.leaked" "a descriptor that is left open is seen"
is "$(timeout -k 5 60 perl -MPOSIX -e 'POSIX::close($_) for 3 .. 1023; exec @ARGV' "$BUILD/box-attack" --only descriptors.leaked | cut -f1 | head -n 1)" held \
	"and none when there is none"
is "$(cd / && attack --only descriptors.cwd | cut -f1 | head -n 1)" held "a wall that is there holds"

# ---- what could harm this machine is not run here

for name in devices.made limits.raised init.trace files.new network.tcp bombs.processes init.everybody mounts.new; do
	is "$(result $name)" skipped "not run on a host: $name"
done
attack >"$D/all" 2>&1
is "$(grep -c '	.*--inside' "$D/all")" "$(attack --list | grep -c '^inside	')" "nor without naming it"
is "$(tail -n 1 "$D/all")" "end	$(attack --list | grep -cE '^(inside|anywhere)	')" "all others are, to the last"
grep -q '^open	' "$D/all"
ok "and some are open"

# ---- in a container without our filter, but with namespaces: the filter's rows are open, the namespaces' hold

if command -v bwrap >/dev/null && bwrap --ro-bind / / --unshare-all true 2>/dev/null; then
	# the build may lie below what is hidden: hand the program in
	bwrap --ro-bind / / --tmpfs /tmp --dev /dev --proc /proc --unshare-all --ro-bind "$BUILD/box-attack" /tmp/a /tmp/a >"$D/bwrap"
	row() { sed -n "s/^\([a-z]*\)	$1	.*/\1/p" "$D/bwrap"; }
	for name in privileges.filter calls.bpf calls.keyctl mounts.call-mount sockets.netlink; do
		is "$(row $name)" open "without a filter: $name"
	done
	for name in proc.processes proc.hidden-processes network.devices proc.net-tcp devices.found; do
		is "$(row $name)" held "with namespaces: $name"
	done
else
	skip 10 "no bubblewrap here, or it is not allowed"
fi

# ---- the command line

is "$(attack --only no.such >/dev/null 2>&1; echo $?)" 2 "a name that is not on the list: exit 2"
is "$(attack --only privileges.filter >/dev/null; echo $?)" 1 "one that is open: exit 1"
is "$(attack --only descriptors.cwd >/dev/null; echo $?)" 0 "one that held: exit 0"
is "$(attack --list | cut -f2 | sort | uniq -d)" "" "every name is there once"
is "$(attack --list | awk -F'\t' 'NF != 3 || $3 == ""')" "" "each says what it would mean"
done_testing
