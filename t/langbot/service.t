#!/bin/sh
# LangBot's BoxService and its connector use boxd: tools, skills, an MCP server through the relay, a reconnect.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all service # LangBot's MCP servers ask for a network, and have one
done_testing
