#!/bin/sh
# Limits live in cgroups, and a command reaches none: no file system of them, no /sys, no release_agent.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s --pids 60 --memory 96 >/dev/null

is "$(in_box -c 'grep -E " (cgroup2?|sysfs|securityfs|debugfs|tracefs|bpf|configfs|efivarfs|pstore) " /proc/mounts')" "" \
	"no file system of the kernel's controls"
is "$(in_box -c 'ls -A /sys 2>/dev/null')" "" "there is no /sys"
like "$(in_box -c 'mkdir -p /sys/fs/cgroup')" 'Read-only|denied' "nor can it be made"
is "$(in_box -- find / -xdev '(' -name release_agent -o -name cgroup.procs -o -name notify_on_release ')' -print 2>/dev/null | grep -v denied)" \
	"" "no cgroup's file anywhere"
in_box -- mkdir -p /tmp/m >/dev/null
for what in "cgroup -o rdma" "cgroup -o memory" "cgroup -o none,name=mine" cgroup2 sysfs proc tmpfs bpf debugfs overlay; do
	like "$(in_box -c "mount -t $what none /tmp/m")" 'denied|not permitted|must be superuser' "not mounted: $what"
done
is "$(in_box -c 'ls -A /tmp/m')" "" "and nothing is there"
unlike "$(in_box -- cat /proc/self/cgroup)" '\.\.|boxd-' "a command's cgroup is told from its own root on"
for f in /proc/self/cgroup /proc/1/cgroup /proc/cgroups; do
	like "$(in_box -c "echo 0 >$f")" 'denied|Read-only|not permitted|Invalid|I/O error' "$f is not written"
done

# Where the test may see it: the limits of the host's cgroup are what was asked for, after all of this.
pid=$(boxctl inspect s -o json | sed -n 's/.*"init_pid": \([0-9]*\).*/\1/p')
limit=$(sed -n 's/^[0-9]*:pids:\(.*\)/\/sys\/fs\/cgroup\/pids\1\/pids.max/p' "/proc/$pid/cgroup")
if [ -n "$limit" ] && [ -r "$limit" ] && boxctl status | grep -q 'pids by cgroup v1'; then
	like "$(cat "$limit")" '^6[0-9]$' "the limit of processes is what it was"
else
	skip 1 "no pids controller of cgroup v1 here"
fi
is "$(in_box -- echo alive)" alive "the session lives on"
done_testing
