#!/bin/sh
# The policy of system calls is the operator's to change: a file that is read strictly, and holds for every command.
. t/lib/sh/boxd.sh
"$BUILD/boxd" --print-seccomp | cmp -s - etc/seccomp.policy
ok "--print-seccomp prints etc/seccomp.policy"
refuses() { # line, pattern, name
	printf '# a comment\n%s\n' "$1" >"$D/policy"
	printf 'seccomp_policy = %s\n' "$D/policy" >"$D/c"
	"$BUILD/boxd" -c "$D/c" --state-dir "$D/s2" --runtime-dir "$D/r2" >"$D/out" 2>"$D/err"
	is $? 2 "$3: boxd does not start"
	like "$(cat "$D/err")" "$D/policy:2: $2" "$3: says where and why"
	"$BUILD/boxd" --check-config -c "$D/c" >/dev/null 2>&1
	is $? 2 "$3: --check-config sees it too"
}
refuses 'deny EPERM nosuchcall' "there is no system call 'nosuchcall'" "an unknown call"
refuses 'deny EPERM clone3' 'clone3 is box-init' "the one call that init needs"
refuses 'deny EPERM mount if arg1 == FOO' "'FOO' is neither" "an unknown constant"
echo "seccomp_policy = $D/none" >"$D/c"
"$BUILD/boxd" --check-config -c "$D/c" 2>"$D/err"
like "$? $(cat "$D/err")" "^2 .*seccomp_policy: open $D/none: No such file" "a file that is missing is named"

# a file for a boxd that allowed what no line named
echo 'deny EPERM mount' >"$D/policy"
echo "seccomp_policy = $D/policy" >"$D/c"
"$BUILD/boxd" --check-config -c "$D/c" 2>"$D/err"
like "$? $(cat "$D/err")" "^2 .*$D/policy: no default line: 'default deny ENOSYS' .* 'default allow'" "a file without a default says what to add"
echo 'default allow' >>"$D/policy"
"$BUILD/boxd" --check-config -c "$D/c" >/dev/null 2>&1
is $? 0 "and is good with it"

# one more rule than the default, and one less
{
	echo 'deny EPERM symlink symlinkat # no links'
	grep -v '^deny.*chmod' etc/seccomp.policy
} >"$D/policy"
boxd_config "seccomp_policy = $D/policy"
boxd_start
boxctl create --name s >/dev/null
like "$(in_box -c 'ln -s x /tmp/d')" 'Operation not permitted' "a rule of the operator's holds"
is "$(in_box -c 'echo x >/tmp/f; chmod 4755 /tmp/f; stat -c %a /tmp/f')" 4755 "one that was taken out does not"
like "$(in_box -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_keyctl(), 0, 0, 0, 0, 0) == -1 ? "$!" : "OK"')" 'not permitted' "the others stay"
is "$(in_box -w /workspace/a/b -- echo fine)" fine "and commands run"
boxd_stop

# a policy that lists what is refused: everything else is open, as the operator says
printf '%s\n' 'default allow' 'deny EPERM symlink symlinkat' >"$D/policy"
boxd_start
boxctl create --name s2 >/dev/null
like "$(in_session s2 -c 'ln -s x /tmp/d')" 'Operation not permitted' "with 'default allow' what is named is refused"
like "$(in_session s2 -- perl -e 'require "sys/syscall.ph"; print syscall(SYS_keyctl(), 9999, 0, 0, 0, 0) == -1 ? "$!" : "OK"')" 'not supported' "and nothing else"
done_testing
