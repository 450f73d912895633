# How tests and fuzz targets are built.  The top GNUmakefile includes this file.
#
#	TESTS            every test: C programs built from t/NN-*.c, and t/*.t as they are
#	NN-name_EXTRA    objects a test needs beside proto, without suffix: supervisor/config
#	NN-name_LIBS     libraries it needs beside T_LIBS
# A test may keep these in a file of its own, t/NN-name.mk.

T_C      := $(sort $(wildcard t/[0-9][0-9]-*.c))
T_NAMES  := $(patsubst t/%.c,%,$(T_C))
T_BUILT  := $(patsubst %,$(O)/t/%.t,$(T_NAMES))
T_COMMON := $(PROTO) $(WORDS) $(LOOP) $(NET) t/lib/tap t/lib/check t/lib/values t/lib/twist
T_LIBS   := -lev $(mp_LIBS) -lsodium -lseccomp -lm
TESTS    := $(T_BUILT) $(sort $(wildcard t/*.t))

include t/lib/actions.mk
-include $(wildcard t/[0-9][0-9]-*.mk)

$(O)/obj/t/%.o: CPPFLAGS += -iquote t/lib -iquote .

# sort: a test may name an object that is common already
define test_program
$(O)/t/$(1).t: $$(patsubst %,$(O)/obj/%.o,$$(sort t/$(1) $$(T_COMMON) $$($(1)_EXTRA)))
	@mkdir -p $$(@D)
	$$(say) LINK $$@
	$$(Q)$$(CC) -pie $$(BASE) $$(OPT) $$(LDFLAGS) -o $$@ $$^ -Wl,--as-needed $$(T_LIBS) $$($(1)_LIBS)
endef
$(foreach t,$(T_NAMES),$(eval $(call test_program,$(t))))

tests: $(T_BUILT)

# ---- fuzzing: clang's libFuzzer, objects of its own ----------------------------

FUZZ_CC  ?= clang
FUZZ_SEC ?= 20
FUZZ_SAN := -fsanitize=address,undefined -fno-sanitize-recover=undefined
FUZZ_NAMES := $(patsubst t/fuzz/%.c,%,$(sort $(wildcard t/fuzz/fuzz_*.c)))
FUZZ_BUILT := $(addprefix $(O)/fuzz/,$(FUZZ_NAMES))
FUZZ_OBJ   := $(patsubst %,$(O)/fuzz/obj/%.o,$(PROTO) $(WORDS) $(NET))

# Asked once, and only when a fuzz target is wanted: is there a clang that can link a fuzzer?
fuzz_can = $(shell echo 'int LLVMFuzzerTestOneInput(const char *p, long n) { (void)p; (void)n; return 0; }' | \
	$(FUZZ_CC) -fsanitize=fuzzer,address,undefined -x c -o /dev/null - >/dev/null 2>&1 && echo yes)

$(O)/fuzz/obj/%.o: %.c GNUmakefile t/rules.mk
	@mkdir -p $(@D)
	$(say) CC $< "(fuzz)"
	$(Q)$(FUZZ_CC) $(CPPFLAGS) -iquote t/lib $(PKG_CFLAGS) -std=gnu11 -O1 -g -Wno-unknown-warning-option -Wno-include-next-absolute-path $(FUZZ_SAN) -fsanitize=fuzzer-no-link -c -o $@ $<

define fuzz_program
$(O)/fuzz/$(1): $(O)/fuzz/obj/t/fuzz/$(1).o $$(FUZZ_OBJ) $$(patsubst %,$(O)/fuzz/obj/%.o,$$($(1)_EXTRA))
	$$(say) LINK $$@
	$$(Q)$$(FUZZ_CC) -g $$(FUZZ_SAN) -fsanitize=fuzzer -o $$@ $$^ $(mp_LIBS) -lm $$($(1)_LIBS)
endef
$(foreach f,$(FUZZ_NAMES),$(eval $(call fuzz_program,$(f))))

# Writes one valid value of every message, so that the fuzzers start inside the grammar.
$(O)/fuzz/seeds: $(patsubst %,$(O)/obj/%.o,t/fuzz/seeds t/lib/values t/lib/check $(PROTO))
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
