40-actions-init_EXTRA := $(ACTIONS_EXTRA)
40-actions-init_LIBS := $(ACTIONS_LIBS)
