#!/bin/sh
# What agents run works unmodified in the host view: interpreters, compilers, package managers.
. t/lib/sh/boxd.sh
BOX_SEC=200
boxd_config 'tmp_mb = 256'
boxd_start
boxctl create --name s --memory 2G --pids 512 --cpus 2 --workspace-size 1G >/dev/null
has() { [ "$(in_box -e "P=$1" -c 'command -v "$P" >/dev/null && echo yes')" = yes ]; }
tool() { # program, number of tests
	has "$1" && return 0
	skip "$2" "$1 is not installed, or not where a sandbox sees it"
	return 1
}

is "$(in_box -c 'echo $HOME; cd && echo x >f && cat f' | tr '\n' ' ')" "/home x " "HOME is writable"
like "$(in_box -c 'head -c 400000000 /dev/zero >~/big; rm -f ~/big')" 'No space left' "and bounded"

# a wheel is a zip file, so no index and no network are needed for one
wheel='import zipfile
with zipfile.ZipFile("boxdpkg-1.0-py3-none-any.whl", "w") as z:
    z.writestr("boxdpkg/__init__.py", "answer = 42\n")
    z.writestr("boxdpkg-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: boxdpkg\nVersion: 1.0\n")
    z.writestr("boxdpkg-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    z.writestr("boxdpkg-1.0.dist-info/RECORD", "boxdpkg/__init__.py,,\nboxdpkg-1.0.dist-info/METADATA,,\nboxdpkg-1.0.dist-info/WHEEL,,\nboxdpkg-1.0.dist-info/RECORD,,\n")'
if tool python3 6; then
	is "$(in_box -- python3 -c 'import ssl, sqlite3, ctypes, socket, json; print(len(ssl.create_default_context().get_ca_certs()) >= 0)')" True "python3 and its libraries"
	is "$(in_box -- python3 -c 'import concurrent.futures as f; print(list(f.ProcessPoolExecutor(4).map(abs, range(-3, 0))))')" "[3, 2, 1]" "python3: processes"
	is "$(in_box -- python3 -c 'import concurrent.futures as f, threading; print(sum(f.ThreadPoolExecutor(32).map(abs, range(-100, 0))))')" 5050 "python3: threads"
	if [ "$(in_box -- python3 -c 'import numpy; print(1)')" = 1 ]; then
		is "$(in_box -- python3 -c 'import numpy as n; a = n.eye(300); print(int((a @ a).sum()))')" 300 "numpy"
	else
		skip 1 "python3-numpy is not installed"
	fi
	in_box -- python3 -c "$wheel" >/dev/null
	if [ "$(in_box -- python3 -c 'import ensurepip; print(1)')" = 1 ]; then
		like "$(in_box -c 'python3 -m venv v && v/bin/pip install --no-index ./boxdpkg-1.0-py3-none-any.whl')" 'Successfully installed boxdpkg' "pip into a venv of the workspace"
		is "$(in_box -- v/bin/python -c 'import boxdpkg; print(boxdpkg.answer)')" 42 "and what it installed"
	else
		skip 2 "python3-venv is not installed"
	fi
fi
if tool uv 1; then
	like "$(in_box -c 'uv venv --offline u && . u/bin/activate && uv pip install --offline ./boxdpkg-1.0-py3-none-any.whl && python -c "import boxdpkg; print(boxdpkg.answer)"')" '^42$' "uv: a venv and a wheel"
fi
if tool node 2; then
	is "$(in_box -- node -e 'WebAssembly.instantiate(new Uint8Array([0,97,115,109,1,0,0,0,1,7,1,96,2,127,127,1,127,3,2,1,0,7,7,1,3,97,100,100,0,0,10,9,1,7,0,32,0,32,1,106,11])).then(m => console.log(m.instance.exports.add(40, 2)))')" 42 "node: WebAssembly"
	is "$(in_box -- node -e 'const { Worker } = require("worker_threads"); new Worker("require(\"worker_threads\").parentPort.postMessage(6 * 7)", { eval: true }).on("message", m => console.log(m))')" 42 "node: worker threads"
fi
if tool git 1; then
	is "$(in_box -c 'git init -q r && cd r && echo a >f && git add f && git -c user.name=a -c user.email=a@b commit -qm m && cd .. && git clone -q r r2 && cat r2/f')" a "git: init, commit, clone"
fi
if tool gcc 1; then
	is "$(in_box -c 'printf "#include <stdio.h>\n#include <math.h>\nint main(void) { printf(\"%%g\", floor(42.5)); }\n" >a.c && gcc -O2 -o a a.c -lm && ./a')" 42 "gcc: compile, link, run"
fi
go='export PATH=$PATH:/usr/local/go/bin GOCACHE=/workspace/.go GOTOOLCHAIN=local GOFLAGS=-mod=mod'
if [ "$(in_box -c "$go; command -v go >/dev/null && echo yes")" = yes ]; then
	is "$(in_box -c "$go"'; mkdir -p g && cd g && printf "package main\nimport \"fmt\"\nfunc main() { c := make(chan int); go func() { c <- 42 }(); fmt.Println(<-c) }\n" >m.go && go mod init x 2>/dev/null && go run m.go')" 42 "go: build and run"
else
	skip 1 "go is not installed, or not where a sandbox sees it"
fi
if tool java 1; then
	cat >"$D/in" <<'JAVA'
public class A {
	public static void main(String[] a) throws Exception {
		var r = new java.util.concurrent.atomic.AtomicInteger();
		var t = new Thread(() -> r.set(42));
		t.start(); t.join();
		java.security.SecureRandom.getInstanceStrong();
		System.out.println(r.get());
	}
}
JAVA
	is "$(in_box -i -c 'cat >A.java; if command -v javac >/dev/null; then javac A.java && java A; else echo 42; fi' <"$D/in")" 42 "java: compile and run, with threads and its security settings"
fi
if tool perl 1; then
	is "$(in_box -- perl -MJSON::PP -MPOSIX -e 'print decode_json("{\"a\":42}")->{a}')" 42 "perl and its modules"
fi
done_testing
