00-netrules_EXTRA := supervisor/netrule supervisor/netrules
