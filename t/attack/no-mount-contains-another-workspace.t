#!/bin/sh
# What holds other workspaces cannot be mounted: not itself, not from above, not by a link, dots or a bind mount, for no client.
. t/lib/sh/hostile.sh
. t/lib/sh/langbot.sh
umounts() { for _m in $(_left_mounts); do umount -l "$_m" 2>/dev/null; done; true; }
root=$D/shared/data/box
agents=$D/agents
mkdir -p "$root/default" "$root/skills" "$D/bind/up" "$D/bind/ws" "$D/bind/pool" "$D/bind/keys" "$D/nest/below" "$D/plain" "$D/poolfiles" "$agents"
chmod -R 777 "$D/shared" "$agents"
http_start "agent.default_workspace = $agents" "agent.mount_roots = $D" "pool_dir = $D/poolfiles" 'spare_sandboxes = 0'
cat >"$D/lib.pl" <<'P'
our %who = map { $_ => qq({"instance_uuid": "inst-1", "workspace_uuid": "ws-$_", "placement_generation": 1}) } "a", "b";
our $c = rpc();
our $n = 0;
sub run {
	my ($who, $more, $id) = (@_, "x" . $n++);
	my $s = answer($c, "box_exec", qq({"session_id": "$id", "cmd": "find /mnt/x/ -name secret -exec cat {} +; touch /mnt/x/mark; true", $more}), $who{$who});
	answer($c, "box_delete_session", qq({"session_id": "$id"}), $who{$who});
	return $s;
}
sub as_host_path { my ($p, $mode) = @_; return qq("host_path": "$p", "host_path_mode": "$mode", "mount_path": "/mnt/x", "workdir": "/mnt/x") }
sub as_extra { my ($p, $mode) = @_; return qq("workdir": "/tmp", "extra_mounts": [{"host_path": "$p", "mount_path": "/mnt/x", "mode": "$mode"}]) }
sub verdict { my $s = shift; $s =~ /secret of a/ ? "SEEN" : $s =~ /"code": 0/ ? "mounted" : "refused" }
1;
P
h() { _p=$1; shift; hostile "require q($D/lib.pl); our (%who, \$c); $_p" "$@"; }
out=$(h 'print answer($c, "box_init", qq({"local": {"host_root": "$ARGV[0]", "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": ["$ARGV[1]", "/tmp"]}}))' "$root" "$D")
like "$out" '"code": 0' "LangBot's directories are configured"

# a's files are there from an earlier day: a itself has never asked for anything
ns() { printf 'inst-1\0%s' "$1" | sha256sum | sed 's/^\(.\{24\}\).*/ws-\1/'; }
a=$(ns ws-a) b=$(ns ws-b)
for d in "$root/default/tenants/$a" "$root/skills/tenants/$a/pkg" "$agents/tenants/$a" "$agents/default"; do
	mkdir -p "$d"
	echo "secret of a" >"$d/secret"
done
mkdir -p "$root/default/tenants/$b" "$root/skills/tenants/$b/pkg" "$agents/tenants/$b" "$D/elsewhere/$a"
echo "secret of a" >"$D/elsewhere/$a/secret"
ln -s "$D/elsewhere/$a" "$root/default/tenants/ws-000000000000000000000001" # a workspace on another disk
echo "my own" >"$root/skills/tenants/$b/pkg/mine"
chmod -R 777 "$root" "$agents"
ln -s "$root" "$D/link"
ln -s .. "$root/default/tenants/$b/up"
ln -s ../../.. "$root/default/tenants/$b/top"
seq 4 >"$D/poolfiles/image"

paths="$root $root/ $root/default $root/default/. $root/skills $root/default/tenants $root/skills/tenants $root/default/tenants/$a
	$root/skills/tenants/$a $root/skills/tenants/$a/pkg $D/shared/data $D/shared $agents $agents/tenants $agents/tenants/$a $agents/default
	$D/link $D/link/default $root/default/tenants/$b/up $root/default/tenants/$b/top $root/default/tenants/$b/.. $root/default/tenants/$b/../../
	$D/elsewhere $D/elsewhere/$a $D/state $D/state/keys $D/run $D/poolfiles $D"
bound=
if [ "$(id -u)" = 0 ] && mount --bind "$D/shared/data" "$D/bind/up" 2>/dev/null; then
	mount --bind "$root/default/tenants/$a" "$D/bind/ws"
	mount --bind "$D/poolfiles" "$D/bind/pool"
	mount --bind "$D/state/keys" "$D/bind/keys"
	mount --bind "$root/skills" "$D/nest/below"
	bound="$D/bind/up $D/bind/up/box $D/bind/up/box/default $D/bind/up/box/default/tenants $D/bind/up/box/default/tenants/$a
		$D/bind/up/box/skills $D/bind/ws $D/bind/pool $D/bind/keys $D/bind $D/nest/below $D/nest"
fi

# ---- LangBot's door ----
by_langbot() { # path...
	h 'for my $p (@ARGV) {
		my @got = map { run("b", $_) } as_host_path($p, "rw"), as_host_path($p, "ro"), as_extra($p, "rw"), as_extra($p, "ro");
		print "$p: ", join(" ", map { verdict($_) } @got), "\n";
	}' "$@" | grep -v ': refused refused refused refused$'
}
is "$(by_langbot $paths)" "" "LangBot's door: neither as host_path nor as an extra mount"
if [ -n "$bound" ]; then
	is "$(by_langbot $bound)" "" "nor by a bind mount of it, or of what is around it"
else
	skip 1 "only root can make bind mounts"
fi
is "$(by_langbot "$root/default/tenants/$b" "$root/skills/tenants/$b/pkg" "$D/plain" | sed 's/.*: //' | sort -u)" "mounted mounted mounted mounted" "its own directories and plain ones it can have"
like "$(h 'print run("b", as_host_path($ARGV[0], "rw"))' "$root")" 'host_path [^ ]* is blocked for security' "host_path: in LangBot's words"
like "$(h 'print run("b", as_extra($ARGV[0], "ro"))' "$root")" \
	"extra_mounts.0.host_path: $root contains $root/(default|skills)/tenants, which holds other workspaces; choose a directory of your own" "extra mounts: which, and what is in it"
is "$(find "$root" "$agents" -name mark | grep -v "$b")" "" "and nothing was written there"
# asking for a directory that is not there makes none in another workspace
h 'run("b", as_host_path($ARGV[0], "rw"))' "$root/default/tenants/$a/planted" >/dev/null
ok "nor is a directory made in another's workspace" test ! -e "$root/default/tenants/$a/planted"
h 'run("b", as_host_path($ARGV[0], "rw"))' "$root/default/tenants/ws-00000000000000000000000f" >/dev/null
ok "nor one for a workspace to come" test ! -e "$root/default/tenants/ws-00000000000000000000000f"

# ---- native clients ----
n=0
by_native() {
	for p in "$@"; do
		n=$((n + 1))
		one=$(box run --host-path "$p:ro" --mount-path /mnt/x -c 'find /mnt/x/ -name secret -exec cat {} +' 2>&1) && echo "$p: host_path $one"
		two=$(box run --mount "$p:/mnt/x:ro" -c 'find /mnt/x/ -name secret -exec cat {} +' 2>&1) && echo "$p: extra mount $two"
	done
}
is "$(by_native $paths $bound)" "" "native clients are refused the same"
like "$(box run --host-path "$root:ro" -- true 2>&1)" "spec.host_path: $root contains $root/(default|skills)/tenants, which holds workspaces; choose a directory elsewhere, or let the operator name exactly this one in mounts.allow" "and says what would open it"

# ---- agents ----
by_agent() {
	for p in "$@"; do
		for m in rw ro; do
			n=$((n + 1))
			one=$(box call agent_exec "{\"command\": \"find . -name secret -exec cat {} +\", \"session_id\": \"x$n\", \"host_path\": \"$p\", \"host_path_mode\": \"$m\", \"instance\": \"inst-1\", \"workspace\": \"ws-b\"}" -o json 2>&1) && echo "$p: $(printf '%s\n' "$one" | field stdout)" && box rm "agent@$b@x$n" >/dev/null
		done
	done
}
is "$(by_agent $paths $bound)" "" "an agent's host_path refuses the same"
is "$(box call agent_exec '{"command": "touch f; ls", "session_id": "own", "instance": "inst-1", "workspace": "ws-b"}' -o json | field stdout)" f "though its own workspace is below one of them"
ok "which is where it should be" test -e "$agents/tenants/$b/f"
is "$(box call agent_exec '{"command": "ls", "session_id": "nobody"}' -o json | field stdout)" secret "and agents of no workspace share theirs"

# ---- roots of an earlier configuration ----
mkdir -p "$D/later"
chmod 777 "$D/later"
h 'print answer($c, "box_init", qq({"local": {"host_root": "$ARGV[0]", "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": ["$ARGV[1]"]}}))' "$D/later" "$D" >/dev/null
is "$(by_langbot "$root" "$root/default" "$root/skills" "$D/shared")" "" "directories of workspaces stay closed when LangBot names others"
boxd_stop
boxd_start
AT=$(box status -o json | field http_address)
is "$(by_langbot "$root" "$root/default" "$root/skills" "$D/shared")" "" "and after a restart"

# ---- the operator's word ----
boxd_stop
boxd_config "mounts.allow = $root/default,$D/plain"
boxd_start
AT=$(box status -o json | field http_address)
is "$(by_native "$root/default" "$root/default/tenants" "$root/default/tenants/$a" | sort)" "$root/default: extra mount secret of a
$root/default: host_path secret of a" "mounts.allow opens to native clients the directory that it names, and none below it"
is "$(by_langbot "$root/default" "$root/default/tenants/$a")" "" "to workspaces it opens nothing"
umounts
done_testing
