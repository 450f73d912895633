#!/bin/sh
# A listen that lets in too many, or cannot be served, is refused before anything is started.
. t/lib/sh/boxd.sh
refuses() { # pattern name line...
	_p=$1 _n=$2
	shift 2
	printf '%s\n' 'listen = 127.0.0.1:0' "$@" >"$D/c"
	"$BUILD/boxd" -c "$D/c" --state-dir "$D/s2" --runtime-dir "$D/r2" >"$D/out" 2>"$D/err"
	is $? 2 "$_n: exit 2"
	like "$(cat "$D/err")" "$_p" "$_n: says why"
	"$BUILD/boxd" --check-config -c "$D/c" >/dev/null 2>&1
	is $? 2 "$_n: --check-config sees it too"
	[ ! -e "$D/s2" ]
	ok "$_n: nothing was started"
}
refuses "^boxd: $D/c:2: listen: 'here' is not an address" "no address" 'listen = here'
refuses '^boxd: listen = 0.0.0.0:5410: with auth = none whoever reaches this address could run commands' "no token beyond loopback" 'listen = 0.0.0.0:5410' 'auth = none'
refuses '^boxd: listen = \[::\]:5410: without TLS the token could be read on its way' "no TLS beyond loopback" 'listen = [::]:5410'
refuses 'tls_certificate and tls_key: set both' "a certificate without key" 'tls_certificate = /etc/hosts'
refuses 'tls_certificate: open /nowhere: No such file' "no such certificate" 'tls_certificate = /nowhere' 'tls_key = /nowhere'
refuses "tls_certificate: /etc/passwd has no line '-----BEGIN ...CERTIFICATE-----'" "no certificate in it" 'tls_certificate = /etc/passwd' 'tls_key = /etc/passwd'
printf -- '-----BEGIN CERTIFICATE-----\n' >"$D/pem"
refuses "tls_key: $D/pem has no line '-----BEGIN ...PRIVATE KEY-----'" "no key in it" "tls_certificate = $D/pem" "tls_key = $D/pem"
refuses 'tls_certificate: /dev/zero is not a regular file' "no file" 'tls_certificate = /dev/zero' 'tls_key = /dev/zero'
refuses "$D/c:2: trusted_instance: A valid trusted LangBot instance UUID is required" "a bad instance" 'trusted_instance = -'
refuses 'token_file: open /nowhere: No such file' "no token file" 'token_file = /nowhere'
echo 0123456789abcdefghijklmnopqrstuvwxyz >"$D/token"
chmod 644 "$D/token"
refuses "token_file: $D/token has mode 0644: everybody who can read it" "a token that others can read" "token_file = $D/token"
unlike "$(cat "$D/err")" 0123456789 "the token is not told"
echo short >"$D/token"
chmod 600 "$D/token"
refuses "token_file: $D/token must hold a non-whitespace secret of at least 32 characters" "a short token" "token_file = $D/token"
LANGBOT_BOX_CONTROL_TOKEN=short
export LANGBOT_BOX_CONTROL_TOKEN
refuses '^boxd: LANGBOT_BOX_CONTROL_TOKEN must be a non-whitespace secret of at least 32 characters$' "a short one in the environment"
LANGBOT_BOX_CONTROL_TOKEN='0123456789abcdef 0123456789abcdef'
refuses '^boxd: LANGBOT_BOX_CONTROL_TOKEN must be a non-whitespace secret' "a blank inside"
unset LANGBOT_BOX_CONTROL_TOKEN
LANGBOT_BOX_TRUSTED_INSTANCE_UUID='a b'
export LANGBOT_BOX_TRUSTED_INSTANCE_UUID
refuses 'A valid trusted LangBot instance UUID is required' "a bad instance in the environment"
unset LANGBOT_BOX_TRUSTED_INSTANCE_UUID

printf '%s\n' 'listen = 0.0.0.0:0' 'plaintext_beyond_loopback = yes' >"$D/c"
"$BUILD/boxd" --check-config -c "$D/c" >/dev/null
ok "plaintext beyond the loopback can be asked for by name"
done_testing
