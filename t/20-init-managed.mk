20-init-managed_EXTRA := t/lib/initstart
