/*
 * The network of a session: numbers, what is open, what was refused; and the rules that refuse it.
 */
#include <stdio.h>

#include "base/netaddr.h"
#include "cmd.h"
#include "table.h"
#include "text.h"

/* ---- a session ---------------------------------------------------------------- */

static void
print_numbers(const struct msg_net_info *i)
{
	printf("network:     %s\n", msg_enum_name(MSG_NET_INFO, "mode", (int)i->mode));
	if (i->mode != NET_MODE_EGRESS)
		return;
	printf("connections: %lu open, %lu in all, %lu failed\n", i->open, i->total, i->failed);
	printf("bytes:       %s out", text_size(i->sent_bytes));
	printf(", %s in\n", text_size(i->received_bytes));
	printf("names:       %lu asked for\n", i->dns_queries);
	printf("refused:     %lu by a rule, %lu over a limit\n", i->denied, i->over_limit);
}

static void
print_flows(const struct msg_net_info *i)
{
	static const char *const heads[] = { "OPEN", "PORT", "NAME", "OUT", "IN", "AGE", "STATE", NULL };
	struct table            *t = i->flows.n > 0 ? table_open(heads) : NULL;

	for (size_t k = 0; t != NULL && k < i->flows.n; k++) {
		const struct msg_net_flow *f = &i->flows.v[k];

		table_cell(t, PLAIN, "%s", f->address);
		table_cell(t, PLAIN, "%lu", f->port);
		table_cell(t, PLAIN, "%s", f->name);
		table_cell(t, PLAIN, "%s", text_size(f->sent_bytes));
		table_cell(t, PLAIN, "%s", text_size(f->received_bytes));
		table_cell(t, PLAIN, "%s", text_duration(f->age_ms * 1000));
		table_cell(t, f->connecting ? YELLOW : GREEN, "%s", f->connecting ? "connecting" : "open");
	}
	if (t != NULL) {
		putchar('\n');
		table_print(t);
	}
	table_close(&t);
}

static void
print_denials(const struct msg_net_info *i)
{
	static const char *const heads[] = { "REFUSED", "ADDRESS", "PORT", "NAME", "RULE", "TIMES", "LAST", NULL };
	struct table            *t = i->denials.n > 0 ? table_open(heads) : NULL;

	for (size_t k = 0; t != NULL && k < i->denials.n; k++) {
		const struct msg_net_denial *d = &i->denials.v[k];

		table_cell(t, RED, "%s", msg_enum_name(MSG_NET_DENIAL, "kind", (int)d->kind));
		table_cell(t, PLAIN, "%s", d->address);
		table_cell(t, PLAIN, "%lu", d->port);
		table_cell(t, PLAIN, "%s", d->name);
		table_cell(t, PLAIN, "%s", d->rule);
		table_cell(t, PLAIN, "%lu", d->count);
		table_cell(t, PLAIN, "%s ago", text_duration(text_age_us(d->at_ms)));
	}
	if (t != NULL) {
		putchar('\n');
		table_print(t);
	}
	table_close(&t);
}

static void
print_all(const void *body)
{
	print_numbers(body);
	print_flows(body);
	print_denials(body);
}

/* ---- rules ---------------------------------------------------------------------- */

static void
print_ranges(void)
{
	unsigned               n;
	const struct netrange *all = netranges(&n);

	puts("# what no rule says: the internet, and not these, nor this host's own addresses");
	for (unsigned i = 0; i < n; i++)
		printf("deny %s/%u  # %s%s\n", all[i].text, all[i].prefix, all[i].what, all[i].never ? ", always" : "");
}

static void
print_rules(const void *body)
{
	const struct msg_net_rules_result *r = body;

	if (*r->file != '\0')
		printf("# %s\n", text_safe(r->file));
	for (size_t i = 0; i < r->sets.n; i++) {
		const struct msg_net_set *s = &r->sets.v[i];

		if (*s->name != '\0')
			printf("\n# [%s]\n", text_safe(s->name));
		for (size_t k = 0; k < s->rules.n; k++)
			printf("%s\n", text_safe(s->rules.v[k].text));
	}
	print_ranges();
}

static void
print_reloaded(const void *body)
{
	const struct msg_net_reloaded *r = body;

	if (*r->file == '\0')
		puts("no file of rules is configured (network.rules)");
	else
		printf("%s: %lu rule%s in force\n", text_safe(r->file), r->rules, r->rules == 1 ? "" : "s");
}

int
cmd_net(const struct args *a)
{
	struct err e;

	if (a->net_rules + a->net_reload + (a->n == 1) != 1) {
		err_set(&e, E_INVALID, "give a session, --rules or --reload");
		return usage_error("net", &e);
	}
	if (a->net_rules)
		return cmd_show(a, MSG_NET_RULES, &(struct msg_net_rules){}, print_rules);
	if (a->net_reload)
		return cmd_show(a, MSG_NET_RELOAD, &(struct msg_net_reload){}, print_reloaded);
	return cmd_show(a, MSG_NET, &(struct msg_net){ .session = a->v[0], .flows = true }, print_all);
}
