#!/bin/sh
# boxctl cp and boxctl files: both ways, files and trees, as docker cp has it; hostile names stay harmless.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
cp_() { timeout -k 5 120 "$BUILD/boxctl" --socket "$D/run/boxd.sock" cp "$@" 2>"$D/err"; }
tree() { (cd "$1" && find . -printf '%p %y %m %l %s\n' | sed 's/^\(.* d [0-7]* \) [0-9]*$/\1/' | sort); }

# a tree with all that can be copied
mkdir -p "$D/src/sub/empty"
printf one >"$D/src/one"
printf '#!/bin/sh\necho ran\n' >"$D/src/sub/run"
chmod 750 "$D/src/sub/run"
head -c 3000000 /dev/urandom >"$D/src/sub/large"
: >"$D/src/none"
ln -s ../one "$D/src/sub/link"
ln -s /etc/passwd "$D/src/out"
touch -d '2020-02-02 02:02:02.5' "$D/src/one"

cp_ "$D/src" s:
is $? 0 "a directory is copied into the workspace"
is "$(boxctl exec s -- src/sub/run)" ran "modes are kept"
is "$(boxctl exec s -- stat -c %Y src/one)" "$(stat -c %Y "$D/src/one")" "and times"
is "$(boxctl exec s -- readlink src/out)" /etc/passwd "symlinks are copied as symlinks"
cp_ s:src "$D/back"
is $? 0 "and back, to a name that is not there"
is "$(tree "$D/back")" "$(tree "$D/src")" "the same in names, kinds, modes and sizes"
cmp "$D/src/sub/large" "$D/back/sub/large"
ok "and bytes"
is "$(stat -c %Y "$D/back/one")" "$(stat -c %Y "$D/src/one")" "and times"
cp_ s:src "$D/back"
is "$(tree "$D/back/src")" "$(tree "$D/src")" "onto a directory: into it, under its own name"
rm -rf "$D/back"
mkdir "$D/back"
cp_ s:src/. "$D/back"
is "$(tree "$D/back" | grep -v '^\. ')" "$(tree "$D/src" | grep -v '^\. ')" "with /. what is in it"
cp_ s: "$D/all"
is "$(ls "$D/all")" src "without a path: the whole workspace"
cp_ "$D/src/." s:new/deep
is "$(boxctl exec s -- cat new/deep/one)" one "up with /. to a name that is not there"
cp_ "$D/src/sub" s:new
is "$(boxctl exec s -- ls new | tr '\n' ' ')" "deep sub " "up onto a directory: into it"
cp_ "$D/src/." s:new
is "$(boxctl exec s -- ls new | tr '\n' ' ')" "deep none one out sub " "again, with what is there"

# single files
cp_ "$D/src/one" s:a && cp_ "$D/src/sub/large" s:a
is $? 0 "a file replaces a file"
cp_ s:a "$D/a" && cmp "$D/a" "$D/src/sub/large"
ok "and comes back"
cp_ s:a "$D/back" && cmp "$D/back/a" "$D/src/sub/large"
ok "into a directory, under its name"
seq 1 100000 | cp_ - s:seq
is "$(boxctl exec s -- sha256sum seq | cut -d' ' -f1)" "$(seq 1 100000 | sha256sum | cut -d' ' -f1)" "from standard input"
is "$(cp_ s:seq - | sha256sum)" "$(seq 1 100000 | sha256sum)" "to standard output"
cp_ s:seq - | head -n 1 >"$D/first"
is "$(cat "$D/first")" 1 "that may be closed early"
cp_ - s:empty </dev/null
is "$(cp_ s:empty - | wc -c)" 0 "nothing at all can be copied too"
like "$(boxctl cp "$D/src" s:json -o json)" '"files": 4,' "-o json counts"

# what is wrong is told, and exit codes tell who
for bad in "s:nosuch $D/x:1:nosuch is not there" "$D/nosuch s::1:No such file" "$D/src s:a:1:a is not a directory" \
	"s:src $D/a:1:is not a directory" "$D/a s:nodir/:1:nodir is not there" "$D/a s:no/dir/x:1:no is not there" \
	"s:src -:1:src is a directory" "- s:src:1:name the file" "$D/a $D/b:2:exactly one" "s:a s:b:2:exactly one" \
	"s:../x -:1:has a '..'" "s:src/sub/link -:1:is a symlink" "nosuch:x -:1:session nosuch not found" \
	"$D/a nosuch:x:1:session nosuch not found" "$D/a nosuch:x/:1:session nosuch not found" "- nosuch:x:1:session nosuch not found"; do
	words=${bad%:*:*} text=${bad##*:} code=${bad%:*}
	code=${code##*:}
	cp_ $words </dev/null >/dev/null
	is "$?" "$code" "cp $words: exit $code"
	like "$(cat "$D/err")" "$text" "and says: $text"
done

# names with colons
boxctl create --name a:b >/dev/null
cp_ "$D/src/one" a:b:x:y && is "$(cp_ a:b:x:y -)" one "sessions and files may have colons in their names"
cd "$D" && printf colon >c:d && cd - >/dev/null
(cd "$D" && cp_ ./c:d s:colon) && is "$(cp_ s:colon -)" colon "a local name with one begins with ./"

# listing
like "$(boxctl files s:src)" 'file +0644 +3B +2020-02-02 .* one' "files lists a directory"
like "$(boxctl files s:src/sub)" 'symlink .* link -> \.\./one' "and where symlinks lead"
like "$(boxctl files s:src/one)" 'one' "or one file"
is "$(boxctl files s:src -o json | perl -MJSON::PP -e 'local $/; print join " ", map { $_->{name} } @{decode_json(<STDIN>)}')" "none one out sub" "-o json"
boxctl files s:nosuch 2>/dev/null
is $? 1 "what is not there: exit 1"

# what a sandbox may do to us
boxctl create --name evil >/dev/null
boxctl exec evil -c 'printf x >"$(printf "bad\033[2Jname\n")"; printf y >"$(printf "\377\376")"; ln -s /etc dir; mkfifo pipe; mkdir d; chmod 777 d; printf z >d/z; chmod 755 d/z'
unlike "$(boxctl files evil; boxctl files evil -o json)" "$(printf '\033')" "control characters do not reach the terminal"
boxctl files evil -o json | perl -MJSON::PP -e 'local $/; decode_json(<STDIN>)'
ok "and JSON stays JSON"
cp_ evil: "$D/evil"
is $? 1 "a FIFO is left out, and that is no success"
like "$(cat "$D/err")" 'pipe is neither' "which is told"
is "$(cat "$D/evil/$(printf 'bad\033[2Jname\n')" "$D/evil/$(printf '\377\376')")" xy "odd names come as they are"
is "$(stat -c %a "$D/evil/d" "$D/evil/d/z" | tr '\n' ' ')" "777 755 " "with their modes"
mkdir "$D/bits"; : >"$D/bits/su"; chmod 6755 "$D/bits/su"
boxctl create --name bits --host-path "$D/bits" >/dev/null
cp_ bits:su "$D/su"
is "$(stat -c %a "$D/su")" 755 "but never setuid"
is "$(readlink "$D/evil/dir")" /etc "a symlink is only a symlink"
# a destination in which the sandbox's names meet our own symlinks
mkdir "$D/trap" "$D/victim"
printf safe >"$D/victim/z"
ln -s "$D/victim" "$D/trap/d"
cp_ evil: "$D/trap"
isnt $? 0 "a symlink of ours where a directory shall be is refused"
is "$(cat "$D/victim/z")" safe "and not followed"
rm "$D/trap/d"
mkdir "$D/trap/d"
ln -s "$D/victim/z" "$D/trap/d/z"
cp_ evil:d/. "$D/trap/d"
is "$(cat "$D/victim/z") $(cat "$D/trap/d/z")" "safe z" "where a file shall be it is replaced, not followed"
is "$(find "$D/trap" "$D/evil" "$D/back" -name '.boxctl*')" "" "no temporary files"

# a signal in the middle
mkfifo "$D/slow"
"$BUILD/boxctl" --socket "$D/run/boxd.sock" cp - s:seq <"$D/slow" 2>/dev/null & put=$!
exec 9>"$D/slow"
seq 1 10000 >&9
opened() { [ "$(ls -l "/proc/$put/fd" 2>/dev/null | grep -c socket)" -ge 1 ] && boxctl exec s -c 'pgrep box-files >/dev/null'; }
eventually opened
kill -TERM $put # a background process of a shell ignores SIGINT
wait $put
is $? 143 "an interrupted copy ends with the signal's code"
exec 9>&-
is "$(cp_ s:seq - | sha256sum)" "$(seq 1 100000 | sha256sum)" "and the file is the old one"
is "$(boxctl exec s -c 'find . -name ".boxd*"')" "" "and nothing else is there"

# a file that is larger than what anything may hold
boxctl create --name big --workspace-size 400 --memory 512 >/dev/null
boxctl exec big -c 'head -c 300000000 /dev/zero >z'
cp_ big:z "$D/z"
is "$? $(stat -c %s "$D/z")" "0 300000000" "300 MB come out"
boxctl exec big -- rm z
cp_ "$D/z" big:z
is "$? $(boxctl exec big -- stat -c %s z)" "0 300000000" "and go in"
like "$(boxctl exec big -c 'grep VmHWM /proc/$(pgrep box-files)/status')" 'VmHWM:[[:space:]]+[1-7]?[0-9]{3} kB' "in a few MiB of memory"
done_testing
