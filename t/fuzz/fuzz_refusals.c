/* Any bytes as messages of the kernel about packets: what is told of one is an address, a kind and its port. */
#include "fuzz.h"
#include "workers/egress/rules/refusals.h"

static void
on_refusal(void *arg, const struct refusal *r)
{
	char rule[LIM_NET_RULE + 1];

	if (r->to.family != 4 && r->to.family != 6)
		abort();
	if (r->kind != NET_TCP && r->kind != NET_UDP && (r->kind != NET_OTHER || r->port != 0))
		abort();
	refusal_rule(r, rule);
}

int
LLVMFuzzerTestOneInput(const uint8_t *p, size_t n)
{
	uint8_t *copy = malloc(n > 0 ? n : 1); /* aligned, and no longer than it is */

	memcpy(copy, p, n);
	refusals_parse(copy, n, on_refusal, NULL);
	free(copy);
	return 0;
}
