/* The codec knows how to walk every struct, so a copy is one encoded and decoded again. */
#include "wire/owned_msg.h"

#include <assert.h>
#include <string.h>

int
owned_msg_copy(struct owned_msg *k, enum msg_type t, void *body, struct err *e)
{
	struct packet    p = { 0 };
	struct owned_msg fresh = { 0 };

	assert(body != NULL && body != k->msg.body); /* which goes */
	if (msg_encode_reply(&p, t, 0, 0, body, e) == -1) {
		packet_clear(&p);
		return -1;
	}
	fresh.bytes = p.bytes;
	p.bytes = (struct buf){ 0 };
	int r = msg_decode(&fresh.msg, fresh.bytes.data, fresh.bytes.len, p.fds, p.nfds, FROM_WORKER, e);
	if (r == 0)
		r = msg_expect(&fresh.msg, t, e);
	if (r == -1) {
		owned_msg_clear(&fresh);
		return -1;
	}
	owned_msg_clear(k);
	*k = fresh;
	memcpy(body, k->msg.body, msg_def(t)->size);
	return 0;
}

void
owned_msg_clear(struct owned_msg *k)
{
	msg_clear(&k->msg);
	buf_clear(&k->bytes);
	*k = (struct owned_msg){ 0 };
}
