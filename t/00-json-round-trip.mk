00-json-round-trip_EXTRA := $(JSON_EXTRA)
00-json-round-trip_LIBS := $(ACTIONS_LIBS)
