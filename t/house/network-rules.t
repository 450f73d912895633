#!/bin/sh
# The operator's rules say what a sandbox reaches, the first that matches decides, and a client can only narrow them.
. t/lib/sh/boxd.sh
. t/lib/sh/internet.sh
internet_start
boxd_config "network.rules = $D/rules" 'listen = 185.199.108.10:5410' 'plaintext_beyond_loopback = yes' "langbot_dir = $D"
cat >"$D/rules" <<'EOF'
# three names, and nothing else
allow good.example  port 443	# https
allow good.example  port 80-81
allow *.pkg.example
allow SIX.example.
deny  all

[lan]
allow 10.20.30.0/24 port 80
allow fd12:3456::/32
deny good.example

[nat64]
allow 64:ff9b::/96

[host]
allow 185.199.108.10

[everything]
allow 0.0.0.0/0
allow ::/0

[one]
allow 151.101.0.223 port 8443
EOF
boxd_start
refused='reset by peer|Couldn.t connect|Recv failure|SSL_ERROR_SYSCALL|Empty reply|refused|unexpected eof'
unresolved='Could not resolve host'

# ---- three names and nothing else ----
session s
like "$(fetch s https://good.example/)" 'host=good.example sni=good.example' "the first name, by https"
like "$(fetch s http://good.example/)" 'host=good.example' "and http"
like "$(fetch s https://a.b.pkg.example/ -k)" 'host=a.b.pkg.example' "a name below the second"
like "$(fetch s https://x.pkg.example/)" 'host=x.pkg.example' "and another"
like "$(fetch s https://six.example/)" 'host=six.example' "the third, however it is written"
like "$(fetch s http://good.example:8080/)" "$refused" "not another port of the first"
for name in evil.example other.example pkg.example xpkg.example www.good.example good.example.evil.example nothing.example; do
	like "$(fetch s "http://$name/")" "$unresolved" "not $name"
	is "$(asked "$name")" 0 "which nobody was asked about"
done
session fresh # that was told no address yet
for url in http://93.184.216.34/ http://151.101.0.223/ 'http://[2606:2800:220:1::34]/' http://8.8.8.8:53/ http://185.199.108.10:8080/; do
	like "$(fetch fresh "$url")" "$refused" "not $url"
done
is "$(net fresh total) $(net fresh denied)" "0 5" "all of them counted"
box net fresh -o json >"$D/json"
like "$(cat "$D/json")" '"rule": "deny all"' "with the rule that refused them"
like "$(cat "$D/json")" '"address": "8.8.8.8"' "the address"
like "$(box net fresh)" 'tcp +8.8.8.8 +53 .*deny all' "for people too"
grep -Eq 'session=[0-9]+ network denied tcp name=- address=8.8.8.8 port=53 rule="deny all"' "$D/log"
ok "and logged"
like "$(fetch s http://evil.example/ --resolve evil.example:80:93.184.216.34)" "$refused|served" "an address that was told for another name"
if [ -x /usr/lib/git-core/git-remote-http ] && command -v git >/dev/null; then
	(cd "$D" && git init -q repo && cd repo && echo kept >file && git add file &&
		git -c user.name=a -c user.email=a@b commit -qm m && cd .. && git clone -q --bare repo net/www/repo.git &&
		git -C net/www/repo.git update-server-info) >/dev/null 2>&1
	is "$(box exec s -t 50 -c 'git clone -q http://good.example/repo.git r 2>&1 && cat r/file')" kept "git clones from the first name"
	is "$(box exec s -t 50 -c 'git -c http.sslCAInfo=/workspace/ca.pem clone -q https://good.example/repo.git r2 2>&1 && cat r2/file')" kept "by https too"
	like "$(box exec s -t 50 -c 'git clone -q http://evil.example/repo.git r3 2>&1' 2>/dev/null)" "$unresolved" "not from another"
else
	skip 3 "git is not installed"
fi

# ---- sections ----
session lan --network-set lan
like "$(inside lan tcp 10.20.30.40/80)" 'OK served 10.20.30.40 80' "a section opens a private network by address"
like "$(inside lan tcp fd12:3456::7/8080)" 'OK served fd12:3456::7 8080' "of IPv6 too"
is "$(inside lan tcp 10.20.30.40/8080 10.20.31.40/80 192.168.77.7/80 fd12:3457::7/80)" "10.20.30.40/8080: ECONNRESET
10.20.31.40/80: ECONNREFUSED
192.168.77.7/80: ECONNREFUSED
fd12:3457::7/80: ECONNREFUSED" "and nothing beside it"
like "$(fetch lan http://good.example/)" "$unresolved" "its rules come before those for all"
like "$(fetch lan http://x.pkg.example/)" 'host=x.pkg.example' "which come behind"
is "$(inside s tcp 10.20.30.40/80)" "10.20.30.40/80: ECONNREFUSED" "other sessions have nothing of it"
session nat64 --network-set nat64
like "$(inside nat64 tcp 64:ff9b::5db8:d822/80)" 'OK served 64:ff9b::' "translated addresses can be opened"
is "$(inside nat64 tcp 64:ff9b::a14:1e28/80 64:ff9b::7f00:1/8080 64:ff9b::b9c7:6c0a/8080)" "64:ff9b::a14:1e28/80: ECONNRESET
64:ff9b::7f00:1/8080: ECONNRESET
64:ff9b::b9c7:6c0a/8080: ECONNRESET" "but not those that stand for a private one, loopback or this host"
like "$(inside lan name lan.example)" 'NONAME|NODATA' "names there are still names"
session one --network-set one
like "$(inside one tcp 151.101.0.223/8443)" 'OK served' "a section with one address"
is "$(inside one tcp 151.101.0.223/443)" "151.101.0.223/443: ECONNRESET" "and one port"
session host --network-set host
like "$(inside host tcp 185.199.108.10/8080)" 'OK served 185.199.108.10 8080' "the host's own address can be opened"
is "$(inside host tcp 185.199.108.10/5410)" "185.199.108.10/5410: ECONNRESET" "but not boxd's own port there"
like "$(on_host curl -sS http://185.199.108.10:5410/healthz)" . "though it is open"
is "$(inside host tcp 127.0.0.1/8080 ::1/8080)" "127.0.0.1/8080: ECONNREFUSED
::1/8080: ECONNREFUSED" "and never its loopback"
session everything --network-set everything
is "$(inside everything tcp 10.20.30.40/80 169.254.169.254/80 fd00:ec2::254/80 | grep -c 'OK served')" 3 "who opens everything has everything"
is "$(inside everything tcp 0.1.2.3/80 240.1.2.3/80 ::10.20.30.40/80 100::1/80 | sed 's/ECONNRESET/ECONNREFUSED/')" "0.1.2.3/80: ECONNREFUSED
240.1.2.3/80: ECONNREFUSED
::10.20.30.40/80: ECONNREFUSED
100::1/80: ECONNREFUSED" "but what nobody can mean"
like "$(box create --name nosuch --network on --network-set nosuch 2>&1)" "nosuch" "a section that is not there"

# ---- a client narrows ----
session narrow --network-rule 'allow good.example port 443' --network-rule 'allow other.example' --network-rule 'deny all'
like "$(fetch narrow https://good.example/)" 'host=good.example' "what both allow"
like "$(fetch narrow http://good.example/)" "$refused" "not what the client has not"
like "$(fetch narrow https://x.pkg.example/)" "$unresolved" "nor this"
like "$(fetch narrow https://other.example/)" "$unresolved" "and not what the operator has not"
session wide --network-rule 'allow all' --network-rule 'allow 10.20.30.40' --network-rule 'allow 127.0.0.1'
is "$(inside wide tcp 10.20.30.40/80 192.168.77.7/80 127.0.0.1/8080 8.8.8.8/80)" "10.20.30.40/80: ECONNREFUSED
192.168.77.7/80: ECONNREFUSED
127.0.0.1/8080: ECONNREFUSED
8.8.8.8/80: ECONNRESET" "a client's allow opens nothing"
session lessfor --network-set lan --network-rule 'deny 10.20.30.40'
is "$(inside lessfor tcp 10.20.30.40/80)" "10.20.30.40/80: ECONNRESET" "its deny closes what a section has opened"
like "$(inside lessfor tcp 10.20.30.41/80)" 'OK served' "and no more"
mkdir "$D/there" && chmod 777 "$D/there"
box create --name there --network on --network-rule 'allow good.example' --host-path "$D/there" --network-rule 'deny all' >/dev/null
ok "rules before and behind another option"
box inspect there -o json >"$D/json"
is "$(grep -cE '"(allow good.example|deny all)"' "$D/json")" 2 "are all there"
is "$(box run --network on --network-rule 'deny all' -- sh -c 'curl -sS http://good.example/ 2>&1 | grep -c resolve' 2>/dev/null)" 1 "for one command too"
like "$(box create --name narrow --network on --memory 256 --network-rule 'deny all' 2>&1)" 'already exists with network_rules' "another client's rules are another spec"

# ---- what is in force ----
like "$(box net --rules)" '^allow good.example port 443$' "boxctl shows the rules"
like "$(box net --rules)" '^deny 169.254.0.0/16  # link-local and metadata' "and what is built in"
box net --rules -o json >"$D/json"
is "$(field file <"$D/json")" "$D/rules" "as JSON, with their file"
is "$(grep -c '"name": "lan"' "$D/json")" 1 "and sections"

# ---- what is wrong is told, with its place ----
wrong_spec() { # rule expected
	is "$(box create --name bad --network on --network-rule 'allow good.example' --network-rule "$1" 2>&1 | grep -c "network_rules\[1\].*$2")" 1 "refused, by its field: $1"
}
wrong_spec 'permit all' 'allow or deny'
wrong_spec 'deny' 'too few words'
wrong_spec 'allow all port 70000' 'port'
wrong_spec 'allow 10.0.0.0/33' 'prefix'
wrong_spec "$(printf 'allow %0600d.example' 1)" 'characters'
like "$(box create --name bad --network-rule 'deny all' 2>&1)" 'network_rules.*only with network on' "rules without a network"
like "$(box create --name bad --network-set lan 2>&1)" 'network_set.*only with network on' "a section without a network"
unlike "$(box ps --names)" '^bad$' "nothing was made"
boxd_stop
cp "$D/rules" "$D/rules.good"
wrong_file() { # line expected
	{ cat "$D/rules.good" && printf '%s\n' "$1" 'allow all'; } >"$D/rules"
	said=$($BOXD_WRAP timeout -k 5 50 "$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" 2>&1 </dev/null)
	is $? 2 "boxd does not start with: $(printf '%.40s' "$1")"
	is "$(printf '%s\n' "$said" | grep -c "$D/rules:$(($(wc -l <"$D/rules.good") + 1)):.*$2")" 1 "and says which line, and why" || diag "$said"
}
wrong_file 'permit all' 'allow or deny'
wrong_file 'Allow all' 'allow or deny'
wrong_file 'allow' 'too few'
wrong_file 'allow all port' 'not enough'
wrong_file 'allow all port 1 2' 'too many'
wrong_file 'allow all ports 1' 'port'
wrong_file 'allow all port 65536' '65536'
wrong_file 'allow all port 90-80' '90-80'
wrong_file 'allow all port -1' '-1'
wrong_file 'allow all port 1-' "1-"
wrong_file 'allow 10.0.0.0/33' '33'
wrong_file 'allow 10.0.0.1/8' 'not a network'
wrong_file 'allow 10.0.0/8' '10.0.0'
wrong_file 'allow fe80::/129' '129'
wrong_file 'allow 0177.0.0.1' 'not a name'
wrong_file 'allow 2130706433' 'not a name'
wrong_file 'allow *' 'not a name'
wrong_file 'allow *.*.example' 'not a name'
wrong_file 'allow a.*.example' 'not a name'
wrong_file 'allow bücher.example' 'ASCII'
wrong_file 'allow good..example' 'not a name'
wrong_file 'allow http://good.example/' 'the address .http:. is not valid'
wrong_file 'allow good.example:443' 'not a name'
wrong_file '[lan' 'profile'
wrong_file '[]' 'profile'
wrong_file '[lan]' 'twice'
wrong_file "$(printf 'allow %0600d.example' 1)" 'characters'
rm "$D/rules"
said=$($BOXD_WRAP timeout -k 5 50 "$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" 2>&1 </dev/null)
is $? 2 "nor without the file it is told to read"
like "$said" "$D/rules.*No such file" "which it names"

# ---- as large as rules may be ----
{ for i in $(seq 1 60); do echo "[p$i]" && echo "allow 10.$i.0.0/16"; done && echo '[many]' && seq -f 'deny n%g.example' 1 3900; } >"$D/rules"
boxd_start
session p7 --network-set p7
like "$(inside p7 tcp 10.7.1.1/80)" 'OK served' "sixty sections and thousands of rules"
session many --network-set many
like "$(fetch many http://n3900.example/)" "$unresolved" "to the last"
like "$(fetch many http://good.example/)" 'host=good.example' "and past it"
done_testing
