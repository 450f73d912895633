#!/bin/sh
# Environment, working directory and standard input of a command.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
in_box() { boxctl exec s "$@"; }

is "$(in_box -e A=1 -e 'B=two words' -c 'echo "$A,$B"')" "1,two words" "variables are set"
is "$(in_box -c 'echo $HOME $USER')" "/home root" "there is a home and a user"
is "$(in_box -e HOME=/tmp -c 'echo $HOME')" /tmp "the client's variables win"
is "$(in_box -- env | grep -c '^BOX_LOG\|SOCKET')" 0 "nothing of the daemon's environment is seen"
is "$(in_box -- pwd)" /workspace "commands start in /workspace"
is "$(in_box -w /workspace/a/b/c -- pwd)" /workspace/a/b/c "a missing workdir is made"
boxctl exec s -w /proc/nope -- pwd 2>"$D/err"
is $? 126 "a workdir that cannot be made is an error"
like "$(cat "$D/err")" '/proc/nope' "and is named"
boxctl exec s -w relative -- pwd 2>"$D/err"
is $? 125 "a relative workdir is refused"
like "$(cat "$D/err")" "workdir: 'relative' is not an absolute path" "with the field's name"
is "$(in_box -- cat)" "" "standard input is empty unless asked for"
is "$(printf 'x\ny' | in_box -i -- od -An -c | tr -d ' \n')" 'x\ny' "bytes go to standard input"
head -c 3000000 /dev/urandom >"$D/big"
is "$(in_box -i -- sha256sum <"$D/big" | cut -c1-64)" "$(sha256sum <"$D/big" | cut -c1-64)" "three megabytes too"
boxctl exec s -e '=x' -- true 2>"$D/err"
isnt $? 0 "a nameless variable is refused"
long=$(head -c 100000 /dev/zero | tr '\0' x)
is "$(in_box -c ": $long; echo long")" long "a command of 100 kB runs"
is "$(in_box -c 'printf "%s\n" "$@" | wc -l' | tr -d ' ')" 1 "no arguments are invented"
in_box -c 'echo kept >/tmp/f; echo kept >f; echo kept >$HOME/f'
is "$(in_box -c 'cat /tmp/f f $HOME/f' | tr '\n' ' ')" "kept kept kept " "/tmp, /workspace and home stay between commands"
done_testing
