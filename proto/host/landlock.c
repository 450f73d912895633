#include "host/landlock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

enum {
	CREATE_RULESET_VERSION = 1 << 0,
	RULE_PATH_BENEATH = 1,
};

/* As the newest kernel we know has it; older ones take it while what they do not know is 0. */
struct ruleset_attr {
	uint64_t handled_fs;
	uint64_t handled_net;
	uint64_t scoped;
};

struct path_beneath_attr {
	uint64_t allowed;
	int32_t  parent;
} __attribute__((packed));

int
landlock_rules_open(struct landlock_rules *s, uint64_t files, uint64_t net, struct err *e)
{
	return landlock_rules_open_scoped(s, files, net, LL_SCOPE_ABSTRACT | LL_SCOPE_SIGNAL, e);
}

int
landlock_rules_open_scoped(struct landlock_rules *s, uint64_t files, uint64_t net, uint64_t scopes, struct err *e)
{
	int abi = (int)syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_RULESET_VERSION);

	*s = (struct landlock_rules){ .fd = -1 };
	if (abi < 1 || (abi == 1 && (files & LL_REFER)))
		return 1;
	struct ruleset_attr attr = { .handled_fs = files, .handled_net = abi >= 4 ? net : 0 };
	if (abi < 5)
		attr.handled_fs &= ~(uint64_t)LL_IOCTL_DEV;
	if (abi < 3)
		attr.handled_fs &= ~(uint64_t)LL_TRUNCATE;
	if (abi >= 6)
		attr.scoped = scopes;
	s->handled = attr.handled_fs;
	s->fd = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);
	return s->fd == -1 ? err_sys(e, "make a landlock ruleset") : 0;
}

int
landlock_rules_allow(const struct landlock_rules *s, int place, uint64_t what, const char *name, struct err *e)
{
	struct path_beneath_attr attr = { .allowed = what & s->handled, .parent = place };

	if (syscall(SYS_landlock_add_rule, s->fd, RULE_PATH_BENEATH, &attr, 0) == -1)
		return err_sys(e, "landlock rule for %s", name);
	return 0;
}

int
landlock_rules_restrict(const struct landlock_rules *s, struct err *e)
{
	if (syscall(SYS_landlock_restrict_self, s->fd, 0) == -1)
		return err_sys(e, "landlock_restrict_self");
	return 0;
}

void
landlock_rules_close(struct landlock_rules *s)
{
	fd_close(&s->fd);
}
