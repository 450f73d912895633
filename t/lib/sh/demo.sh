#!/bin/sh
# make run, make demo: a boxd of its own under build/, and the first sandboxed command.
# demo.sh BUILD RUN-DIR stay|stop; DEMO_LISTEN: where LangBot's door shall be, if the place is free
set -eu
build=$(cd "$1" && pwd) run=$2 mode=$3
at=${DEMO_LISTEN:-127.0.0.1:5410}
socket=$run/boxd.sock
log=$run/log
ctl() { "$build/boxctl" --socket "$socket" "$@"; }

mkdir -p "$run"
boxd=
trap '[ -z "$boxd" ] || kill "$boxd" 2>/dev/null || :; wait' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# start ADDRESS: with LangBot's door there; false when it did not come up
start() {
	echo "listen = $1" >"$run/boxd.conf"
	"$build/boxd" -c "$run/boxd.conf" --state-dir "$run/state" --runtime-dir "$run" 2>"$log" &
	boxd=$!
	tries=0
	until ctl ping >/dev/null 2>&1; do
		if ! kill -0 "$boxd" 2>/dev/null || [ "$tries" -ge 200 ]; then
			return 1
		fi
		tries=$((tries + 1))
		sleep 0.05
	done
}

if ! start "$at"; then
	if ! grep -q 'Address already in use' "$log" || ! start 127.0.0.1:0; then
		echo "boxd did not start:" >&2
		cat "$log" >&2
		exit 1
	fi
	echo "$at is taken, by another boxd or by LangBot's own runtime: this one listens elsewhere"
fi
sed -n "s/.* boxd [a-z]*: \(isolation .*\|LangBot's door .*\)/boxd: \1/p" "$log"

echo '$ boxctl run -c '\''echo "hello from $(hostname), pid $$, as $(id -un)"; ls /; ls /root /home'\'
ctl run -c 'echo "hello from $(hostname), pid $$, as $(id -un)"; ls /; ls /root /home'
echo "(exit $?)"

if [ "$mode" = stay ]; then
	cat <<-EOF

	boxd is running (pid $boxd, log $log).  An unmodified LangBot uses it after

	  export LANGBOT_BOX_CONTROL_TOKEN=\$($build/boxctl --socket $socket token)
	  export BOX__RUNTIME__ENDPOINT=ws://$(ctl status -o json | sed -n 's/.*"http_address": *"\([^"]*\)".*/\1/p')
	  langbot    # or however it is started

	From a second terminal:

	  export BOXD_SOCKET=$socket
	  $build/boxctl run -- uname -a
	  $build/boxctl create --name mine
	  $build/boxctl exec mine -c 'echo kept > note; cat note'
	  $build/boxctl ps

	Ctrl-C stops it and every sandbox.
	EOF
	wait "$boxd" || exit $?
fi
