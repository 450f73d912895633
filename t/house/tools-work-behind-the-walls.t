#!/bin/sh
# The filter and landlock are not in the way of the tools that move, link, rename and write files as fast as they can.
. t/lib/sh/boxd.sh
BOX_SEC=120
boxd_start
boxctl create --name s --memory 512 --pids 200 >/dev/null
with() { # program, count
	command -v "$1" >/dev/null && in_box -- sh -c "command -v $1" >/dev/null && return 0
	skip "$2" "no $1 here"
	return 1
}

is "$(in_box -c 'mkdir -p m/a/b m/c && echo x >m/a/b/f && mv m/a m/c/ && mv m/c/a/b/f m/f && ln m/f m/c/g && mv -f m/f m/c/g2 && cp -a m n && rm -r m n && echo fine')" fine \
	"mv and ln between directories, cp -a, rm -r"
is "$(in_box -c 'mkdir t && (cd t && for i in 1 2 3; do mkdir -p d$i && echo $i >d$i/f && ln -s ../d$i d$i/l && ln d$i/f d$i/h; done; mkfifo p; chmod 1777 d1; chmod 400 d2/f) &&
	tar cf t.tar t && mkdir u && tar xpf t.tar -C u && diff -r --no-dereference -x p t u/t && stat -c %a u/t/d1 u/t/d2/f')" "1777
400" "tar with modes, links and pipes"
if with git 2; then
	is "$(in_box -e GIT_CONFIG_GLOBAL=/dev/null -c 'git init -q r && cd r && git config user.email a@b && git config user.name n && for i in $(seq 1 50); do echo $i >f$i; done &&
		git add . && git commit -qm one && git mv f1 g1 && git commit -qm two && git gc -q && git repack -adq && cd .. && git clone -q r r2 && git -C r2 log --oneline | wc -l' | tail -n 1)" 2 "git init, commit, gc, clone"
	is "$(in_box -c 'cd r && git worktree add -q ../w && git -C ../w status --short && git stash list && git fsck 2>&1 | grep -c error')" 0 "git worktree, fsck"
fi
if with gcc 1; then
	is "$(in_box -c 'printf "#include <stdio.h>\nint main(void) { puts(\"built\"); return 0; }\n" >x.c && gcc -pipe -O1 -o x x.c && ./x && gcc -save-temps -c x.c && ls x.s')" "built
x.s" "gcc"
fi
# as npm and pip do: write into a temporary name beside, sync, rename over; and a whole tree into place
is "$(in_box -- perl -e 'use File::Path; mkpath("node_modules/.staging/p-1/lib"); for (1 .. 200) { open(my $f, ">", "node_modules/.staging/p-1/lib/$_.js.tmp") or die; print $f "x"; close $f;
	rename("node_modules/.staging/p-1/lib/$_.js.tmp", "node_modules/.staging/p-1/lib/$_.js") or die "$!" } rename("node_modules/.staging/p-1", "node_modules/p") or die "$!";
	mkdir ".bin"; symlink("../node_modules/p/lib/1.js", ".bin/p") or die; my @n = glob("node_modules/p/lib/*.js"); print scalar @n')" 200 "a package is staged and renamed into place"
if with node 1; then
	is "$(in_box -- node -e 'const fs = require("fs"); fs.mkdirSync("q/a", { recursive: true }); fs.writeFileSync("q/a/f", "x"); fs.renameSync("q/a", "q/b"); fs.cpSync("q", "r3", { recursive: true });
		fs.chmodSync("r3/b/f", 0o755); fs.rmSync("q", { recursive: true }); const w = new WebAssembly.Module(new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0])); console.log(fs.readdirSync("r3").join(), typeof w)')" "b object" "node and its JIT"
fi
if with python3 2; then
	is "$(in_box -- python3 -c 'import tempfile, os, shutil, multiprocessing, threading, socket
d = tempfile.mkdtemp(); open(d + "/f", "w").write("x"); shutil.move(d, "/workspace/moved"); shutil.copytree("/workspace/moved", "/tmp/copied")
a, b = socket.socketpair(); t = threading.Thread(target=lambda: b.send(b"hi")); t.start(); t.join()
q = multiprocessing.get_context("fork").Queue(); p = multiprocessing.get_context("fork").Process(target=q.put, args=(1,)); p.start(); p.join(); print(a.recv(2).decode(), q.get(), len(os.listdir("/tmp/copied")))')" "hi 1 1" "python: temporary files, threads, processes, shared memory"
	like "$(in_box -c 'python3 -m venv --without-pip v && v/bin/python -c "import sys; print(sys.prefix)"')" 'workspace/v$|ensurepip|venv' "python: a venv"
fi
is "$(in_box -c 'mkdir -p lock && (flock 9; echo locked) 9>lock/f')" locked "flock"
is "$(in_box -- perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(Listen => 1, LocalAddr => "127.0.0.1") or die "$!"; my $c = IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $s->sockport) or die "$!"; print $c "x\n"; my $a = $s->accept; $c->flush; print scalar <$a>')" x \
	"TCP over the sandbox's own loopback"

# what the filter's list of allowed calls must not have forgotten
if with python3 3; then
	is "$(in_box -- python3 -c 'import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("echo", "child", stdout=asyncio.subprocess.PIPE)
    s = await asyncio.start_server(lambda r, w: (w.write(b"server"), w.close()), "127.0.0.1", 0)
    r, w = await asyncio.open_connection(*s.sockets[0].getsockname())
    print((await p.communicate())[0].decode().strip(), (await r.read()).decode())
asyncio.run(main())')" "child server" "python: asyncio with a process and a server"
	is "$(in_box -- python3 -c 'import multiprocessing as m
from multiprocessing import shared_memory
with m.get_context("fork").Pool(4) as p: n = sum(p.map(abs, range(-9, 0)))
s = shared_memory.SharedMemory(create=True, size=4096); s.buf[0] = 1; s.close(); s.unlink(); print(n)')" 45 "python: a pool and shared memory"
	is "$(in_box -- python3 -c 'import fcntl, mmap, os, select, signal, socket, tempfile
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGALRM]); signal.setitimer(signal.ITIMER_REAL, 0.01); signal.sigwait([signal.SIGALRM])
select.epoll().close(); mmap.mmap(-1, 1 << 20).madvise(mmap.MADV_DONTNEED); fcntl.lockf(tempfile.TemporaryFile(), fcntl.LOCK_EX)
os.sched_getaffinity(0); f = tempfile.TemporaryFile(); os.posix_fallocate(f.fileno(), 0, 9); socket.if_nameindex(); socket.getaddrinfo("localhost", 80); print("fine")')" fine \
		"python: signals, epoll, memory, locks, names"
fi
if with node 1; then
	is "$(in_box -- node -e 'const fs = require("fs"), net = require("net"); fs.watch("/tmp", () => {}).close(); console.log(require("child_process").execSync("echo child").toString().trim());
		const s = net.createServer(c => c.end("server")).listen(0, "127.0.0.1", () => net.connect(s.address().port, "127.0.0.1").on("data", d => { console.log(String(d)); s.close() }))')" "child
server" "node: a process, a watch and a server"
fi
if with gcc 1; then
	is "$(in_box -c 'printf "#include <pthread.h>\n#include <stdio.h>\nstatic void *f(void *a) { return a; }\nint main(void) { pthread_t t; for (int i = 0; i < 8; i++) { pthread_create(&t, 0, f, 0); pthread_join(t, 0); } puts(\"threads\"); return 0; }\n" >p.c && gcc -g -pthread -o p p.c && ./p')" threads "threads"
	if with gdb 1; then
		like "$(in_box -c 'gdb -nx -q -batch -ex "break main" -ex run -ex "print 40 + (int)abs(-2)" -ex continue ./p')" '= 42' "gdb stops a program and calls a function in it"
	fi
	if with strace 1; then
		like "$(in_box -c 'strace -f ./p 2>&1 >/dev/null')" 'exited with 0' "strace"
	fi
fi
if with sqlite3 1; then
	is "$(in_box -c 'sqlite3 x.db "pragma journal_mode = wal; create table a (b); insert into a values (42); select b from a; vacuum"' | tail -n 1)" 42 "sqlite3 with a write-ahead log"
fi
done_testing
