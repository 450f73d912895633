#!/bin/sh
# LangBot's runners and its storage page see what its boxes do and occupy.
. t/lib/sh/boxd.sh
. t/lib/sh/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all sight
done_testing
