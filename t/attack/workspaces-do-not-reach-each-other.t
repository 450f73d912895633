#!/bin/sh
# Two workspaces behind one token: whatever one of them names, it is its own or it is nothing.
. t/lib/sh/hostile.sh
. t/lib/sh/langbot.sh
mkdir -p "$D/shared/data/box/default"
chmod -R 777 "$D/shared"
http_start
# what every workspace's client has: a context
cat >"$D/lib.pl" <<'P'
our ($A, $B) = map { qq({"instance_uuid": "inst-1", "workspace_uuid": "ws-$_", "placement_generation": 1}) } "a", "b";
our $c = rpc();
sub init { answer($c, "box_init", qq({"local": {"host_root": "$_[0]", "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": ["$_[0]"]}})) }
sub run { my ($context, $id, $cmd, $more) = @_; answer($c, "box_exec", qq({"session_id": "$id", "cmd": "$cmd", "workdir": "/tmp") . ($more // "") . "}", $context) }
sub good { my $s = shift; return $s =~ /"code": 0/ ? 1 : 0 }
sub why { my ($m) = $_[0] =~ /"message": "((?:[^"\\]|\\.)*)"/; return $m // $_[0] }
1;
P
h() { _p=$1; shift; hostile "require q($D/lib.pl); our (\$A, \$B, \$c); $_p" "$@"; }
root=$D/shared/data/box
out=$(h 'print why(init($ARGV[0]))' "$root")
is "$out" success "LangBot's directories are configured"

# ---- ids ----
ns() { printf 'inst-1\0%s' "$1" | sha256sum | sed 's/^\(.\{24\}\).*/ws-\1/'; } # anybody can compute it
a=$(ns ws-a) b=$(ns ws-b)
is "$(h '
	print good(run($A, "s", "echo secret of a >/tmp/mine")), good(run($B, "mine", "true")),
	    good(answer($c, "box_start_managed_process", q({"session_id": "s", "spec": {"process_id": "p", "command": "cat", "cwd": "/tmp"}}), $A))')" 111 "both have a session, and a has a process in its own"
box ps -o json | grep -qF "$a-g1-s"
ok "under a name that anybody can compute"
reached=$(h '
	my $ns = shift;
	my @ids = ("s", "$ns-g1-s", "../s", "../$ns-g1-s", "/$ns-g1-s", "$ns-g1-s\\u0000", "s\\u0000", "-$ns-g1-s", "%73", "\\uff53", "s" . "x" x 300);
	my @got;
	for my $id (@ids) {
		for my $action (qw(box_get_session box_delete_session)) {
			push @got, "$action $id" if good(answer($c, $action, qq({"session_id": "$id"}), $B));
		}
		for my $action (qw(box_get_managed_process box_stop_managed_process)) {
			push @got, "$action $id" if good(answer($c, $action, qq({"session_id": "$id", "process_id": "p"}), $B));
		}
	}
	my $list = answer($c, "box_get_sessions", "{}", $B);
	push @got, "listed" if index($list, $ns) >= 0;
	print "reached: @got"' "$a")
is "$reached" "reached: " "no name leads from b to what is a's"
like "$(h 'print run($B, $ARGV[0], "cat /tmp/mine")' "$a-g1-s")" '"exit_code": 1' "a session of b with the name of a's is another one"
like "$(h 'print run($A, "s", "cat /tmp/mine")')" 'secret of a' "and a's is untouched"

# ---- contexts ----
out=$(h '
	my @bad = (
		q({"instance_uuid": "inst-2", "workspace_uuid": "ws-a", "placement_generation": 1}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": 0}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": -1}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": 18446744073709551616}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": 1.5}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a", "placement_generation": 1e400}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "", "placement_generation": 1}),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-a\u0000x", "placement_generation": 1}),
		q({"workspace_uuid": "ws-a", "placement_generation": 1}), q({}), q([]), q("ws-a"),
		q({"instance_uuid": "inst-1", "workspace_uuid": "ws-b", "workspace_uuid": "ws-a", "placement_generation": 1}));
	print join ",", grep { good(answer($c, "box_get_sessions", "{}", $bad[$_])) } 0 .. $#bad')
is "$out" "" "no other spelling of a context is one"

# ---- relay ----
relay() { # session workspace generation
	h 'my $s = socket_at("/v1/sessions/$ARGV[0]/managed-process/p/ws", "X-LangBot-Workspace-Id" => $ARGV[1], "X-LangBot-Placement-Generation" => $ARGV[2]);
	print ref $s ? 101 : $s =~ m{^HTTP/1.1 (\d+)} ? $1 : "?"' "$@"
}
is "$(relay "$a-g1-s" ws-a 1)" 101 "a's own relay opens"
is "$(relay "$a-g1-s" ws-b 1)" 401 "b's does not lead to a's process"
for g in 2 18446744073709551616 18446744073709551617 01 +1 1.0 -1 "1 1" ''; do
	is "$(relay "$a-g1-s" ws-a "$g")" 401 "generation '$g'"
done
for s in "%2e%2e%2f$a-g1-s" "$a-g1-s%2f" "$b-g1-..%2f$a-g1-s" "$a-g1-s%20" "$a-g01-s"; do
	like "$(relay "$s" ws-b 1)$(relay "$s" ws-a 1)" '^40[01]40[0-9]$' "session $s"
done
is "$(relay "$a-g1-s%00" ws-a 1)" 400 "NUL in a name"
is "$(relay "$a-g1-s%c1%b3" ws-a 1)" 400 "an overlong 's'"

# ---- host paths ----
mkdir -p "$root/default/tenants/$a" "$root/default/tenants/$b" "$root/skills/tenants/$a/pkg"
chmod 777 "$root/default/tenants/"*
echo "workspace of a" >"$root/default/tenants/$a/file"
echo "skill of a" >"$root/skills/tenants/$a/pkg/file"
ln -s "$root/default/tenants/$a" "$root/default/tenants/$b/link"
ln -s tenants "$root/default/door"
mounts() { # context path...
	h 'my $who = shift; my $n = 0;
	for my $p (@ARGV) {
		my $x = "x" . $n++;
		my $one = run($who eq "a" ? $A : $B, $x, "cat /tmp/file /tmp/*/file", qq(, "host_path": "$p", "mount_path": "/tmp"));
		my $two = run($who eq "a" ? $A : $B, "y$x", "cat /tmp/m/file", qq(, "extra_mounts": [{"host_path": "$p", "mount_path": "/tmp/m", "mode": "ro"}]));
		print "$p: ", ($one . $two) =~ /(?:workspace|skill) of a/ ? "SEEN" : good($one) || good($two) ? "mounted" : "refused", "\n";
	}' "$@" | sed "s,$D/shared/data/box,,"
}
is "$(mounts b "$root/default/tenants/$a" "$root/skills/tenants/$a/pkg" "$root/default/tenants/$b/link" "$root/default/door/$a" "$root/default/tenants/$b/../$a" "$root/default/tenants" "$root/skills/tenants" "$D/state" "$D/state/keys" "$D/state/keys/langbot.token" "$D/run" | grep -v ': refused$')" "" \
	"b mounts neither a's workspace nor its skills nor what is boxd's, by name or by link"
is "$(mounts a "$root/default/tenants/$a")" "/default/tenants/$a: SEEN" "a mounts its own"
like "$(h 'print why(run($B, "z", "true", qq(, "host_path": "$ARGV[0]", "mount_path": "/tmp")))' "$root/default/tenants/$a")" 'is blocked for security$' "in LangBot's own words"

# ---- environment ----
out=$(h '
	my @bad = ("A=B", "=", "", "A\\u0000B", "A\\u0000");
	print join ",", grep { good(run($A, "env", "env", qq(, "env": {"$bad[$_]": "x"}))) } 0 .. $#bad;
	print " ", good(run($A, "env", "env", q(, "env": {"GOOD": "x\u0000y"})))')
is "$out" " 0" "no variable's name has '=' or NUL, nor is empty; no value has NUL"

same_gateway

# ---- the fence, after a restart and after a crash ----
g() { h 'my $g = shift; print why(answer($c, "box_get_sessions", "{}", qq({"instance_uuid": "inst-1", "workspace_uuid": "ws-f", "placement_generation": $g})))' "$1"; }
is "$(g 7)" success "generation 7"
is "$(g 6)" "PermissionError: Stale Box placement generation" "6 is over"
kill -9 "$BOXD_PID"; wait "$BOXD_PID" 2>/dev/null
boxd_start
AT=$(box status -o json | field http_address)
is "$(g 6)" "PermissionError: Stale Box placement generation" "after a crash too"
is "$(g 18446744073709551615)" success "the highest there is"
is "$(g 7)" "PermissionError: Stale Box placement generation" "ends all others"
done_testing
