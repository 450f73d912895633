#!/bin/sh
# LangBot's real client can be installed; the tests of 70 need it, and this one begins early because it takes a while.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
"$_venv/bin/python" -c 'import langbot_plugin.box.client, langbot.pkg.box.service, mcp, websockets'
ok "$LANGBOT_CLIENT, $LANGBOT, mcp and websockets are there"
done_testing
