00-zip-directory_EXTRA := workers/store/zipdir workers/store/text t/lib/zipmake
00-zip-directory_LIBS := -larchive
fuzz_zip_EXTRA := workers/store/zipdir workers/store/text
