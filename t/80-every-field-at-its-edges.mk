# The client of t/80-every-field-at-its-edges.t.  It links LangBot's actions to ask them for their keys.
edges_OBJ := $(PROTO) $(WORDS) $(filter workers/gateway/%,$(ACTIONS_EXTRA)) t/lib/fakews \
	$(addprefix t/lib/,edges edgevalues edgenative edgelangbot)
$(O)/t/edges: $(patsubst %,$(O)/obj/%.o,$(edges_OBJ))
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -pie $(BASE) $(OPT) $(LDFLAGS) -Wl,--wrap=json_get -o $@ $^ $(mp_LIBS) $(ACTIONS_LIBS)

tests: $(O)/t/edges
