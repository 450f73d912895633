#!/bin/sh
# LangBot's runner service, native tools, attachments and MCP session use boxd.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all tools
done_testing
