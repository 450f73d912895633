40-actions-replies_EXTRA := $(ACTIONS_EXTRA)
40-actions-replies_LIBS := $(ACTIONS_LIBS)
