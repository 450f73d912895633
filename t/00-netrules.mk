00-netrules_EXTRA := supervisor/netrule supervisor/netrules
fuzz_netrule_EXTRA := supervisor/netrule
