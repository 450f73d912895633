20-store-sweep_EXTRA := t/lib/storebox t/lib/workbox t/lib/zipmake proto/rmtree
20-store-sweep_LIBS := -larchive
