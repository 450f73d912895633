#!/bin/sh
# What runs inside is not believed: a box-files that says what it was not asked is killed, and its client told.
. t/lib/sh/boxd.sh
CC=${CC:-cc}
command -v "$CC" >/dev/null || plan skip_all "no C compiler to make a liar with"
mkdir "$D/bin"
cp "$BUILD"/boxd "$BUILD"/boxctl "$BUILD"/box-* "$D/bin/"
real=$BUILD
BUILD=$D/bin
cat >"$D/liar.c" <<'END'
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

/* A request is [0, id, ...]: 0x94 0x00 0xcf and eight bytes. */
int main(void)
{
	unsigned char in[65536], out[64] = { 0x94, 0x01 };
	int n = 2;

	prctl(PR_SET_NAME, "box-files");
	poll(&(struct pollfd){ .fd = 0, .events = POLLIN }, 1, -1);
	recv(0, in, sizeof(in), 0);
#ifdef GARBAGE
	memcpy(out, "garbage", n = 7);
#elif defined NOTICE
	memcpy(out, "\x93\x02\xaainit_ready\x80", n = 14);
#elif defined STRANGER
	out[n++] = 7;
	out[n++] = 0xc0;
	out[n++] = 0x80;
#elif defined WRONG
	memcpy(out + n, in + 2, 9);
	n += 9;
	out[n++] = 0xc0;
	out[n++] = 0x80;
#else
	return 3;
#endif
	send(0, out, n, 0);
	for (;;)
		pause();
}
END
lie() { # name macro why
	$CC -D"$2" -o "$D/bin/box-files" "$D/liar.c" || exit 1
	boxd_start
	boxctl create --name s >/dev/null
	boxctl files s 2>"$D/err"
	is $? 1 "$1: the request fails"
	like "$(cat "$D/err")" "$3" "$1: and says why"
	none() { ! boxctl exec s -c 'pgrep box-files' >/dev/null; }
	eventually none
	ok "$1: the liar is killed"
	is "$(boxctl exec s -- echo fine)" fine "$1: the session lives on"
	like "$(boxctl inspect s -o json)" '"worker_restarts": 0' "$1: its worker too"
	boxd_stop
}
lie "garbage" GARBAGE 'died: 6 bytes behind the message'
lie "a notice" NOTICE "died: there is no action 'init_ready'"
lie "an answer nobody asked for" STRANGER 'died: it said what it was not asked'
lie "an answer of the wrong kind" WRONG 'died: file_info.kind: missing'
lie "no answer at all" NOTHING 'died: it ended (with exit code 3|by itself)'
cp "$real/box-files" "$D/bin/box-files"
boxd_start
boxctl create --name s >/dev/null
boxctl files s >/dev/null
ok "the real one does it"
BUILD=$real
done_testing
