#!/bin/sh
# Ways to have more bytes on the host than the quota says, where only a watcher keeps it; and what only looks like one.
. t/lib/boxd.sh
. t/lib/json.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 3000'
boxd_start
mkdir "$D/w"
boxctl create --name s --host-path "$D/w" --workspace-quota 8 >/dev/null
case $(disk s quota) in a\ watcher*) ;; *) plan skip_all "a kernel keeps a quota on ${TMPDIR:-/tmp}: $(disk s quota)" ;; esac
empty() { # host's root sees through any mode
	find "$D/w" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
}

# A trick runs until it is killed; one that is not seen ends by its timeout.
trick() { # name command
	is "$(box exec s -t 20 -o json -c "$2
		sleep 98765" 2>/dev/null | field cause)" disk "$1"
	empty
}
pl() { echo "exec perl -e '$1; sleep 98765'"; }

trick "a file" 'head -c 20000000 /dev/zero >f'
trick "many small files: each takes a block" 'i=0; while [ $i -lt 2500 ]; do echo x >f$i; i=$((i+1)); done'
trick "many directories" "$(pl 'mkdir "d$_" for 1 .. 2500')"
trick "more entries than may be" "$(pl 'symlink "x", "l$_" for 1 .. 3500')"
trick "space kept behind the end of a file" ': >f; fallocate -n -l 20M f'
trick "a directory that nobody may enter" 'mkdir d; head -c 20000000 /dev/zero >d/f; chmod 0 d/f d'
trick "a file that was removed and is still open" 'exec 9>f; rm f; head -c 20000000 /dev/zero >&9'
trick "a file that never had a name" "$(pl 'use Fcntl; sysopen(my $f, ".", 020200000 | O_RDWR, 0600) or die; print $f "x" x 20000000; $f->flush')"
trick "a file that is removed and only mapped" "exec python3 -c '
import mmap, os, time
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 20000000)
m = mmap.mmap(f, 20000000)
os.close(f)
os.unlink(\"f\")
# python keeps a duplicate of the descriptor
for n in os.listdir(\"/proc/self/fd\"):
    if int(n) > 2:
        try: os.close(int(n))
        except OSError: pass
for i in range(0, 20000000, 4096): m[i] = 1
m.flush()
time.sleep(98765)'"
trick "a process that hides what it has open" "$(pl 'open(my $f, "+>", "f") or die; unlink "f"; syscall(157, 4, 0, 0, 0, 0); print $f "x" x 20000000; $f->flush')"
trick "directories too deep to be followed" "$(pl 'for (1 .. 400) { mkdir "d"; chdir "d" or die } open(my $f, ">", "f"); print $f "x" x 20000000; $f->flush')"
trick "renaming it about" 'mkdir a b; head -c 20000000 /dev/zero >a/f; while :; do mv a/f b/f; mv b/f a/f; done'
trick "a file of a name with a newline, 250 bytes long" "$(pl 'open(my $f, ">", "\n" x 250) or die; unlink "\n" x 250; print $f "x" x 20000000; $f->flush')"

# What is not more than the quota must not be taken for it.
fine() { # name command
	box exec s -t 30 -o json -c "$2
		sleep 1" >"$D/out" 2>&1
	is "$(field cause <"$D/out") $(field exit_code <"$D/out")" "exit 0" "$1: is let be"
	empty
}
fine "a sparse file" 'truncate -s 1T f && head -c 1000000 /dev/zero | dd of=f conv=notrunc seek=1000 bs=1M 2>/dev/null'
fine "hard links" 'head -c 5000000 /dev/zero >f; for i in 1 2 3 4 5; do ln f l$i || exit 1; done'
fine "a link to a large directory" 'ln -s /usr u; ln -s / r; mkfifo p'
fine "renaming within the quota" 'mkdir a b; head -c 6000000 /dev/zero >a/f; for i in $(seq 300); do mv a b/a; mv b/a a; done'
fine "writing the same again" 'for i in $(seq 20); do head -c 6000000 /dev/zero >f; done'
fine "a file of another place that is open and removed" 'exec 9>/tmp/f; rm /tmp/f; head -c 20000000 /dev/zero >&9'

# The scanner has rights; nobody inside can reach it.
is "$(box exec s -c 'ps -e -o comm= | grep -c box-scan')" 0 "the process that measures is not seen inside"
is "$(box exec s -- echo alive)" alive "the session lives on"
done_testing
