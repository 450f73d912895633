20-store-files_EXTRA := t/lib/storebox proto/rmtree
