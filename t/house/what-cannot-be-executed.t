#!/bin/sh
# A command that cannot be started says what is wrong with it, with a shell's exit code, and costs nothing.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
fails() { # code, pattern, name, command...
	_c=$1 _p=$2 _n=$3
	shift 3
	boxctl exec s "$@" >"$D/out" 2>"$D/err"
	is $? "$_c" "$_n: exit $_c"
	like "$(cat "$D/err")" "$_p" "$_n: says why"
}
boxctl exec s -c 'mkdir d; printf "echo hi\n" >plain; printf "#!/no/such\n" >lost; printf "#!\n" >bare; echo x >data; : >empty
	printf "#!/bin/sh\necho fine\n" >good; chmod +x plain lost bare empty good; ln -s loop loop; cp /bin/true busy'

fails 127 'exec nosuch: No such file' "a name that is nowhere" -- nosuch
fails 127 'exec /no/such: No such file' "a path that is nowhere" -- /no/such
fails 125 'the program.s name is empty' "no name at all" -- ''
fails 126 'exec \./d: is a directory' "a directory" -- ./d
fails 126 'exec /workspace/data: Permission denied' "a file without the x bit" -- /workspace/data
fails 126 'exec \./plain: neither a program nor a script' "a script without a first line" -- ./plain
fails 126 'exec \./empty: neither a program nor a script' "an empty file" -- ./empty
fails 127 'exec \./lost: the interpreter .* is missing' "a script whose interpreter is missing" -- ./lost
fails 126 'exec \./bare: neither a program nor a script' "a script that names no interpreter" -- ./bare
fails 126 'exec \./loop: Too many levels' "a link to itself" -- ./loop
fails 126 'exec /dev/null: Permission denied' "a device" -- /dev/null
is "$(boxctl exec s -- ./good)" fine "a good one beside them runs"
is "$(boxctl exec s -c 'sh ./plain')" hi "and a shell runs what is none by itself"

# while somebody writes to it
boxctl exec s -c 'exec 9>>busy; touch holds; until [ -e go ]; do sleep 0.02; done' & holder=$!
eventually boxctl exec s -- test -e holds
fails 126 'exec \./busy: Text file busy' "a file that is being written" -- ./busy
boxctl exec s -- touch go
wait $holder
boxctl exec s -- ./busy
ok "and runs when it is not any more"
is "$(boxctl exec s -- ps -eo pid= | wc -l | tr -d ' ')" 2 "nothing is left of them all"
done_testing
