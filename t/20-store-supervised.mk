20-store-supervised_EXTRA := t/lib/storebox t/lib/workbox t/lib/zipmake proto/rmtree proto/restart supervisor/store supervisor/share supervisor/child
20-store-supervised_LIBS := -larchive
