/* Session templates: placeholders, what stands in for what is missing, and what is no template. */
#include "supervisor/agent/template.h"
#include "tap.h"

static const struct template_values nobody = { "", "", "", "", "" };
static const struct template_values query = { .query_id = "q7", "", "", "", "" };
static const struct template_values person = { "q7", "person", "42", "", "" };
static const struct template_values all = { "q7", "group", "123456", "u9", "c3" };

TEST(expands)
{
	static const struct {
		const char *template;
		const struct template_values *values;
		const char                   *want;
	} rows[] = {
		{ DEFAULT_TEMPLATE, &person, "person_42" },
		{ DEFAULT_TEMPLATE, &all, "group_123456" },
		{ DEFAULT_TEMPLATE, &query, "query_q7" },
		{ DEFAULT_TEMPLATE, &nobody, "query_unknown" },
		{ "{global}", &all, "global" },
		{ "{launcher_type}_{launcher_id}_{sender_id}", &all, "group_123456_u9" },
		{ "{launcher_type}_{launcher_id}_{sender_id}", &person, "person_42_42" },
		{ "{sender_id}", &query, "q7" },
		{ "{sender_id}", &nobody, "unknown" },
		{ "{launcher_type}_{launcher_id}_{conversation_id}", &all, "group_123456_c3" },
		{ "{conversation_id}", &person, "unknown" },
		{ "{query_id}", &all, "q7" },
		{ "{query_id}", &nobody, "unknown" },
		{ "{pipeline}", &all, "unknown" },
		{ "{_x9}", &all, "unknown" },
		{ "{launcher_i}", &all, "unknown" },
		{ "{launcher_idx}", &all, "unknown" },
		{ "plain", &all, "plain" },
		{ "", &all, "" },
		{ "{{{global}}}", &all, "{global}" },
		{ "{{global}}", &all, "{global}" },
		{ "a}}b{{c", &all, "a}b{c" },
		{ "\xc3\xa4{global}", &all, "\xc3\xa4global" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct buf out = { 0 };
		struct err e = { .text = "" };

		cmp_ok(template_expand(&out, rows[i].template, rows[i].values, &e), "==", 0, "%s", rows[i].template);
		buf_append(&out, "", 1);
		is(out.data, rows[i].want, "is %s", rows[i].want);
		buf_clear(&out);
	}
}

/* A value is never a template itself. */
TEST(values_are_text)
{
	struct template_values v = all;
	struct buf             out = { 0 };
	struct err             e;

	v.launcher_id = "{global}}{";
	ok(template_expand(&out, "{launcher_id}", &v, &e) == 0, "braces in a value");
	buf_append(&out, "", 1);
	is(out.data, "{global}}{", "stay what they are");
	buf_clear(&out);
}

TEST(refuses)
{
	static const struct {
		const char *template, *says;
	} rows[] = {
		{ "{", "'\\{' is not closed at character 1$" },
		{ "a{global", "'\\{' is not closed at character 2$" },
		{ "{a{b}}", "'\\{' is not closed at character 1$" },
		{ "}", "'\\}' closes nothing at character 1$" },
		{ "ab}c", "'\\}' closes nothing at character 3$" },
		{ "{{}", "'\\}' closes nothing at character 3$" },
		{ "{}", "there is no name between the braces at character 2$" },
		{ "{0}", "a name, not a number, belongs between the braces" },
		{ "{global!r}", "only a name of letters, digits and _ .* at character 8$" },
		{ "{global:>9}", "only a name" },
		{ "{global.x}", "only a name" },
		{ "{global[0]}", "only a name" },
		{ "{ global }", "only a name" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct err e = { .text = "" };

		ok(template_check(rows[i].template, &e) == -1 && e.code == E_INVALID, "%s is no template",
		    rows[i].template);
		like(e.text, rows[i].says, "and it says why");
		like(e.text, "^session template '", "of what");
	}
}
