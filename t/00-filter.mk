00-filter_EXTRA := supervisor/filter supervisor/filter_parse supervisor/filter_bpf t/lib/bpf
fuzz_filter_EXTRA := supervisor/filter_parse supervisor/filter_bpf t/lib/bpf
fuzz_filter_LIBS := -lseccomp
