# What an attacker would do in a sandbox of LangBot's: fill everything that can be written to.  boxd runs it in a trial
# (readiness_trial.c) and reads what it prints (readiness_script.c).  Whatever the kernel does not refuse is not bounded.
#
#	$1 what the host must see   $2 MiB to try in the workspace   $3 files to try there   $4 MiB to try elsewhere
#
# Texts are compared, because a disk that is full and one that fails look alike otherwise.
LC_ALL=C
export LC_ALL
judge() { # what, and what the error was
	case $2 in
	*'No space left'* | *'uota exceeded'*) echo "$1 refused" ;;
	*) echo "$1 not refused: $2" ;;
	esac
}
fill() { # what, directory, MiB, from
	said=$({ head -c $(($3 * 1048576)) "$4" >"$2/.fill"; } 2>&1)
	judge "$1" "$said"
	rm -f "$2/.fill"
}
cd /workspace && printf %s "$1" >marker || exit 1
echo "net $(readlink /proc/self/ns/net)"

# every mount but the workspace, so that no place is forgotten
while read -r from at type options rest; do
	case $at,$options, in /workspace,* | *,ro,*) continue ;; esac
	(: >"$at/.fill") 2>/dev/null && fill "at $at" "$at" "$4" /dev/zero
done </proc/self/mounts

if [ "$3" -gt 0 ]; then
	mkdir files && i=0
	while [ $i -lt "$3" ] && true >files/$i; do i=$((i + 1)); done 2>/tmp/said
	judge files "$(cat /tmp/said)"
	rm -rf files
fi
# not zeros, which some file systems store for nothing
[ "$2" -eq 0 ] || fill bytes . "$2" /dev/urandom
echo end
