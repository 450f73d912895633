# Runs a unit test that is built for another machine: emulated.sh TRIPLET SYSROOT TEST.  qemu-user translates system calls
# to this kernel's; the tests of those that it lacks are skipped.
name=$(basename "$3" .t)
qemu=qemu-${1%%-*}
command -v "$qemu" >/dev/null || qemu=$qemu-static
why=
case $name in
chan) why='qemu-user leaves descriptors open that it cuts off a packet' ;;
scan) why='qemu-user has no openat2' ;;
stdfds) why='qemu-user takes no seccomp filter' ;;
esac
command -v "$qemu" >/dev/null || why="$qemu is not installed"
if [ -n "$why" ]; then
	echo "1..0 # SKIP $name: $why"
	exit 0
fi
exec "$qemu" -L "$2" "$3"
