# Tests of the HTTP door and its WebSockets, and the gateway they start: with guests of their own.
web_TESTS := 40-http-routes 40-http-refusals 40-http-control-socket 40-http-keep-alive 40-http-tls 40-ws-handshake 40-ws-messages \
	40-ws-slow-readers 40-ws-closing
$(foreach t,$(web_TESTS),$(eval $(t)_EXTRA := t/lib/gatebox t/lib/webbox))
40-http-tls_LIBS := $(call libs,openssl)

web_PARTS := main confine listener flow tls conn calls rpc uplink http http_visit http_request http_route http_answer strangers ws
web_OBJ   := $(PROTO) $(LOOP) $(NET) proto/startup proto/confining proto/noleaks proto/ruleset $(addprefix workers/gateway/,$(web_PARTS)) t/lib/echogate
$(O)/t/echo-gateway: $(patsubst %,$(O)/obj/%.o,$(web_OBJ))
	@mkdir -p $(@D)
	$(say) LINK $@
	$(Q)$(CC) -pie $(BASE) $(OPT) $(HARDENLD) $(LDFLAGS) -o $@ $^ $(box-gateway_LIBS)

$(patsubst %,$(O)/t/%.t,$(web_TESTS)): | $(O)/t/echo-gateway

fuzz_http_EXTRA := workers/gateway/http_request workers/gateway/http_route
fuzz_http_LIBS  := -lhttp_parser
fuzz_ws_EXTRA   := workers/gateway/ws
fuzz_ws_LIBS    := -lwslay -lev
