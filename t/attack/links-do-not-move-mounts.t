#!/bin/sh
# A command leaves links in its workspace: the next session's mounts go where the client said, or nowhere.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
[ "$(id -u)" = 0 ] || plan skip_all "an ordinary user's boxd is tried by t/attack/links-do-not-move-mounts-not-root.t"
mkdir -p "$D/ws" "$D/skill" "$D/other"
chmod 777 "$D/ws"
boxd_config 'spare_sandboxes = 0'
boxd_start
own() { :; }
. t/lib/sh/mount_links.sh

# ---- LangBot's door ----
mkdir -m 777 "$D/lb"
extra() { printf ', "host_path": "%s", "extra_mounts": [{"host_path": "%s", "mount_path": "%s", "mode": "ro"}]' "$D/lb" "$D/skill" "$1"; }
look='cat /proc/demo/planted /proc/planted /usr/planted 2>/dev/null; stat -f -c %T /proc'
says ws-1 1 plant 'ln -s /proc /workspace/.skills; ln -s /usr /workspace/usr' ", \"host_path\": \"$D/lb\"" >/dev/null
ok "a command leaves links in a workspace of LangBot's" test -L "$D/lb/.skills"
for at in .skills/demo .skills usr; do
	got=$(run ws-1 1 "s$at" "$look" "$(extra "/workspace/$at")")
	unlike "$got" planted "a skill on $at does not follow the link"
	like "$got" "/workspace/${at%/demo} is a symbolic link" "and the error names it"
done
rm "$D/lb/.skills" "$D/lb/usr"
is "$(says ws-1 1 good "$look; cat /workspace/.skills/demo/planted" "$(extra /workspace/.skills/demo)")" 'proc\nplanted\n' "without the link it is mounted"
for at in /proc /proc/self /usr/bin /dev /etc /; do
	like "$(run ws-1 1 t true "$(extra $at)")" "would hide what|is the sandbox's own" "a skill on $at is refused"
	like "$(run ws-1 1 t true ", \"host_path\": \"$D/lb\", \"mount_path\": \"$at\"")" "would hide what|is the sandbox's own" "a workspace on $at"
done
done_testing
