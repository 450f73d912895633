40-actions-envelope_EXTRA := $(ACTIONS_EXTRA)
40-actions-envelope_LIBS := $(ACTIONS_LIBS)
