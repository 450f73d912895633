#!/bin/sh
# A command's resource limits are the same whatever boxd was started with, leave room for JITs, and two are the operator's.
. t/lib/sh/boxd.sh
limit() { in_box -- cat /proc/self/limits | sed -n "s/^Max $1  *\([^ ]*\)  *\([^ ]*\) .*/\1 \2/p"; }
hard() { awk -v n="Max $1" 'index($0, n) == 1 { sub(n, ""); print $2 }' "/proc/$BOXD_PID/limits"; }
boxd_start
boxctl create --name s >/dev/null

is "$(limit 'open files')" "4096 4096" "4096 descriptors"
is "$(limit 'core file size')" "1 1" "no core dump, and no handler of one"
is "$(limit 'stack size')" "8388608 $(hard 'stack size')" "a stack of 8 MiB"
is "$(limit 'nice priority') $(limit 'realtime priority')" "0 0 0 0" "no priority"
is "$(limit 'locked memory')" "8388608 8388608" "8 MiB of locked memory"
is "$(limit 'msgqueue size')" "819200 819200" "one message queue of the usual size"
is "$(limit 'pending signals')" "4096 4096" "4096 pending signals"
is "$(limit 'file size')" "$(hard 'file size') $(hard 'file size')" "no limit of a file's size"
for what in 'address space' 'data size' 'resident set' 'cpu time'; do
	is "$(limit "$what")" "$(hard "$what") $(hard "$what")" "none of $what"
done
# a JIT or a garbage collector reserves far more than it touches
is "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_mmap(), 0, 64 << 30, 0, 0x4022, -1, 0) == -1 ? "$!" : "reserved"')" reserved "64 GiB of address space are reserved"
is "$(in_box -- perl -e 'my @f; while (open(my $f, "<", "/dev/null")) { push @f, $f } print @f + 3 + 0 <= 4096 && @f > 4000 ? "bounded" : scalar @f, " $!"')" "bounded Too many open files" "the limit of descriptors holds"
boxd_stop

boxd_config 'nofile = 100' 'fsize_mb = 2'
boxd_start
boxctl create --name s >/dev/null
is "$(limit 'open files')" "100 100" "nofile is the operator's"
is "$(limit 'file size')" "2097152 2097152" "and so is fsize_mb"
in_box -c 'trap "" XFSZ; head -c 3000000 /dev/zero >/tmp/f' >/dev/null
is "$(in_box -- stat -c %s /tmp/f)" 2097152 "a larger file is cut there"
is "$(in_box --no-stream -c 'head -c 5000000 /dev/zero' | wc -c | tr -d ' ')" 5000000 "what init keeps of the output has no such limit"
is "$(in_box -c 'ulimit -n 100; for i in 1 2 3 4 5 6 7 8 9 10; do (sleep 0.1 &) ; done; echo fine')" fine "many commands do not share one's descriptors"
boxd_stop

# what boxd itself was not given cannot be given
: >"$D/boxd.conf"
(ulimit -n 1024 && ulimit -s 4096 && exec sh -c 'ulimit -Hn; ulimit -Hs') >"$D/ceiling" 2>/dev/null
if [ "$(tr '\n' ' ' <"$D/ceiling")" = "1024 4096 " ]; then
	ulimit -n 1024
	ulimit -s 4096
	boxd_start
	boxctl create --name s >/dev/null
	is "$(limit 'open files') $(limit 'stack size')" "1024 1024 4194304 4194304" "lower limits of boxd's own are a ceiling"
else
	skip 1 "this shell cannot lower its hard limits"
fi
done_testing
