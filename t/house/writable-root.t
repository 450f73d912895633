#!/bin/sh
# read_only_rootfs = false: everything can be written, nothing of it reaches the host, and it ends with the session.
. t/lib/sh/boxd.sh
BOX_SEC=100
[ "$(id -u)" = 0 ] || plan skip_all "only a boxd that runs as root can give a writable root"
boxd_config 'overlay_mb = 24' 'inodes = 2000'
boxd_start
field() { boxctl inspect "$1" -o json | sed -n "s/^ *\"$2\": \"\{0,1\}\([^\",]*\).*/\1/p" | head -n 1; }
mark=boxd-t-$$

boxctl create --name r >/dev/null
for f in /x /usr/x /usr/bin/x /etc/hosts /etc/alternatives/x /var/x /opt/x; do
	like "$(in_session r -c "echo x >>$f")" 'Read-only|denied' "by default $f cannot be written"
done
boxctl create --name w --writable-root >/dev/null
is "$(in_session w -c "mkdir /foo && echo a >/foo/$mark && cat /foo/$mark")" a "a directory in the root"
is "$(in_session w -c "echo '10.1.2.3 $mark' >>/etc/hosts && getent hosts $mark")" "10.1.2.3        $mark" "a line in /etc/hosts"
is "$(in_session w -c "mkdir -p /usr/local/lib/$mark && cp /bin/true /usr/local/bin/$mark && $mark && echo ran")" ran "a program in /usr/local"
is "$(in_session w -c "mv /usr/bin/env /usr/bin/$mark && rm /usr/bin/tac && echo echo changed >/usr/bin/tac && chmod 755 /usr/bin/tac && tac")" changed \
	"programs of the host moved, removed and replaced"
is "$(in_session w -c 'rm -rf /usr/share/doc && mkdir /usr/share/doc && ls /usr/share/doc | wc -l' | tr -d ' ')" 0 "a whole tree removed, and made anew"
is "$(in_session w -c "ln -sf /bin/true /etc/alternatives/$mark && echo x >/etc/ssl/$mark && echo y >/etc/passwd && echo z >/etc/ld.so.cache && echo done")" "done" \
	"the rest of /etc"
is "$(in_session w -c "mkdir -p /var/lib/x /opt/x /srv && touch /run/x && ls -d /var/lib/x /opt/x /srv /run/x | wc -l" | tr -d ' ')" 4 "/var, /opt, /srv and /run"
is "$(in_session w -c 'ls -A /proc/acpi /proc/scsi 2>/dev/null | grep -v :')" "" "what is masked in /proc stays empty"
is "$(in_session w -c 'ls -d /usr/local/etc /etc/ssl/private /etc/shadow 2>/dev/null')" "" "places where only root may read are not there"
like "$(in_session w -c 'touch /dev/x')" 'Read-only' "/dev is no part of it"
like "$(in_session w -c 'echo x >/proc/sys/kernel/hostname')" 'Read-only|denied' "nor is /proc"
if command -v python3 >/dev/null; then
	is "$(in_session w -- /usr/bin/python3 -c 'import sysconfig, os; p = sysconfig.get_path("purelib"); os.makedirs(p, exist_ok=True); open(p + "/boxdpkg.py", "w").write("n = 42"); import importlib; importlib.invalidate_caches(); import boxdpkg; print(boxdpkg.n)')" 42 \
		"a package where pip would put it"
else
	skip 1 "python3 is not installed"
fi

is "$(ls -d "/foo/$mark" "/usr/local/lib/$mark" "/usr/local/bin/$mark" "/usr/bin/$mark" "/etc/alternatives/$mark" "/etc/ssl/$mark" 2>/dev/null)" "" \
	"nothing of it is on the host"
is "$(grep -c "$mark" /etc/hosts)" 0 "its /etc/hosts is as it was"
isnt "$(tac </dev/null; echo $?)" changed "and so are its programs"
ok "all of them" test -x /usr/bin/env -a -x /usr/bin/tac -a -d /usr/share/doc
is "$(in_session r -c "ls /foo /usr/bin/$mark 2>/dev/null; cat /etc/hosts | grep -c $mark")" 0 "nor in another session"
is "$(find "$D/state" -newer "$D/boxd.conf" -name "*$mark*")" "" "nor in the state directory"

like "$(in_session w -c 'head -c 40000000 /dev/zero >/usr/big; stat -c %s /usr/big')" 'No space left' "its bytes are bounded (overlay_mb)"
in_session w -c 'rm -f /usr/big' >/dev/null
like "$(in_session w -c 'mkdir /many; i=0; while [ $i -lt 2500 ]; do : >/many/$i || break; i=$((i+1)); done; echo $i')" 'No space left' "its files too (inodes)"
in_session w -c 'rm -rf /many' >/dev/null
mounts=$(in_session w -- cat /proc/self/mounts)
is "$(printf '%s\n' "$mounts" | awk '$3 == "overlay" { o = "," $4 "," } $3 == "overlay" && (o !~ /,nosuid,/ || o !~ /,nodev,/) { print $2 }')" "" "all of it is nosuid and nodev"
like "$(in_session w -c 'mknod /n c 1 3; mknod /usr/n b 8 0')" 'not permitted|denied' "and takes no device nodes"
like "$(in_session w -c 'cp /usr/bin/id /id; chmod 6755 /id')" 'not permitted' "no file can be made setuid"

like "$(boxctl create --name w 2>&1)" 'already exists with read_only_rootfs=false, not true' "it is a part of the spec"
boxctl rm w >/dev/null
boxctl create --name w --writable-root >/dev/null
is "$(in_session w -c 'ls -d /foo 2>/dev/null; tac --version | head -n 1 | cut -d" " -f1')" tac "the next session begins anew"
vanish "$(field w worker_pid)"
is "$(in_session w -c 'touch /after && echo yes')" yes "after a worker's crash it is still writable"
done_testing
