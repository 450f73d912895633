#!/bin/sh
# boxctl langbot-stdio, started and spoken to by LangBot's own stdio controller.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all stdio
done_testing
