#!/bin/sh
# make run, make demo: a boxd of its own under build/, and the first sandboxed command.
# demo.sh BUILD RUN-DIR stay|stop
set -eu
build=$1 run=$2 mode=$3
socket=$run/boxd.sock
log=$run/log
ctl() { "$build/boxctl" --socket "$socket" "$@"; }

mkdir -p "$run"
"$build/boxd" --state-dir "$run/state" --runtime-dir "$run" 2>"$log" &
boxd=$!
trap 'kill "$boxd" 2>/dev/null || :; wait "$boxd" 2>/dev/null || :' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

tries=0
until ctl ping >/dev/null 2>&1; do
	if ! kill -0 "$boxd" 2>/dev/null || [ "$tries" -ge 200 ]; then
		echo "boxd did not start:" >&2
		cat "$log" >&2
		exit 1
	fi
	tries=$((tries + 1))
	sleep 0.05
done
sed -n 's/.* boxd [a-z]*: \(isolation .*\)/boxd: \1/p' "$log"

echo '$ boxctl run -c '\''echo "hello from $(hostname), pid $$, as $(id -un)"; ls /; ls /root /home'\'
ctl run -c 'echo "hello from $(hostname), pid $$, as $(id -un)"; ls /; ls /root /home'
echo "(exit $?)"

if [ "$mode" = stay ]; then
	cat <<-EOF

	boxd is running (pid $boxd, log $log).  From a second terminal:

	  export BOXD_SOCKET=$socket
	  $build/boxctl run -- uname -a
	  $build/boxctl create --name mine
	  $build/boxctl exec mine -c 'echo kept > note; cat note'
	  $build/boxctl ps

	Ctrl-C stops it and every sandbox.
	EOF
	wait "$boxd" || exit $?
fi
