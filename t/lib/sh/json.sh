# Values out of boxctl's JSON, one on a line as it prints them.
#
#	boxctl exec s -o json -- true | field cause
#	disk s quota                     of "disk" in session info

field() { sed -n "s/^ *\"$1\": \"\(.*\)\",*\$/\1/p;s/^ *\"$1\": \([^\",]*\),*\$/\1/p"; }
disk() { boxctl inspect "$1" -o json | sed -n '/"disk": {/,/}/p' | field "$2"; }
