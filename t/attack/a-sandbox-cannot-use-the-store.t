#!/bin/sh
# A sandbox that may write in a skill's directory fights box-store for it; and a process floods its relay.  What is outside stays
# unread and unwritten, and everybody else is served.
. t/lib/sh/hostile.sh
mkdir -p "$D/shared/data/box/default" "$D/shared/data/box/skills"
chmod 777 "$D/shared/data/box/default"
http_start
root=$D/shared/data/box
ns() { printf 'inst-1\0%s' "$1" | sha256sum | sed 's/^\(.\{24\}\).*/ws-\1/'; }
a=$(ns ws-a) b=$(ns ws-b)
cat >"$D/lib.pl" <<'P'
our ($A, $B) = map { qq({"instance_uuid": "inst-1", "workspace_uuid": "ws-$_", "placement_generation": 1}) } "a", "b";
our $c = rpc();
sub good { my $s = shift; return $s =~ /"code": 0/ ? 1 : 0 }
sub why { my ($m) = $_[0] =~ /"message": "((?:[^"\\]|\\.)*)"/; return $m // $_[0] }
1;
P
h() { _p=$1; shift; hostile "require q($D/lib.pl); our (\$A, \$B, \$c); $_p" "$@"; }
is "$(h 'print why(answer($c, "box_init", qq({"local": {"host_root": "$ARGV[0]", "default_workspace": "default", "skills_root": "skills", "allowed_mount_roots": ["$ARGV[0]"]}})));
	print good(answer($c, "box_create_skill", qq({"skill": {"name": "$_->[0]", "description": "d", "instructions": "secret of $_->[0]"}}), $_->[1])) for ["pkg", $A], ["other", $B]' "$root")" \
	success11 "each workspace has a skill"
echo "outside" >"$root/outside"
chmod 644 "$root/outside"

# ---- the walls around box-store ----
store=$(pgrep -P "$BOXD_PID" -x box-store)
of() { sed -n "s/^$1:[[:space:]]*//p" "/proc/$store/status" | tr '\t' ' '; }
is "$(of NoNewPrivs) $(of Seccomp) $(of CapEff) $(of CapPrm) $(of CapBnd) $(of CapAmb) $(of CapInh)" \
	"1 2 0000000000000000 0000000000000000 0000000000000000 0000000000000000 0000000000000000" "box-store: no privilege to gain, a filter, no capability"
owner=$(stat -c %u "$root/skills")
is "$(of Uid)" "$owner $owner $owner $owner" "it is the owner of the skills"
is "$(ls -l "/proc/$store/fd" | sed -n 's/.* -> //p' | grep -v -e '^socket:' -e '^anon_inode:\[event' -e '^pipe:' -e '^/dev/null$' -e "^$root/skills" -e "^$root/default" -e "^$D/log")" "" "it has its channel, its roots, and no other descriptor"
is "$(awk '/Max core file size/ { print $5, $6 }' "/proc/$store/limits")" "0 0" "and leaves no core"

# ---- races: the package is swapped for others all the time ----
chmod -R a+rwX "$root/skills/tenants/$a/pkg"
is "$(h '
	my $dir = "$ARGV[0]/skills/tenants/$ARGV[1]/pkg";
	my $mount = qq("mount_path": "/tmp", "workdir": "/tmp", "host_path": "$dir");
	my $evil = rpc();
	my $cmd = "touch begun; i=0; while [ -e begun ]; do i=\$((i+1)); rm -rf d e; mkdir d; echo in >d/f; ln -s ../../$ARGV[2]/other e; mv d x; mv e d; cat d/SKILL.md; rm -f d; mv x d; " .
	    "ln -sfn /etc SKILL.link; mkfifo fifo; rm -f fifo; ln -sf $ARGV[0]/outside o; rm -f o; echo inside >o; rm -f o; done; echo \$i";
	$cmd =~ s/(["\\\\])/\\\\$1/g;
	ask($evil, "box_exec", qq({"session_id": "racer", "cmd": "$cmd", "timeout_sec": 100, $mount}), $A);
	until (-e "$dir/begun") { select undef, undef, undef, 0.01 }
	my ($leaks, $calls) = (0, 0);
	for my $round (1 .. 60) {
		for my $p ("d/SKILL.md", "d/f", "o", "fifo", "SKILL.link/passwd", "d/../d/f", "../../$ARGV[2]/other/SKILL.md") {
			my $s = answer($c, "box_read_skill_file", qq({"name": "pkg", "path": "$p"}), $A);
			$calls++;
			$leaks++ if $s =~ /secret of other|outside\\n|root:/;
		}
		answer($c, "box_write_skill_file", q({"name": "pkg", "path": "d/f", "content": "EVIL"}), $A);
		answer($c, "box_write_skill_file", q({"name": "pkg", "path": "d/SKILL.md", "content": "EVIL"}), $A);
		answer($c, "box_write_skill_file", q({"name": "pkg", "path": "o", "content": "EVIL"}), $A);
		$leaks++ if answer($c, "box_list_skill_files", q({"name": "pkg", "path": "d"}), $A) =~ /other/;
	}
	unlink "$dir/begun";
	my $raced = said($evil);
	print "$calls calls, $leaks leaks, ", $raced =~ /secret of other|outside\\n/ ? "LEAK" : good($raced)' "$root" "$a" "$b")" \
	"420 calls, 0 leaks, 1" "neither by box-store nor by itself does it see what is another's"
is "$(cat "$root/outside") $(grep -c 'secret of other' "$root/skills/tenants/$b/other/SKILL.md") $(grep -rl EVIL "$root/skills/tenants/$b" | wc -l)" "outside 1 0" "nor is that written to"

# ---- an entry file that is a trap ----
is "$(h '
	my $dir = "$ARGV[0]/skills/tenants/$ARGV[1]";
	mkdir "$dir/$_" for "sparse", "bomb", "loop", "deep";
	open my $f, ">", "$dir/sparse/SKILL.md"; truncate $f, 1 << 40; close $f;
	open $f, ">", "$dir/bomb/SKILL.md"; print $f "---\na0: &a0 [x,x,x,x,x,x,x,x,x,x]\n", map({ my $p = $_ - 1; "a$_: &a$_ [" . join(",", ("*a$p") x 10) . "]\n" } 1 .. 12), "name: *a12\n---\n"; close $f;
	symlink "SKILL.md", "$dir/loop/SKILL.md";
	open $f, ">", "$dir/deep/SKILL.md"; print $f "---\nname: ", "[" x 200000, "\n---\n"; close $f;
	my $s = answer($c, "box_list_skills", "{}", $A);
	print good($s), $s =~ /"pkg"/ ? "pkg" : "", $s =~ /other/ ? "LEAK" : ""' "$root" "$a")" 1pkg "sparse, multiplying, looping and deep entry files hide no other skill"
is "$(pgrep -P "$BOXD_PID" -x box-store)" "$store" "box-store has not died of it"

# ---- relays ----
flood() { # name command
	h '
	my ($name, $cmd, $ns, $gateway) = @ARGV;
	answer($c, "box_create_session", q({"session_id": "flood", "cmd": "", "workdir": "/tmp"}), $A);
	my $r = answer($c, "box_start_managed_process", qq({"session_id": "flood", "spec": {"process_id": "$name", "command": "sh", "args": ["-c", "$cmd"], "cwd": "/tmp"}}), $A);
	return print why($r) unless good($r);
	my @stuck = map { socket_at("/v1/sessions/$ns-g1-flood/managed-process/$name/ws", "X-LangBot-Workspace-Id" => "ws-a", "X-LangBot-Placement-Generation" => 1, "Sec-WebSocket-Protocol" => $_) } "mcp";
	my $good = grep { answer($c, "box_exec", q({"session_id": "quiet", "cmd": "echo hi", "workdir": "/tmp"}), $B) =~ /hi/ } 1 .. 5;
	my $most = rss($gateway);
	my $s = answer($c, "box_stop_managed_process", qq({"session_id": "flood", "process_id": "$name"}), $A);
	print ref $stuck[0] ? "open " : $stuck[0], $good, " ", good($s), " ", $most < 200 * 1024 ? "bounded" : $most' "$1" "$2" "$a" "$GATEWAY"
}
grep -qa __asan_init "$BUILD/box-gateway" && sanitized=1
bounded() { _got=$(flood "$1" "$2"); [ -n "$sanitized" ] && _got=${_got% *}" bounded"; is "$_got" "open 5 1 bounded" "$3"; }
bounded line 'tr \\\\0 x </dev/zero' "a line without an end, and a reader that is stuck"
bounded tiny 'yes' "tiny lines as fast as they go"
bounded binary 'cat /dev/urandom' "bytes that are no text"
same_gateway
done_testing
