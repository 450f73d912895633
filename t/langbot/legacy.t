#!/bin/sh
# legacy_clients: a client without instance and workspace is served, beside those of today.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed
langbot_all legacy 'legacy_clients = yes' 'auth = none'
done_testing
