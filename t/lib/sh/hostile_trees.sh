# Trees that were made to lead a count astray, hold it, or make it look elsewhere.  Sourced with a boxd that runs, $W the
# workspace's directory on the host and $OTHER another's; as root, and for the boxd of an ordinary user.
#
#	amount session_temp size_bytes      of the last told=$(lb storage ws-1 1)

amount() { printf '%s\n' "$told" | sed -n "/\"key\": \"$1\"/,/}/p" | field "$2" | tail -n 1; }
count() { told=$(lb storage ws-1 1); }
inside() { says ws-1 1 s "$1"; }

# Does anybody open or read what is in a directory?  watch_start DIR, then watch_saw.
watch_start() {
	python3 - "$1" >"$D/watch" <<'PY' &
import ctypes, os, sys
c = ctypes.CDLL(None, use_errno=True)
fd = c.inotify_init()
assert c.inotify_add_watch(fd, sys.argv[1].encode(), 0x1 | 0x20) >= 0 # IN_ACCESS, IN_OPEN
print("ready", flush=True)
while True:
    os.read(fd, 65536)
    print("seen", flush=True)
PY
	WATCH=$!
	eventually grep -q ready "$D/watch"
}
watch_saw() { grep -c seen "$D/watch"; }

mkdir -p "$W/inbox" "$OTHER"
echo theirs >"$OTHER/f"
[ "$(stat -c %u "$D/shared")" = 0 ] || own "$D/shared"

# ---- on the host ----
perl -e 'my $d = shift; for my $k (0 .. 1) { mkdir "$d/$k"; open my $f, ">", "$d/$k/0" or die; print $f "1234"; close $f;
	for (1 .. 49999) { link "$d/$k/0", "$d/$k/$_" or die "$!" } }' "$W/inbox"
count
is "$(amount inbox files) $(amount inbox size_bytes) $(amount inbox errors)" "100000 400000 0" "100000 files are counted, all of them"
is "$(amount workspace files) $(amount workspace size_bytes)" "100000 400000" "once"
rm -rf "$W/inbox"
perl -e 'chdir shift; for (1 .. 3000) { mkdir "d" or die; chdir "d" or die }' "$W"
echo 1234567 >"$W/f"
count
is "$(amount workspace files) $(amount workspace size_bytes) $(amount workspace errors) $(amount workspace cut)" "1 8 1 true" \
	"a tree that is too deep: the rest is counted, and it is told"
ok "the log says why" grep -q 'the count of .*/tenants/ws-9d14934957e7ea8dcfa33291 was cut' "$D/log"
perl -e 'chdir shift; my $n = 0; while (chdir "d") { $n++ } chdir ".." while $n-- > 0 && (rmdir "d", 1)' "$W" # rm -r is slower
rm -rf "$W/d" "$W/f"
mkfifo "$W/fifo"
ln -s fifo "$W/link"
ln -s / "$W/all"
ln -s .. "$W/up"
ln -s loop "$W/loop"
count
is "$(amount workspace files) $(amount workspace size_bytes) $(amount workspace errors)" "5 11 0" "FIFOs and symlinks hold nobody, and lead nowhere"

# ---- another workspace's directory, behind symlinks that come and go ----
watch_start "$OTHER"
ln -s "$OTHER" "$W/outbox"
ln -s "$OTHER" "$W/deeper"
count
is "$(amount outbox files) $(amount outbox size_bytes)" "1 ${#OTHER}" "a symlink to another workspace is a symlink"
rm "$W/outbox" "$W/deeper"
mkdir "$W/kept" "$W/kept/x" "$W/place"
perl -e 'my ($d, $other) = @ARGV; until (-e "$d/stop") { rename "$d/place", "$d/away"; symlink $other, "$d/place"; unlink "$d/place"; rename "$d/away", "$d/place" }' "$W" "$OTHER" &
swapper=$!
bad=0
for i in $(seq 30); do
	count
	[ "$(amount workspace errors)" = 0 ] || bad=$((bad + 1))
done
touch "$W/stop"
wait $swapper
is "$bad" 0 "30 counts while a directory becomes a symlink and a directory again"
is "$(watch_saw)" 0 "nobody has opened or read the other workspace's directory"
cat "$OTHER/f" >/dev/null
seen() { [ "$(watch_saw)" != 0 ]; }
eventually seen
ok "which would have been seen"
kill $WATCH
wait $WATCH 2>/dev/null
rm -rf "$W"

# ---- inside ----
create ws-1 1 s >/dev/null
inside 'cd /tmp && i=0; while [ $i -lt 1000 ]; do mkdir d && cd d || break; i=$((i+1)); done; echo made' >/dev/null
count
is "$(amount session_temp errors) $(amount session_workspaces errors) $(amount session_temp exists)" "1 1 true" "a session with a tree too deep is told as one error, in all three"
ok "the log says why" grep -q 'name=ws-9d14934957e7ea8dcfa33291-g1-s storage analysis: the count was cut' "$D/log"
inside 'cd /tmp; i=0; while cd d 2>/dev/null; do i=$((i+1)); done; while [ $i -gt 0 ]; do cd ..; rmdir d; i=$((i-1)); done; ls /tmp' >/dev/null
inside 'rm -rf /tmp/d; mkfifo /workspace/fifo /tmp/fifo; ln -s / /workspace/all; ln -s /proc /root/.cache; ln -s loop /tmp/loop; mkdir /tmp/closed; echo x >/tmp/closed/f' >/dev/null
count
is "$(amount session_caches files) $(amount session_caches exists) $(amount session_workspaces files) $(amount session_temp files)" "0 true 0 1" \
	"FIFOs and symlinks inside hold nobody, and lead nowhere"
is "$(amount session_temp errors)" 0 "and are no error"
inside 'rm /root/.cache; i=0; while [ $i -lt 5000 ]; do echo >/workspace/$i; i=$((i+1)); done' >/dev/null
count
is "$(amount session_workspaces files)" 5000 "5000 files inside are counted"
run ws-1 1 s 'mkdir -p /tmp/m/a; while [ ! -e /tmp/stop ]; do mv /tmp/m/a /tmp/m/b; mv /tmp/m/b /tmp/m/a; done' >"$D/mover" &
mover=$!
bad=0
for i in $(seq 20); do
	count
	[ "$(amount session_temp errors)" = 0 ] || bad=$((bad + 1))
done
inside 'touch /tmp/stop' >/dev/null
wait $mover
is "$bad $(field exit_code <"$D/mover")" "0 0" "20 counts while directories are moved, and beside a command that runs"

# ---- who counts dies ----
# Only of this boxd: a test beside us may have one.
files_pid() { for _p in $(pgrep -x box-files); do ! _tree "$BOXD_PID" | grep -q "^$_p:" || echo "$_p"; done; }
dies() { # the process that counts is stopped, asked, and killed; was it asked before that?
	count
	_one=$(files_pid | head -n 1)
	[ -n "$_one" ] || return 1
	kill -STOP "$_one"
	lb storage ws-1 1 >"$D/died" &
	_asking=$!
	lb list ws-1 1 >/dev/null
	lb list ws-1 1 >/dev/null
	kill -9 "$_one"
	wait $_asking
	told=$(cat "$D/died")
	[ "$(amount session_temp errors)" = 1 ]
}
if [ -n "$(count && files_pid)" ]; then
	eventually dies
	ok "box-files dies while it counts: an error in the answer"
	is "$(printf '%s\n' "$told" | sed -n '/"key": "session_temp"/,/}/p' | field path) $(amount session_temp size_bytes) $(amount workspace errors)" "/tmp (0 sandbox sessions) 0 0" "its session is not counted, the host is"
	ok "the log says why" grep -q 'storage analysis: not counted: box-files, which does this inside the sandbox, died' "$D/log"
	count
	is "$(amount session_temp errors) $(amount session_workspaces files)" "0 5000" "the next count is whole"
else
	skip "box-files cannot be told from another's here" 4
fi
store_pid() { pgrep -P "$BOXD_PID" -x box-store; }
store=$(store_pid)
kill -STOP "$store"
lb storage ws-1 1 >"$D/died" &
asking=$!
lb list ws-1 1 >/dev/null
lb list ws-1 1 >/dev/null
kill -9 "$store"
wait $asking
told=$(cat "$D/died")
if [ "$(amount workspace errors)" = 1 ]; then
	is "$(amount mcp errors) $(amount workspace exists) $(amount session_workspaces files)" "1 false 5000" "box-store dies while it counts: the host part is an error, the sessions are counted"
else
	is "$(amount workspace errors) $(amount session_workspaces files)" "0 5000" "box-store dies before it is asked: another one counts"
fi
whole() { count && [ "$(amount workspace errors)" = 0 ]; }
eventually whole
ok "the next count is whole"
is "$(says ws-1 1 s 'echo alive')" 'alive\n' "and the session works"
