# Attacks on the copying of artifacts, by whoever owns the source.  own PATH gives a file to the user that boxd runs as.
refused="boxctl: Immutable artifact preparation failed: "
secret=$D/secret
echo "the secret of somebody else" >"$secret"
size=$(wc -c <"$secret")
sha=$(sha256sum "$secret" | cut -d' ' -f1)

try() { run ws-1 1 bad "find /opt/langbot-artifacts -type f -exec cat {} +" "$(with_mounts "$(mount_of "$1" "$digits")")"; }
# hostile NAME REGEX COMMAND [PERL]: a package, sealed after perl changed its manifest and before the command changes it
hostile() {
	rm -rf "$D/src/x" "$D/src/x.json"
	package x
	sealed x "$4"
	(cd "$D/src/x" && eval "$3") || diag "cannot prepare: $3"
	own "$D/src"
	got=$(try x)
	like "$got" "^$refused$2\$" "$1"
	unlike "$got" 'the secret' "and nothing is told"
}
is_secret="\$m->{files}[0]{size} = $size; \$m->{files}[0]{sha256} = '$sha'; \$m->{total_bytes} += $size - 5"

# ---- links: also those whose target has just what the manifest says ----
loop='\[Errno 40\] Too many levels of symbolic links: .*'
hostile "a link to another file" "$loop" "rm SKILL.md; ln -s $secret SKILL.md" "$is_secret"
hostile "a relative one" "$loop" "rm SKILL.md; ln -s ../../secret SKILL.md" "$is_secret"
hostile "a link of /proc" "$loop" "rm SKILL.md; ln -s /proc/self/root$secret SKILL.md" "$is_secret"
hostile "a directory that is a link" "$loop" "rm -r scripts; mkdir $D/src/else; ln -s $D/src/else scripts; cp SKILL.md scripts/run.sh"
rm -rf "$D/src/else"
hostile "a link to itself" "$loop" "rm SKILL.md; ln -s SKILL.md SKILL.md"
rm -rf "$D/src/x" "$D/src/y"
package y
sealed y
ln -s "$D/src/y" "$D/src/x"
cp "$D/src/y.json" "$D/src/x.json"
own "$D/src"
like "$(try x)" '"exit_code": 0' "a source that is a link is what it leads to, by the rules of mounts"
lb delete ws-1 1 "$(named bad)" >/dev/null
rm "$D/src/x"

# ---- what is no file ----
special='Artifact source must be a regular file'
hostile "a pipe that nobody writes to" "$special" "rm SKILL.md; mkfifo SKILL.md"
hostile "a socket" "$special" "rm SKILL.md; perl -MSocket -e 'socket(S, AF_UNIX, SOCK_STREAM, 0); bind(S, sockaddr_un(\"SKILL.md\")) or die'"
if [ "$(id -u)" = 0 ] && mknod "$D/zero" c 1 5 2>/dev/null; then
	hostile "an endless device" "$special" "rm SKILL.md; mknod SKILL.md c 1 5"
	hostile "a terminal" "$special" "rm SKILL.md; mknod SKILL.md c 5 0"
else
	skip 4 "no device can be made here"
fi
hostile "a directory" '\[Errno 21\] Is a directory: [0-9]+' "rm SKILL.md; mkdir SKILL.md"
rm -f "$D/src/x.json"
mkfifo "$D/src/x.json"
own "$D/src"
like "$(try x)" 'manifest_path: .*x.json is not a directory and not a regular file' "a pipe for a manifest"

# ---- sizes ----
hostile "a file of a terabyte" 'Artifact source changed: SKILL.md' "truncate -s 1T SKILL.md"
hostile "one that is as large as it says, and says a terabyte" 'Artifact manifest contains an invalid total size' "truncate -s 1T SKILL.md" \
	'$m->{files}[0]{size} = 1 << 40; $m->{total_bytes} += (1 << 40) - 5'
rm -f "$D/src/x.json"
truncate -s 1T "$D/src/x.json"
own "$D/src"
is "$(try x)" "${refused}Artifact manifest is too large" "a manifest of a terabyte"

# ---- names ----
long=$(printf 'd%.0s' $(seq 300))
hostile "a name that no file can have" '\[Errno 36\] File name too long: .*' : "\$m->{files}[0]{path} = '$long'"
hostile "a path of 8000 directories" 'Artifact manifest contains too many directories' : "\$m->{files}[0]{path} = 'd/' x 8000 . 'f'"
hostile "a path of 3000 directories" '\[Errno (2|36)\] .*' : "\$m->{files}[0]{path} = 'd/' x 3000 . 'f'"
hostile "a file that is a directory too" '\[Errno (20|2)\] .*' : '$m->{files}[1]{path} = "SKILL.md/x"'
hostile "20000 files in the manifest" 'Artifact manifest contains too many files' : \
	'$m->{files} = [map { { %{$m->{files}[0]}, path => "f$_" } } 1 .. 20000]; $m->{total_bytes} = 100000'
rm -rf "$D/src/x"
package x
sealed x
(cd "$D/src/x" && seq -f 'many-%.0f' 100000 | xargs touch)
own "$D/src"
like "$(try x)" '"exit_code": 0' "100000 files beside those that are listed cost nothing"
lb delete ws-1 1 "$(named bad)" >/dev/null
rm -rf "$D/src/x"

# ---- another mount below it was judged by nobody ----
if [ "$(id -u)" = 0 ] && [ -z "$USER_IS" ] && mkdir -p "$D/below" && mount --bind "$D/below" "$D/below" 2>/dev/null; then
	umount "$D/below"
	package x
	mkdir "$D/src/x/in"
	cp "$secret" "$D/below/f"
	cp "$secret" "$D/src/x/in/f"
	sealed x
	mount --bind "$D/below" "$D/src/x/in"
	got=$(try x)
	umount "$D/src/x/in"
	like "$got" "^$refused\[Errno 18\] Invalid cross-device link: " "a file of another mount"
else
	skip 1 "nothing can be mounted here"
fi

# ---- changed while it is read ----
rm -rf "$D/src/x"
package x
sealed x
right=$digits
head -c 300000 /dev/urandom >"$D/src/x/SKILL.md"
sealed x
cp "$D/src/x/SKILL.md" "$D/one"
head -c 300000 /dev/urandom >"$D/two"
own "$D/src"
perl -e '
	my ($file, $one, $two, $secret) = @ARGV;
	while (1) {
		for my $from ($one, $two) {
			link $from, "$file.new"; rename "$file.new", $file; unlink "$file.new";
			symlink $secret, "$file.new"; rename "$file.new", $file;
		}
	}' "$D/src/x/SKILL.md" "$D/one" "$D/two" "$secret" &
swapper=$!
bad=0 good=0 other=
for i in $(seq 40); do
	got=$(run "ws-$i" 1 s "sha256sum </opt/langbot-artifacts/$digits/SKILL.md" "$(with_mounts "$(mount_of x "$digits")")")
	case $got in
	*"$(sha256sum <"$D/one")"*) good=$((good + 1)) ;;
	"$refused"*'changed: SKILL.md' | "$refused[Errno 40]"* | "$refused[Errno 2]"*) bad=$((bad + 1)) ;;
	*) other=$got ;;
	esac
	lb delete "ws-$i" 1 "$(named s)" >/dev/null 2>&1
done
kill "$swapper"
wait "$swapper" 2>/dev/null
is "$other" "" "a file that is swapped all the time is an error, or the right one"
is "$((good + bad))" 40 "40 tries"
note "$good right, $bad refused"
isnt "$right" "$digits" "(two different packages)"

# ---- and then ----
clean() { [ -z "$(ls "$D/state/artifacts/.staging" "$D/state/artifacts/.trash" | grep '^[0-9]')" ]; }
ok "nothing half made is left" eventually clean
is "$(find "$D/state/artifacts" -type f -exec grep -l 'the secret' {} +)" "" "no copy has what is not its own"
is "$(find "$D/state/artifacts" ! -type f ! -type d)" "" "nor anything but files and directories"
quiet() { [ -z "$(pgrep -P "$BOXD_PID" -x box-artifact)" ]; }
ok "no process is left" eventually quiet
is "$(says ws-1 1 fine 'echo fine')" 'fine\n' "all others go on"
