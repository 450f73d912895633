#!/bin/sh
# LangBot's runners and its storage page see what its boxes do and occupy.
. t/lib/boxd.sh
. t/lib/client.sh
langbot_needed $(langbot_since 0.7.13)
langbot_all sight
done_testing
