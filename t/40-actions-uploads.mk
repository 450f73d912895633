40-actions-uploads_EXTRA := $(ACTIONS_EXTRA)
40-actions-uploads_LIBS := $(ACTIONS_LIBS)
