/* A choice and its settings in one map. */
#include <msgpack.h>

#include "tap.h"
#include "wire/msg.h"

static void
text(msgpack_packer *pk, const char *s)
{
	msgpack_pack_str(pk, strlen(s));
	msgpack_pack_str_body(pk, s, strlen(s));
}

/* create with a spec of so many entries, of which the pairs are texts; "{" opens a map of two, "[" a list of one. */
static int
decode(struct msg *m, msgpack_sbuffer *b, uint32_t entries, const char *const *words, struct err *e)
{
	msgpack_packer pk;

	msgpack_sbuffer_init(b);
	msgpack_packer_init(&pk, b, msgpack_sbuffer_write);
	msgpack_pack_array(&pk, 4);
	msgpack_pack_int(&pk, 0);
	msgpack_pack_int(&pk, 7);
	text(&pk, "create");
	msgpack_pack_map(&pk, 1);
	text(&pk, "spec");
	msgpack_pack_map(&pk, entries);
	for (; *words != NULL; words++) {
		if (strcmp(*words, "{") == 0)
			msgpack_pack_map(&pk, 2);
		else if (strcmp(*words, "[") == 0)
			msgpack_pack_array(&pk, 1);
		else
			text(&pk, *words);
	}
	return msg_decode(m, b->data, b->size, NULL, 0, FROM_CLIENT, e);
}

static void
takes(void)
{
	msgpack_sbuffer b;
	struct msg      m;
	struct err      e = { 0 };

	ok(decode(&m, &b, 1, (const char *[]){ "network", "{", "mode", "on", "rules", "[", "deny all", NULL }, &e) == 0,
	    "network as a map");
	const struct msg_spec *s = &((const struct msg_create *)m.body)->spec;
	ok(s->network == NETWORK_ON && s->network_rules.n == 1, "is its mode, and its rules");
	is(s->network_rules.v[0], "deny all", "as they were given");
	msg_clear(&m);
	msgpack_sbuffer_destroy(&b);
	ok(decode(&m, &b, 1, (const char *[]){ "network", "{", "set", "a", "mode", "on", NULL }, &e) == 0,
	    "in any order");
	is(((const struct msg_create *)m.body)->spec.network_set, "a", "all settings of its own");
	msg_clear(&m);
	msgpack_sbuffer_destroy(&b);
}

static void
refuses(uint32_t entries, const char *const *words, const char *why, const char *what)
{
	msgpack_sbuffer b;
	struct msg      m;
	struct err      e = { 0 };

	ok(decode(&m, &b, entries, words, &e) == -1 && e.code == E_INVALID, "refused: %s", what);
	like(e.text, why, "and why");
	msg_clear(&m);
	msgpack_sbuffer_destroy(&b);
}

int
main(void)
{
	takes();
	refuses(1, (const char *[]){ "network", "{", "set", "a", "rules", "[", "deny all", NULL },
	    "spec.network.mode: missing", "settings of nothing");
	refuses(1, (const char *[]){ "network", "{", "mode", "on", "moat", "x", NULL }, "spec.network: no field 'moat'",
	    "a setting that is none");
	refuses(1, (const char *[]){ "network", "{", "mode", "sideways", "set", "x", NULL }, "'sideways' should be",
	    "a mode that is none");
	refuses(1, (const char *[]){ "network", "{", "mode", "on", "mode", "off", NULL }, "spec.network: given twice",
	    "two modes");
	refuses(2, (const char *[]){ "network_set", "a", "network", "{", "mode", "on", "set", "b", NULL },
	    "spec.network_set: given twice", "a setting both ways");
	refuses(2, (const char *[]){ "network", "on", "network", "{", "set", "b", "rules", "[", "deny all", NULL },
	    "spec.network: given twice", "a choice both ways");
	refuses(1, (const char *[]){ "host_path_mode", "{", "mode", "ro", "x", "y", NULL },
	    "expected a string, got a map", "a choice without settings");
	refuses(1, (const char *[]){ "image", "{", "mode", "ro", "x", "y", NULL }, "got a map", "what is no choice");
	done_testing();
}
