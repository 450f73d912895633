#!/bin/sh
# A path of the host that is missing is refused; a workspace that boxd makes itself is made where it belongs, whoever turns links meanwhile.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
agents=$D/agents
mkdir -p "$agents" "$D/victim" "$D/ok" "$D/shared/data/box"
chmod 777 "$D/ok" "$D/shared/data/box"
boxd_config "agent.default_workspace = $agents" "langbot_dir = $D/shared" 'spare_sandboxes = 0'
boxd_start
no_nosuch() { rmdir -p /boxd-t-nosuch/a/b 2>/dev/null; rmdir /boxd-t-nosuch 2>/dev/null; true; } # where there is the hole
at_end no_nosuch
before() { (cd / && ls -A; cd "$D" && find ok victim shared agents) | sort; }

# ---- what a client names ----
for path in "$D/ok/new" "$D/ok/new/er" "/boxd-t-nosuch" "$D/ok/./new/" "/boxd-t-nosuch/a/b"; do
	for mode in rw ro; do
		like "$(box run --host-path "$path:$mode" -- true 2>&1)" 'spec.host_path: .* does not exist; make it first' "host_path $path:$mode"
		like "$(box run --mount "$path:/x:$mode" -- true 2>&1)" 'spec.extra_mounts.0.host_path: .* does not exist; make it first' "extra mount $path:$mode"
	done
done
ns() { printf 'inst-1\0%s' "$1" | sha256sum | sed 's/^\(.\{24\}\).*/ws-\1/'; }
host init "\"has_local\": true, \"local\": {\"host_root\": \"./data/box\", \"default_workspace\": \"default\", \"skills_root\": \"skills\", \"allowed_mount_roots\": [\"$D\"]}" >/dev/null
was_made=$(before)
root=$D/shared/data/box
of_langbot() { run ws-1 1 s "true" ", \"host_path\": \"$1\", \"mount_path\": \"/tmp\""; }
for path in "$root/default/plain" "$root/default/tenants" "$root/default/tenants/$(ns ws-2)" "$D/ok/new" "$root/skills/tenants/$(ns ws-1)/../x"; do
	like "$(of_langbot "$path")" 'does not exist|is blocked for security|outside allowed_mount_roots' "LangBot's host_path ${path#"$D"}"
	like "$(run ws-1 1 s true ", \"extra_mounts\": [{\"host_path\": \"$path\", \"mount_path\": \"/mnt/x\", \"mode\": \"rw\"}]")" 'does not exist|workspace|outside allowed_mount_roots' "LangBot's extra mount ${path#"$D"}"
done
is "$(before)" "$was_made" "nothing of it is made"
is "$(of_langbot "$root/default/tenants/$(ns ws-1)" | field exit_code)" 0 "a workspace's own directory is made for it"
ok "where it should be" test -d "$root/default/tenants/$(ns ws-1)"

# ---- what boxd makes itself ----
agent() { box call agent_exec "{\"command\": \"true\", \"session_id\": \"s$1\", \"instance\": \"inst-1\", \"workspace\": \"w$1\"}" 2>&1; }
chown 1234:2345 "$agents" 2>/dev/null
owner=$(stat -c %u:%g "$agents")
agent 0 >/dev/null
is "$(stat -c '%u:%g %a' "$agents/tenants" "$agents/tenants/$(ns w0)" | sort -u)" "$owner 755" "an agent's workspace is made for the owner of the directory it is in"
rm -r "$agents/tenants"
ln -s "$D/victim" "$agents/tenants"
like "$(agent 1)" 'does not exist; make it first' "through a link no workspace is made"
is "$(ls -A "$D/victim")" "" "and nothing behind it"
rm "$agents/tenants"
[ "$(uname -m)" = x86_64 ] || { note "the race is not tried: the number of renameat2 is that of x86_64"; done_testing; }
# a link is there and is not, again and again
perl -e '
	my ($d) = @ARGV;
	symlink "$d/victim", "$d/agents/.link";
	$SIG{ALRM} = sub { exit 0 };
	alarm 300;
	open my $m, ">", "$d/flipping"; close $m;
	for (;;) {
		syscall(316, -100, "$d/agents/.link", -100, "$d/agents/tenants", 1); # RENAME_NOREPLACE
		rename "$d/agents/tenants", "$d/agents/.link" if -l "$d/agents/tenants";
		if (-d "$d/agents/tenants" && !-l "$d/agents/tenants") { rename "$d/agents/tenants", "$d/agents/.made" . $i++ }
	}' "$D" & flipper=$!
eventually test -e "$D/flipping"
i=1 odd=0
while [ $i -lt 120 ]; do
	i=$((i + 1))
	got=$(agent $i) && { box rm "agent@$(ns w$i)@s$i" >/dev/null; continue; }
	case $got in
	*'does not exist'* | *'cannot be made'* | *'was moved while'* | *'was replaced while'* | *"another workspace's"*) ;;
	*) odd=$((odd + 1)); diag "$got" ;;
	esac
done
kill $flipper; wait $flipper 2>/dev/null
is "$(ls -A "$D/victim")" "" "a link that is turned while it is made leads nothing elsewhere"
is $odd 0 "each request was answered by a session or a refusal"
done_testing
