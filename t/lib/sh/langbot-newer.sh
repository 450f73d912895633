#!/bin/sh
# Tells whether the package registry has a newer LangBot than the newest that the tests run with.
#
#	sh t/lib/sh/langbot-newer.sh       exit status 0: up to date; 1: there is a newer one; 2: the registry did not answer
. t/lib/sh/client.sh

pip=$_pip
[ -x "${pip%% *}" ] || pip="python3 -m pip"
set -- $(langbot_version_line "$(langbot_newest)")

latest() { # package
	timeout 60 $pip --disable-pip-version-check --retries 1 --timeout 15 index versions "$1" 2>/dev/null |
		sed -n 's/^Available versions: *\([^,]*\).*/\1/p'
}

langbot=$(latest langbot) plugin=$(latest langbot-plugin)
if [ -z "$langbot" ] || [ -z "$plugin" ]; then
	echo "The tests run with LangBot $2. Could not look for a newer one: no answer from the package registry."
	exit 2
fi
[ "$plugin" = "$1" ] || echo "langbot-plugin $plugin is out; the tests run with $1, which LangBot $2 pins."
if [ "$langbot" = "$2" ]; then
	echo "The tests run with LangBot $2, the newest."
	exit 0
fi
echo "LangBot $langbot is out; the tests run with $2: t/lib/langbot.versions needs a line for it."
exit 1
