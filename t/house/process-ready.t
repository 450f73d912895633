#!/bin/sh
# Ready: at once, with the first byte, or with a line that matches.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
field() { boxctl process get s "$1" -o json | sed -n "s/^ *\"$2\": \(.*[^,]\),*\$/\1/p"; }
is_in() { [ "$(field "$1" state)" = "\"$2\"" ]; }
said() { [ "$(field "$1" stdout_bytes)" -ge "$2" ]; }
go() { boxctl exec s -- touch "$1"; }
wait_for='until [ -e $0 ]; do sleep 0.02; done;'

boxctl process start s none -- sh -c 'sleep 98765' >/dev/null
is "$(field none state)" '"running"' "none: running at once"

boxctl process start s out --ready output -- sh -c "$wait_for"' printf x; sleep 98765' out >/dev/null
is "$(field out state)" '"starting"' "output: not before its first byte"
go out
eventually is_in out running
ok "output: then it is"

boxctl process start s line --ready-pattern '^listening on [0-9]+$' -- sh -c 'echo starting; echo "not listening on 80"; printf "listening "; '"$wait_for"' echo "on 8080"; sleep 98765' line >/dev/null
eventually said line 39
is "$(field line state)" '"starting"' "line: not with another, and not with half of it"
go line
eventually is_in line running
ok "line: with one that matches"

# somebody else reads meanwhile, from the beginning, and loses nothing by it
boxctl process start s both --ready-pattern READY -- sh -c 'seq 1 30000; '"$wait_for"' echo READY; seq 1 30000; '"until [ -e end ]; do sleep 0.02; done" both >/dev/null
eventually said both 168894
boxctl process attach s both >"$D/both" & reader=$!
eventually grep -qx 30000 "$D/both"
is "$(field both state)" '"starting"' "an attached reader does not make it ready"
go both
eventually is_in both running
go end
wait $reader
{ seq 1 30000; echo READY; seq 1 30000; } | cmp -s - "$D/both"
ok "reader and readiness see the same bytes"

# a line longer than is looked at, and bytes that are no text
boxctl process start s long --ready-pattern 'READY' -- sh -c 'head -c 9000 /dev/zero; echo; head -c 9000 /dev/zero | tr "\0" a; echo READY; '"$wait_for"' printf "\0\377 READY\n"; sleep 98765' long >/dev/null
eventually said long 18007
is "$(field long state)" '"starting"' "of a very long line only its beginning counts"
go long
eventually is_in long running
ok "bytes that are no text do not hide a line"

like "$(boxctl process start s bad --ready-pattern '(' -- true 2>&1)" 'spec.ready_pattern: ' "a bad pattern is refused by name"
like "$(boxctl process start s bad --ready-pattern '((a{1,99}){1,99}){1,99}' -- true 2>&1)" 'spec.ready_pattern: repeat counts' "and one that would cost too much"
like "$(boxctl process start s bad --ready-pattern '(a*)*\1' -- true 2>&1)" 'spec.ready_pattern: .*back references' "in either way"
like "$(boxctl process start s bad --ready line -- true 2>&1)" 'spec.ready_pattern: ' "line needs a pattern"
boxctl process start s dies --ready output -- false >/dev/null
eventually is_in dies exited
ok "one that ends before it is ready has ended"

# each life is to be ready anew
boxctl process start s again --ready output --restart always --restart-limit 100 -- sh -c 'if [ -e again2 ]; then until [ -e go2 ]; do sleep 0.02; done; fi; echo x; until [ -e again2 ]; do sleep 0.02; done; [ -e go2 ] && sleep 98765' >/dev/null
eventually is_in again running
go again2
second() { is_in again starting && [ "$(field again restarts)" = 1 ]; }
eventually second
ok "a second life is not ready because the first was"
go go2
eventually is_in again running
ok "but for its own output"
done_testing
