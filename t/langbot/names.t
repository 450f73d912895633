#!/bin/sh
# Names and words of today's LangBot: the backend host, and the class of a refusal.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_start
langbot names
boxd_stop
rm -r "$D/state/keys"
boxd_config 'auth = none'
boxd_start
langbot_address
langbot names unprotected
done_testing
