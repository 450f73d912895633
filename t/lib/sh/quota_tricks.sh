# Ways to have more bytes in $D/w than the 8 MiB and 3000 entries that session s may have there, and what only looks like one.
empty() { # host's root sees through any mode
	find "$D/w" -mindepth 1 -maxdepth 1 -exec rm -rf {} +
}

# A trick runs until it is killed; one that is not seen ends by its timeout.
trick() { # name command
	box exec s -t 300 -o json -c "$2
		sleep 98765" >"$D/out" 2>"$D/err"
	is "$(field cause <"$D/out")" disk "$1" || diag "$(head -n 5 "$D/err")"
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

trick "a file behind 120000 descriptors" "exec python3 -c '
import os, time
n = open(\"/dev/null\")
for p in range(30):
    if os.fork() == 0:
        try:
            while True: os.dup(n.fileno())
        except OSError: time.sleep(98765)
time.sleep(1)
if os.fork(): time.sleep(98765)
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.unlink(\"f\")
os.write(f, b\"x\" * 20000000)
time.sleep(98765)'"
trick "a file whose only descriptor waits in a socket" "exec python3 -c '
import os, socket, time
a, b = socket.socketpair()
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.unlink(\"f\")
socket.send_fds(a, [b\"x\"], [f])
os.posix_fallocate(f, 0, 20000000)
os.close(f)
time.sleep(98765)'"
trick "a file whose descriptor goes from socket to socket" "exec python3 -c '
import os, socket
a, b = socket.socketpair()
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.unlink(\"f\")
os.posix_fallocate(f, 0, 20000000)
while True:
    socket.send_fds(a, [b\"x\"], [f])
    os.close(f)
    f = socket.recv_fds(b, 1, 1)[1][0]'"
trick "a socket in a socket" "exec python3 -c '
import os, socket, time
a, b = socket.socketpair()
c, d = socket.socketpair()
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.unlink(\"f\")
os.posix_fallocate(f, 0, 20000000)
socket.send_fds(a, [b\"x\"], [f])
socket.send_fds(c, [b\"x\"], [a.fileno(), b.fileno()])
os.close(f); a.close(); b.close()
time.sleep(98765)'"
trick "a mapping of a process whose first thread has ended" "exec python3 -c '
import ctypes, mmap, os, threading, time
libc = ctypes.CDLL(None)
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
os.ftruncate(f, 20000000)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
p = libc.mmap(None, 20000000, 3, 1, f, 0)
os.unlink(\"f\")
os.close(f)
def later():
    time.sleep(0.5)
    ctypes.memset(p, 1, 20000000)
    time.sleep(98765)
threading.Thread(target=later).start()
libc.syscall(60, 0)'"
trick "large directories that were removed while somebody was in them" "exec python3 -c '
import os, time
open(\"f\", \"w\").close()
for d in range(12):
    os.mkdir(\"d\")
    os.open(\"d\", os.O_RDONLY)
    for n in range(2900): os.link(\"f\", \"d/\" + \"x\" * 240 + str(n))
    for n in range(2900): os.unlink(\"d/\" + \"x\" * 240 + str(n))
    os.rmdir(\"d\")
time.sleep(98765)'"

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
fine "descriptors that go through a socket" "python3 -c '
import os, socket
a, b = socket.socketpair()
f = os.open(\"f\", os.O_RDWR | os.O_CREAT)
for i in range(20000):
    socket.send_fds(a, [b\"x\"], [f])
    os.close(socket.recv_fds(b, 1, 1)[1][0])'"
fine "large files that are made and removed" 'for i in $(seq 200); do head -c 5000000 /dev/zero >f; exec 9<f; rm f; exec 9<&-; done'
