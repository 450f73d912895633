#!/bin/sh
# An image that is not there is never replaced in silence: the session, the log and ps say it, or the create is refused.
. t/lib/sh/boxd.sh
. t/lib/sh/langbot.sh
boxd_start
notice() { box inspect "$1" -o json | field notice; }
said="image no/such:1 is not in the store; the root is the host view (image_missing = host-view)"
logged() { grep -c "name=$1 image=$2 is not in the store: the root is the host view" "$D/log"; }

# ---- host-view, the default ----
made=$(box create --name a --image no/such:1 -o json)
is "$(of "$made" notice)" "$said" "create tells that the image is missing"
is "$(notice a)" "$said" "so does inspect"
is "$(box ps -o json | field notice)" "$said" "and the list"
is "$(logged a no/such:1)" 1 "the log has one line about it"
like "$(box ps)" '^a .* no/such:1 \(missing\) *$' "ps marks it"
is "$(in_session a -c 'test -x /usr/bin/env && echo host')" host "it runs on the host view"
box exec a -- true
is "$(logged a no/such:1)" 1 "commands add no line"
box create --name plain >/dev/null
is "$(notice plain)" "" "a session without an image has nothing to be told"
is "$(box ps | grep -c missing)" 1 "and is not marked"
mkdir -p "$D/state/images/there/bin"
boxctl create --name there --image there >/dev/null
is "$(notice there)" "" "nor has one whose image is there"
like "$(box ps)" '^there .* there *$' "ps shows the image"
is "$(box ps | grep -c missing)" 1 "without a mark"

# ---- the same from a sandbox built from scratch: this one could not be built ahead ----
is "$(box create --name scratch --image no/such:1 --mount-path /elsewhere -o json | field notice)" "$said" "built for its create: the same"
is "$(logged scratch no/such:1)" 1 "with its line"

# ---- LangBot's door ----
made=$(create ws-1 1 s ', "image": "rockchin/langbot-sandbox:latest"')
lb_said="image rockchin/langbot-sandbox:latest is not in the store; the root is the host view (image_missing = host-view)"
is "$(of "$made" notice)" "$lb_said" "LangBot's session says it"
is "$(of "$made" image)" rockchin/langbot-sandbox:latest "and the image as it was asked for"
is "$(lb get ws-1 1 "$(named s)" | field notice)" "$lb_said" "get too"
is "$(lb list ws-1 1 | field notice)" "$lb_said" "list too"

# ---- it is known for as long as the session lives, whatever is put in the store meanwhile ----
mkdir -p "$D/state/images/no%2Fsuch%3A1/bin"
is "$(notice a)" "$said" "an image that comes later changes nothing"
vanish "$BOXD_PID"
boxd_start
adopted() { [ "$(box inspect a -o json | field state)" = ready ]; }
eventually adopted
is "$(notice a)" "$said" "the next boxd knows it"
is "$(box inspect scratch -o json | field notice)" "$said" "of both kinds"
is "$(notice plain)" "" "and of those that have none"
rm -r "$D/state/images/no%2Fsuch%3A1"

# ---- refuse ----
boxd_stop
boxd_config 'image_missing = refuse'
boxd_start
refusal="spec.image: no/such:1 is not in the store, and image_missing = refuse in boxd.conf; name an image that is there, or let the operator set image_missing = host-view"
is "$(box create --name r --image no/such:1 2>&1)" "boxctl: $refusal" "refuse: the create names image and option"
is "$(create ws-1 1 r ', "image": "no/such:1"')" "boxctl: $refusal" "LangBot reads the same"
is "$(box call agent_exec '{"command": "true", "image": "no/such:1"}' 2>&1)" "boxctl: $refusal" "so does an agent"
is "$(box ps --names)" "" "nothing was made"
is "$(box create --name plain)" plain "a session without an image is made as ever"
mkdir -p "$D/state/images/no%2Fsuch%3A1/bin"
box create --name r --image no/such:1 >/dev/null
ok "and one whose image is there"
is "$(notice r)" "" "with nothing to be told"
boxd_stop

# ---- a word that is none ----
boxd_config 'image_missing = maybe'
like "$("$BUILD/boxd" --state-dir "$D/state" --runtime-dir "$D/run" -c "$D/boxd.conf" 2>&1)" "image_missing.*'maybe' should be host-view or refuse" "another word is refused"
done_testing
