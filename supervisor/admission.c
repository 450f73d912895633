#include "admission.h"

#include <stdlib.h>

struct admission {
	struct house         *house;
	struct msg_box_policy policy;
};

struct admission *
admission_open(struct house *h, struct err *e)
{
	struct admission *a = calloc(1, sizeof(*a));

	if (a == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	a->house = h;
	msg_defaults(MSG_BOX_POLICY, &a->policy);
	return a;
}

void
admission_close(struct admission **ap)
{
	free(*ap);
	*ap = NULL;
}

void
admission_configure(struct admission *a, const struct msg_box_init *init)
{
	(void)a;
	(void)init;
}

bool
admission_enforced(const struct admission *a)
{
	(void)a;
	return false;
}

const char *
admission_config_error(const struct admission *a)
{
	(void)a;
	return "";
}

const struct msg_box_policy *
admission_policy(const struct admission *a)
{
	return &a->policy;
}

int
admission_check(struct admission *a, const struct msg_context *c, struct err *e)
{
	(void)a;
	(void)c;
	(void)e;
	return 0;
}

int
admission_check_session(struct admission *a, const struct msg_context *c, size_t have, bool is_new, struct err *e)
{
	(void)have;
	(void)is_new;
	return admission_check(a, c, e);
}

int
admission_check_process(struct admission *a, const struct msg_context *c, size_t have, struct err *e)
{
	(void)have;
	return admission_check(a, c, e);
}

int
admission_normalise(struct admission *a, const struct msg_context *c, struct msg_box_spec *s, const char *host_path,
    const char *skill_root, struct msg_mount *mount, struct err *e)
{
	(void)s;
	(void)host_path;
	(void)skill_root;
	(void)mount;
	return admission_check(a, c, e);
}

int
admission_upsert(struct house *h, const struct msg *m, struct err *e)
{
	(void)h;
	(void)m;
	return err_set(e, E_ADMISSION, "Sandbox admission enforcement is not enabled");
}

int
admission_revoke(struct house *h, const struct msg *m, struct err *e)
{
	return admission_upsert(h, m, e);
}
