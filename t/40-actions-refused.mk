40-actions-refused_EXTRA := $(ACTIONS_EXTRA)
40-actions-refused_LIBS := $(ACTIONS_LIBS)
