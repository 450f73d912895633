#!/bin/sh
# LangBot's real clients can be installed; the tests of 70 need them, and this one begins early because it takes a while.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
for v in $LANGBOTS; do
	langbot_use "$v"
	set -- $(langbot_version_line "$v")
	like "$(langbot_python "$LANGBOT_PYTHON" parts)" "^$1 $2 .* service mcp_stdio" "langbot-plugin $1 and LangBot $2 are there"
done
like "$(langbot_python "$LANGBOT_PYTHON" parts)" " runner native mcp repository\$" "the newest with runners, tools and skills of its own"
note "$(sh t/lib/sh/langbot-newer.sh)"
done_testing
