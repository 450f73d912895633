#include "rules/boxd_ports.h"

#include <stdlib.h>
#include <string.h>

static bool
parse_port(const char *text, uint16_t *port)
{
	char         *end;
	unsigned long n = strtoul(text, &end, 10);

	*port = (uint16_t)n;
	return *text >= '0' && *text <= '9' && *end == '\0' && n >= 1 && n <= UINT16_MAX;
}

static bool
parse(const char *text, struct netaddr *a, uint16_t *port)
{
	char        host[NETADDR_TEXT];
	const char *colon = strrchr(text, ':');

	if (colon == NULL || !parse_port(colon + 1, port))
		return false;
	size_t n = (size_t)(colon - text);
	if (n >= 2 && text[0] == '[' && text[n - 1] == ']') {
		text++;
		n -= 2;
	}
	if (n >= sizeof(host))
		return false;
	memcpy(host, text, n);
	host[n] = '\0';
	return netaddr_parse(host, a);
}

int
boxd_ports_parse(struct boxd_ports *o, const struct strs *from, struct err *e)
{
	*o = (struct boxd_ports){ 0 };
	if (from->n > BOXD_PORTS_MOST)
		return err_set(e, E_INVALID, "%zu ports of boxd, of at most %d", from->n, BOXD_PORTS_MOST);
	for (; o->n < from->n; o->n++)
		if (!parse(from->v[o->n], &o->v[o->n].address, &o->v[o->n].port))
			return err_set(e, E_INVALID, "'%s' is not address:port", from->v[o->n]);
	return 0;
}

bool
boxd_ports_have(const struct boxd_ports *o, const struct netaddr *a, uint16_t port, bool host_own)
{
	for (size_t i = 0; i < o->n; i++)
		if (o->v[i].port == port && (host_own || netaddr_same(&o->v[i].address, a)))
			return true;
	return false;
}
