00-artifact-manifest_EXTRA := workers/artifact/manifest
00-artifact-manifest_LIBS := -lyajl
fuzz_manifest_EXTRA := workers/artifact/manifest
fuzz_manifest_LIBS := -lyajl -lsodium
