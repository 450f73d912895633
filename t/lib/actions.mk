# What tests of LangBot's actions link: all of them, on a WebSocket that is none.
JSON_EXTRA    := $(addprefix workers/gateway/,json json_write pytext coerce coerce_time)
ACTIONS_EXTRA := $(JSON_EXTRA) $(addprefix workers/gateway/,model models uploads action action_table action_session \
	action_process action_control action_admission action_init action_skill shape_session shape_host shape_skill envelope actions) \
	t/lib/fakews t/lib/actbox
ACTIONS_LIBS  := $(call libs,yajl openssl) -lm

fuzz_json_EXTRA   := $(JSON_EXTRA)
fuzz_json_LIBS    := $(ACTIONS_LIBS)
fuzz_action_EXTRA := $(filter-out t/lib/actbox,$(ACTIONS_EXTRA)) t/lib/values t/lib/check
fuzz_action_LIBS  := $(ACTIONS_LIBS)
