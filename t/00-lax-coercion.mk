00-lax-coercion_EXTRA := $(JSON_EXTRA)
00-lax-coercion_LIBS := $(ACTIONS_LIBS)
