#!/bin/sh
# Ways to have more bytes on the host than the quota says, where only a watcher keeps it; and what only looks like one.
. t/lib/sh/boxd.sh
boxd_config 'spare_sandboxes = 0' 'workspace_entries = 3000'
boxd_start
mkdir "$D/w"
boxctl create --name s --host-path "$D/w" --workspace-quota 8 >/dev/null
case $(disk s quota) in a\ watcher*) ;; *) plan skip_all "a kernel keeps a quota on ${TMPDIR:-/tmp}: $(disk s quota)" ;; esac
. t/lib/sh/quota_tricks.sh

# The scanner has rights; nobody inside can reach it.
is "$(box exec s -c 'ps -e -o comm= | grep -c box-scan')" 0 "the process that measures is not seen inside"
is "$(box exec s -- echo alive)" alive "the session lives on"
done_testing
