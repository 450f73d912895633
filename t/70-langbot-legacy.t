#!/bin/sh
# legacy_clients: a client without instance and workspace is served, beside those of today.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed
langbot_start 'legacy_clients = yes' 'auth = none'
langbot legacy
done_testing
