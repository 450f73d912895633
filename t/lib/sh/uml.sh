# Another kernel for a test: user-mode Linux, whose root is the host's own tree, read-only.
#
#	. t/lib/sh/uml.sh
#	why=$(uml_why_not) && echo "skipped: $why"
#	uml_run SCRIPT [ARGUMENT...]    its output and exit status; the working directory is ours
#	[ $? -eq $UML_NO_BOOT ]         the kernel never came as far as the script
#	[ "$1" = inside ] || uml_test "$0"    a whole test in there, or skipped with the reason; does not return
#
# Inside: cgroup v2 at /sys/fs/cgroup with every controller of that kernel, an own /proc,
# and TMPDIR on a tmpfs.  Nothing else can be written: hostfs writes would be real.  There
# is one slow cpu and no landlock.  The kernel itself talks to $UML_LOG, and is also told
# $UML_ARGS (cgroup_disable=memory).
#
# The script's first console is the kernel's; it talks on the second, which is our standard
# output, so that an out-of-memory report does not end up in the middle of a line.

UML_SEC=${UML_SEC:-300} # nothing may hang longer; it is slow, and more so beside other tests
UML_MEM=${UML_MEM:-512M}
UML_NO_BOOT=254
UML_DIED=255 # in the middle of the script

# Why there is no such kernel here; fails when there is one.
uml_why_not() {
	if [ "$(uname -m)" != x86_64 ]; then
		echo "user-mode Linux is for x86_64"
	elif ! command -v linux.uml >/dev/null; then
		echo "no linux.uml here (Debian: apt-get install user-mode-linux)"
	elif ! command -v timeout >/dev/null; then
		echo "no timeout here"
	else
		return 1
	fi
}

# The first process of that kernel.  Its first and last line are for uml_run.  Without cat the
# script would see a terminal.
_uml_init() { # script argument...
	cat <<EOF
#!/bin/sh
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin TMPDIR=/run/tmp HOME=/run/tmp
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t cgroup2 -o nsdelegate,memory_recursiveprot none /sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs /run
mkdir -m 1777 /run/tmp
stty -F /dev/tty1 raw
exec </dev/null >/dev/tty1 2>&1
echo "uml up"
{ cd '$PWD' && BUILD='$BUILD' sh $(for _a; do printf "'%s' " "$_a"; done) 2>&1; echo "uml exit \$?"; } | cat
echo o >/proc/sysrq-trigger
sleep 60
EOF
}

uml_run() { # script argument...
	_uml=$(mktemp -d "${TMPDIR:-/tmp}/boxd-uml.XXXXXX") || return 1
	_uml_init "$@" >"$_uml/init"
	chmod 755 "$_uml" "$_uml/init"
	timeout -k 5 "$UML_SEC" linux.uml mem="$UML_MEM" rootfstype=hostfs rootflags=/ ro init="$_uml/init" \
		con=null con0=null,fd:2 con1=null,fd:1 uml_dir="$_uml" umid=kernel $UML_ARGS \
		</dev/null 2>"${UML_LOG:-/dev/null}" |
		sed -un "/^uml /{
			s/^uml up\$/$UML_DIED/
			s/^uml exit //
			w $_uml/status
			d
		}
		p"
	_uml_status=$(tail -n 1 "$_uml/status")
	rm -rf "$_uml"
	return "${_uml_status:-$UML_NO_BOOT}"
}

uml_test() { # script
	if _why=$(uml_why_not); then
		echo "1..0 # SKIP $_why"
		exit 0
	fi
	uml_run "$1" inside
	_status=$?
	[ $_status -ne "$UML_NO_BOOT" ] || { echo "1..0 # SKIP linux.uml does not boot here"; exit 0; }
	exit $_status
}
