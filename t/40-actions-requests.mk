40-actions-requests_EXTRA := $(ACTIONS_EXTRA)
40-actions-requests_LIBS := $(ACTIONS_LIBS)
