#!/bin/sh
# Grants and strict readiness by LangBot's own client: on an ordinary directory it is refused with the missing walls named.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all admission
done_testing
