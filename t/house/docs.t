#!/bin/sh
# Two lists that must agree: what the programs and the tables have, and what the documents tell.
. t/lib/sh/boxd.sh

# Every word of standard input is told by the document, as a whole word.
told() { # document name
	: >"$D/untold"
	_n=0
	while read -r _word; do
		_n=$((_n + 1))
		grep -Eq -- "(^|[^A-Za-z0-9_-])$_word([^A-Za-z0-9_-]|\$)" "$1" || echo "$_word" >>"$D/untold"
	done
	[ "$_n" -gt 0 ] || echo "(the list is empty)" >>"$D/untold"
	is "$(tr '\n' ' ' <"$D/untold")" "" "$2"
}

# a check that cannot fail is none
echo max_sessions_of_nobody >"$D/words"
if (told etc/man/boxd.conf.5 x) <"$D/words" >/dev/null 2>&1; then
	fail "an option that is not told is seen"
else
	pass "an option that is not told is seen"
fi

"$BUILD/boxd" --print-config | sed -n 's/^#\([a-z_.]*\) =.*/\1/p' |
	sed 's/^/It Cm /' >"$D/words"
told etc/man/boxd.conf.5 "boxd.conf(5) tells every option" <"$D/words"
# its default too: the number behind "Default" of the same entry
"$BUILD/boxd" --print-config | sed -n 's/^#\([a-z_]*\) = \([0-9][0-9]*\)$/\1 \2/p' >"$D/defaults"
awk '/^\.It Cm / { name = $3 } /^Default [0-9]/ { d = $2; sub(/[,.]$/, "", d); print name, d }' etc/man/boxd.conf.5 >"$D/told"
is "$(sort "$D/told")" "$(sort "$D/defaults")" "with its default"
sed -n 's/^\.Dl \([a-z_.]* = .*\)/\1/p' etc/man/boxd.conf.5 >"$D/examples"
is "$(wc -l <"$D/examples")" "$(grep -c '^CONF' supervisor/config/config.def)" "and an example"
# files that are there
(umask 077; printf -- '-----BEGIN CERTIFICATE-----\n-----BEGIN PRIVATE KEY-----\n' >"$D/pem"; echo 0123456789abcdef0123456789abcdef >"$D/token")
sed -i "s|^seccomp_policy = .*|seccomp_policy = $PWD/etc/seccomp.policy|; s|^\(tls_[a-z]*\) = .*|\1 = $D/pem|
	s|^token_file = .*|token_file = $D/token|; s|^network.rules = .*|network.rules = $PWD/etc/network.rules|" "$D/examples"
"$BUILD/boxd" --check-config -c "$D/examples" >/dev/null
ok "that is valid"

sed -n 's/^\(REQUEST\|NOTICE\)([A-Z_]*, \([a-z_]*\), [^,]*FROM_CLIENT.*/### \2/p' proto/messages/*.def >"$D/words"
told proto/PROTOCOL.md "PROTOCOL.md has a section for every message a client may send" <"$D/words"
sed -n 's/^\(REQUEST\|NOTICE\)([A-Z_]*, \([a-z_]*\),.*/\2/p' proto/messages/*.def >"$D/words"
told proto/PROTOCOL.md "and names every other" <"$D/words"
sed -n 's/^\t*ACTION\(_HERE\)*("\([a-z_]*\)".*/`\2`/p' proto/messages/*.def >"$D/words"
told proto/PROTOCOL.md "and every action of LangBot's" <"$D/words"
sed -n 's/^ERROR([A-Z]*, *"\([a-z_]*\)".*/`\1`/p' proto/base/errors.def >"$D/words"
told proto/PROTOCOL.md "and every error" <"$D/words"

sed -n 's/^WALL([A-Z_]*, "\([a-z.]*\)".*/\1/p' proto/host/walls.def >"$D/words"
for document in etc/man/boxd.conf.5 etc/boxctl.bash-completion proto/PROTOCOL.md; do
	told $document "$document tells every wall" <"$D/words"
done

"$BUILD/boxctl" --help | sed -n '/^commands:/,/^$/s/^  \([a-z-]*\) .*/\1/p' | sed 's/^/It Cm /' >"$D/words"
told etc/man/boxctl.1 "boxctl(1) tells every command" <"$D/words"
"$BUILD/boxd" --help | grep -oE '^ +(-[a-z], )?--[a-z-]+' | sed 's/.*--/-/' >"$D/words"
told etc/man/boxd.8 "boxd(8) tells every option" <"$D/words"

for page in etc/man/*.[1578]; do
	if command -v mandoc >/dev/null; then
		lint=$(mandoc -T lint -W error "$page" 2>&1)
		is "$?$lint" 0 "$page is well formed"
	else
		skip 1 "mandoc is not installed: $page is not checked"
	fi
done
make -n install DESTDIR=/nowhere PREFIX=/usr >"$D/install" 2>&1
for page in etc/man/*.[1578]; do
	grep -q "install .*$page " "$D/install"
	ok "make install names $page"
done

# CONTRIBUTING's file names are true
for path in $(grep -o '`[a-zA-Z_./]*/[a-zA-Z_./]*`' CONTRIBUTING.md | tr -d '`' | sort -u); do
	ok "CONTRIBUTING: $path is there" test -e "$path"
done
done_testing
