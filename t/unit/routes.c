/* What a client may send is somebody's to serve, and who serves it can be found. */
#include "tap.h"
#include "twist.h"
#include "wire/route.h"

/* A session is found by the text of this field. */
static bool
names_session(enum msg_type t)
{
	for (const struct field *f = msg_def(t)->fields; f->name != NULL; f++)
		if (f->kind == K_STR && strcmp(f->name, "session") == 0)
			return true;
	return false;
}

/* All of LangBot's are read as if they began with it. */
static bool
begins_with_context(enum msg_type t)
{
	const struct field *f = msg_def(t)->fields;

	return f->name != NULL && f->offset == 0 && f->sub == MSG_CONTEXT;
}

TEST(routes)
{
	for (EVERY_MESSAGE(t)) {
		enum served_by room = msg_route(t)->room;
		unsigned       from = msg_def(t)->from & (FROM_CLIENT | FROM_GATEWAY);

		if (msg_def(t)->envelope == ENV_REQUEST && from != 0)
			ok(room != ROOM_NONE, "%s: somebody serves it", msg_name(t));
		if (msg_def(t)->envelope == ENV_STRUCT)
			ok(room == ROOM_NONE, "%s: is not sent by itself", msg_name(t));
		if (room == ROOM_SESSION || room == ROOM_WORKER || room == ROOM_FILES)
			ok(names_session(t), "%s: names its session", msg_name(t));
		if (room == ROOM_LANGBOT)
			ok(begins_with_context(t), "%s: begins with its context", msg_name(t));
		if (room == ROOM_AUTH)
			cmp_ok(from, "==", FROM_GATEWAY, "%s: of strangers alone", msg_name(t));
	}
	ok(msg_route(MSG__COUNT)->room == ROOM_NONE, "no message is nobody's");
}
