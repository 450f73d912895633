#!/bin/sh
# Where user namespaces are forbidden boxd starts, makes no sandbox, and names the barrier.
. t/lib/sh/boxd.sh
command -v unshare >/dev/null || plan skip_all "no unshare here"
# a user namespace of our own, in which no other may be made
unshare -Ur sh -c 'echo 0 >/proc/sys/user/max_user_namespaces' 2>/dev/null ||
	plan skip_all "cannot lower max_user_namespaces in a namespace here"
unshare -Ur sh -c "echo 0 >/proc/sys/user/max_user_namespaces
	exec '$BUILD/boxd' --state-dir '$D/state' --runtime-dir '$D/run'" </dev/null >"$D/log" 2>&1 &
BOXD_PID=$!
eventually boxctl ping >/dev/null 2>&1
ok "boxd starts"
boxctl run -- true 2>"$D/err"
is $? 125 "a sandbox is refused"
like "$(cat "$D/err")" 'max_user_namespaces' "with the exact barrier"
like "$(cat "$D/err")" 'sysctl|echo|set' "and the remedy"
like "$(boxctl status)" 'tier: +none' "the tier is none"
done_testing
