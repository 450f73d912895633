#!/bin/sh
# pip and npm install from the registries this machine is configured with, inside a sandbox with a network.
. t/lib/sh/boxd.sh
[ "$(id -u)" = 0 ] || plan skip_all "network on needs root"
PYTHON=/usr/bin/python3
BOX_SEC=400
PIP_PACKAGE=six NPM_PACKAGE=is-number # small, and without others behind them

# What a registry's address is must be known to the rules if it is a private one: a mirror in a local network.
# addresses URL...: rules that open these hosts, where netrange.def has them
rules_for() {
	"$PYTHON" - proto/base/netrange.def "$@" <<'EOF'
import ipaddress, re, socket, sys, urllib.parse
nets = [ipaddress.ip_network("%s/%s" % m) for m in re.findall(r'^RANGE\("([^"]+)", (\d+)', open(sys.argv[1]).read(), re.M)]
rules = set()
for url in sys.argv[2:]:
    u = urllib.parse.urlsplit(url)
    port = u.port or {"https": 443, "http": 80}[u.scheme]
    for a in {i[4][0] for i in socket.getaddrinfo(u.hostname, port, type=socket.SOCK_STREAM)}:
        if any(ipaddress.ip_address(a) in n for n in nets if n.version == ipaddress.ip_address(a).version):
            rules.add(f"allow {a} port {port}")
print("\n".join(sorted(rules)))
EOF
}

# ---- what is reachable from here at all, with the tools' own configuration ----
pip_index=$(pip config get global.index-url 2>/dev/null || pip config get install.index-url 2>/dev/null || echo https://pypi.org/simple)
pip_why= npm_why=
if ! "$PYTHON" -c 'import ensurepip' 2>/dev/null; then
	pip_why="python3-venv is not installed"
elif ! timeout -k 5 120 "$PYTHON" -m pip download -v --no-cache-dir --no-deps --no-binary :none: -d "$D/wheels" "$PIP_PACKAGE" >"$D/pip.log" 2>&1; then
	pip_why="the index of pip cannot be reached from here: $(grep -m 1 -iE 'error' "$D/pip.log" | cut -c1-120)"
fi
if ! command -v npm >/dev/null; then
	npm_why="npm is not installed"
else
	npm_registry=$(npm config get registry 2>/dev/null)
	timeout -k 5 120 npm view "$NPM_PACKAGE" dist.tarball >"$D/npm.log" 2>"$D/npm.err" ||
		npm_why="the registry of npm cannot be reached from here: $(grep -m 1 -i err "$D/npm.err" | cut -c1-120)"
fi
[ -z "$pip_why" ] || [ -z "$npm_why" ] || plan skip_all "$pip_why; $npm_why"

# hosts they speak with, of which files come from others than names do
urls="$pip_index $npm_registry $(grep -hoE 'https?://[^/" ]+/[^" ]*\.(whl|tar\.gz|tgz)' "$D/pip.log" "$D/npm.log" 2>/dev/null)"
case $pip_index in https://pypi.org/*) urls="$urls https://files.pythonhosted.org/" ;; esac # though the host has the file already
rules_for $urls >"$D/rules" 2>"$D/rules.err" || diag "$(cat "$D/rules.err")"
boxd_config "network.rules = $D/rules" 'tmp_mb = 256'
boxd_start
box create --name s --network on --memory 1G --pids 256 --workspace-size 512M >/dev/null
ok "a session with a network"
# an authority of this machine's own is in the view, or is handed in
cp /etc/ssl/certs/ca-certificates.crt "$D/ca.pem" 2>/dev/null && box cp "$D/ca.pem" s:ca.pem >/dev/null
settings="export PIP_INDEX_URL='$pip_index' PIP_CERT=/workspace/ca.pem NODE_EXTRA_CA_CERTS=/workspace/ca.pem npm_config_update_notifier=false npm_config_registry='$npm_registry'"

if [ -n "$pip_why" ]; then
	skip 2 "$pip_why"
else
	like "$(in_box -c "$settings; python3 -m venv v && v/bin/pip install --no-cache-dir --disable-pip-version-check $PIP_PACKAGE")" \
		"Successfully installed $PIP_PACKAGE" "pip installs"
	is "$(in_box -- v/bin/python -c "import $PIP_PACKAGE; print($PIP_PACKAGE.__name__)")" "$PIP_PACKAGE" "and what it installed is there"
fi
if [ -n "$npm_why" ] || [ "$(in_box -c 'command -v npm >/dev/null && echo yes')" != yes ]; then
	skip 2 "${npm_why:-npm is not where a sandbox sees it}"
else
	like "$(in_box -c "$settings; mkdir -p n && cd n && npm install --no-audit --no-fund $NPM_PACKAGE")" 'added 1 package' "npm installs"
	is "$(in_box -c "cd n && node -e 'console.log(typeof require(\"$NPM_PACKAGE\"))'")" function "and what it installed is there"
fi
total=$(box net s -o json | field total)
[ "${total:-0}" -gt 0 ]
ok "it went through box-egress"
is "$(box net s -o json | field denied)" 0 "and nothing was refused"

# by the names they ask for and nothing else: what the operator opens by address is narrowed to these
names=$(printf '%s\n' $urls | sed -nE 's|^https?://([^/:]+).*|\1|p' | sort -u)
set --
for name in $names; do set -- "$@" --network-rule "allow $name port 443"; done
box create --name few --network on --memory 1G --pids 256 --workspace-size 512M "$@" --network-rule 'deny all' >/dev/null
box cp "$D/ca.pem" few:ca.pem >/dev/null
if [ -z "$pip_why" ]; then
	like "$(in_session few -c "$settings; python3 -m venv v && v/bin/pip install --no-cache-dir --disable-pip-version-check $PIP_PACKAGE")" \
		"Successfully installed $PIP_PACKAGE" "pip installs with a list of names, and all else denied"
else
	skip 1 "$pip_why"
fi
if [ -z "$npm_why" ] && [ "$(in_session few -c 'command -v npm >/dev/null && echo yes')" = yes ]; then
	like "$(in_session few -c "$settings; npm install --no-audit --no-fund $NPM_PACKAGE")" 'added 1 package' "so does npm"
else
	skip 1 "${npm_why:-npm is not where a sandbox sees it}"
fi
first=$(printf '%s\n' $names | head -n 1)
is "$(box net few -o json | field denied)" 0 "and nothing was refused"
isnt "$(in_session few -c "curl -sS --cacert ca.pem -m 60 -o /dev/null -w ok https://other.invalid/ 2>/dev/null")" ok "another name is not resolved"
isnt "$(in_session few -c "curl -sS --cacert ca.pem -m 60 -o /dev/null -w ok --connect-to other.invalid:443:$first:443 https://other.invalid/ 2>/dev/null")" ok \
	"nor said to an allowed server"
box net few -o json >"$D/json"
like "$(cat "$D/json")" 'other.invalid' "and both are told"

# without a network the same fails, at once and clearly
box create --name off --memory 512 >/dev/null
if [ -z "$pip_why" ]; then
	box exec s -- tar -cf - v | box exec off -i -- tar -xf - 2>/dev/null
	unlike "$(in_session off -c "$settings; PIP_RETRIES=0 v/bin/pip install --disable-pip-version-check --no-cache-dir idna 2>&1")" 'Successfully installed' "without a network it does not"
else
	skip 1 "$pip_why"
fi
done_testing
