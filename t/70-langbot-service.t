#!/bin/sh
# LangBot's BoxService and its connector use boxd: tools, skills, an MCP server through the relay, a reconnect.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start 'network_on = loopback' # LangBot's MCP servers ask for a network; this one needs none
langbot service
done_testing
