20-store-zip_EXTRA := t/lib/storebox t/lib/workbox t/lib/zipmake proto/rmtree
20-store-zip_LIBS := -larchive
