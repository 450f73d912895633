90-store-crash_EXTRA := t/lib/storebox t/lib/workbox t/lib/zipmake proto/rmtree
90-store-crash_LIBS := -larchive
