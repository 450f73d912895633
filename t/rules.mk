# How tests and fuzz targets are built.  The top GNUmakefile includes this file.
#
#	TESTS    every test: C programs built from t/*/*.c, and t/*/*.t as they are; T=t/attack or T=t/house/stop.t: those
#
# A C test is linked with the helpers of t/lib/c and the archives of the programs whose headers it includes (t/lib/sh/links.pl),
# and with whatever libraries these use.

KINDS    := $(if $(CROSS),unit,unit part wire house langbot attack fault)
T_C      := $(sort $(wildcard $(KINDS:%=t/%/*.c)))
T_NAMES  := $(T_C:t/%.c=%)
T_BUILT  := $(T_NAMES:%=$(O)/t/%.t)
T_LIB    := $(wildcard t/lib/c/*.[ch])
T_LIBS   := $(sort $(foreach p,$(DYNAMIC),$($(p)_LIBS))) $(call libs,libnftables)
TESTS    := $(T_BUILT) $(if $(CROSS),,$(sort $(wildcard $(KINDS:%=t/%/*.t))) t/nothing-is-left.t)
ifdef T
TESTS    := $(filter $(O)/$(T:%.c=%)% $(T)%,$(TESTS))
endif

-include $(O)/links.mk
$(O)/links.mk: t/lib/sh/links.pl $(T_C) $(T_LIB) $(wildcard t/fuzz/*.c)
	@mkdir -p $(@D)
	@perl $< $(filter %.c,$(filter-out t/lib/%,$^)) >$@

$(O)/obj/t/%.o: CPPFLAGS += -iquote t/lib/c -iquote . $(addprefix -iquote ,$(roots))

define test_program
$(O)/t/$(1).t: $$(patsubst %,$(O)/obj/%.o,t/$(1) $$(t/$(1)_HELPERS)) $$(patsubst %,$(O)/obj/lib%.a,$$(t/$(1)_LINKS)) $(O)/obj/libproto.a
	@mkdir -p $$(@D)
	$$(say) LINK $$@
	$$(Q)$$(CC) -pie $$(BASE) $$(OPT) $$(LDFLAGS) -o $$@ $$^ -Wl,--as-needed $$(T_LIBS)
endef
$(foreach t,$(T_NAMES),$(eval $(call test_program,$(t))))

# A gateway that answers for a supervisor, and all fields of all messages at their edges.
$(O)/t/echo-gateway: $(O)/obj/workers/gateway/main.o $(O)/obj/t/lib/c/echogate.o $(O)/obj/proto/host/noleaks.o $(O)/obj/libbox-gateway.a $(O)/obj/libproto.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -pie $(BASE) $(OPT) $(HARDENLD) $(LDFLAGS) -o $@ $^ $(box-gateway_LIBS)

$(O)/t/edges: $(patsubst %.c,$(O)/obj/%.o,$(wildcard t/lib/c/edge*.c) t/lib/c/fakews.c) $(O)/obj/libbox-gateway.a $(O)/obj/libproto.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -pie $(BASE) $(OPT) $(LDFLAGS) -Wl,--wrap=json_get -o $@ $^ -Wl,--as-needed $(T_LIBS)

tests: $(T_BUILT) $(if $(CROSS),,$(O)/t/echo-gateway $(O)/t/edges)

# ---- fuzzing: clang's libFuzzer, objects of its own ----------------------------

FUZZ_CC  ?= clang
FUZZ_SEC ?= 20
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_NAMES := $(patsubst t/fuzz/%.c,%,$(sort $(wildcard t/fuzz/fuzz_*.c)))
FUZZ_BUILT := $(addprefix $(O)/fuzz/,$(FUZZ_NAMES))

# Asked once, and only when a fuzz target is wanted: is there a clang that can link a fuzzer?
fuzz_can = $(shell echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { (void)p; (void)n; return 0; }' | \
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -x c -o /dev/null - >/dev/null 2>&1 && echo yes)

$(O)/fuzz/obj/%.o: %.c GNUmakefile t/rules.mk
	@mkdir -p $(@D)
	$(say) CC $< "(fuzz)"
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -iquote t/lib/c -iquote . $(PKG_CFLAGS) -std=gnu11 -O1 -g -Wno-unknown-warning-option -Wno-include-next-absolute-path $(FUZZ_SAN) -fsanitize=fuzzer-no-link -c -o $@ $<

$(eval $(call archive,$(O)/fuzz/libproto.a,$(PROTO:%=$(O)/fuzz/obj/%.o)))
$(foreach p,$(DYNAMIC),$(eval $(call archive,$(O)/fuzz/lib$(p).a,$($(p)_PARTS:%=$(O)/fuzz/obj/%.o))))
$(O)/fuzz/obj/t/%.o: CPPFLAGS += $(addprefix -iquote ,$(roots))

define fuzz_program
$(O)/fuzz/$(1): $$(patsubst %,$(O)/fuzz/obj/%.o,t/fuzz/$(1) $$(t/fuzz/$(1)_HELPERS)) $$(patsubst %,$(O)/fuzz/lib%.a,$$(t/fuzz/$(1)_LINKS)) $(O)/fuzz/libproto.a
	$$(say) LINK $$@
	$$(Q)$$(FUZZ_CC) -g $$(FUZZ_SAN) -fsanitize=fuzzer -o $$@ $$^ -Wl,--as-needed $$(T_LIBS)
endef
$(foreach f,$(FUZZ_NAMES),$(eval $(call fuzz_program,$(f))))

# Writes one valid value of every message, so that the fuzzers start inside the grammar.
$(O)/fuzz/seeds: $(patsubst %,$(O)/obj/%.o,t/fuzz/seeds $(t/fuzz/seeds_HELPERS)) $(O)/obj/libproto.a
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -pie $(BASE) $(OPT) $(LDFLAGS) -o $@ $^ $(mp_LIBS) -lm

ifneq ($(filter fuzz t/fuzz,$(MAKECMDGOALS)),)
ifeq ($(fuzz_can),yes)
t/fuzz: $(FUZZ_BUILT) $(O)/fuzz/seeds

# A crash is left as t/fuzz/<target>-crash-*: keep it with the fix, "make fuzz" replays those first.
fuzz: t/fuzz
	@set -e; for f in $(FUZZ_NAMES); do \
		corpus=$(O)/fuzz/corpus/$$f; \
		rm -rf $$corpus; mkdir -p $$corpus; \
		$(O)/fuzz/seeds $$corpus; \
		for c in t/fuzz/$$f-*; do [ ! -e "$$c" ] || cp "$$c" $$corpus; done; \
		echo "$$f: $(FUZZ_SEC) seconds"; \
		$(O)/fuzz/$$f -max_total_time=$(FUZZ_SEC) -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
			-artifact_prefix=t/fuzz/$$f- $$corpus >$(O)/fuzz/$$f.log 2>&1 || \
			{ tail -n 60 $(O)/fuzz/$$f.log; exit 1; }; \
		tail -n 1 $(O)/fuzz/$$f.log; \
	done
else
fuzz t/fuzz:
	@echo "fuzzing skipped: $(FUZZ_CC) with its libFuzzer runtime is not installed"
endif
endif

-include $(shell find $(O)/fuzz/obj -name '*.d' 2>/dev/null)

.PHONY: tests fuzz t/fuzz
