#include "core/share.h"

uint64_t
share_of(const struct config *c, uint64_t limit)
{
	if (c->legacy_clients) /* all clients are one workspace then */
		return limit;
	return limit - limit * (100 - c->workspace_share) / 100;
}

int
share_check(const struct config *c, uint64_t have, uint64_t limit, enum err_code code, const char *what, struct err *e)
{
	uint64_t most = share_of(c, limit);

	if (have < most || most == limit)
		return 0;
	return err_set(e, code, "%s (%lu): one workspace may have %lu of %lu (workspace_share = %lu in boxd.conf)",
	    what, most, most, limit, c->workspace_share);
}
