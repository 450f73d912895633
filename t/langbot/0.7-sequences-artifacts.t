#!/bin/sh
# By LangBot's own client: a mount whose manifest is not what its digest says.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'sequences wrong_digest'
done_testing
