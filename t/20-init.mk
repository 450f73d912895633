20-init_EXTRA := t/lib/initstart t/lib/initbox t/lib/misbehave
