#!/bin/sh
# LangBot's relay: websockets and the mcp client reach a managed process, and nothing is lost on the way.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all relay
done_testing
