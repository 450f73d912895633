#!/bin/sh
# LangBot activates skills: read-only mounts by digest, each run with its own revision, in the sandbox it has.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all 'mounts activated'
done_testing
