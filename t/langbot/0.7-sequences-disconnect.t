#!/bin/sh
# By LangBot's own client: commands outlive their connection, and can be cancelled.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'sequences disconnect cancel'
done_testing
