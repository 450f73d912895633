/* The frontmatter of a skill is read as PyYAML and Python's str would, and reads back as it was written. */
#include "tap.h"
#include "workers/store/skills/front.h"

/* "name / body", with - for no name; "error" for broken YAML */
static const char *
seen(const char *text)
{
	static char  out[4096];
	struct front f;
	struct err   e = { 0 };

	if (front_read(&f, span_of(text), &e) == -1)
		return "error";
	const char *name = f.value[FRONT_NAME];
	snprintf(out, sizeof(out), "%s / %.*s", name != NULL ? name : "-", (int)f.body.n, f.body.p);
	front_clear(&f);
	return out;
}

static const char *
typed(const char *value)
{
	static char  out[8192];
	char         text[8192];
	struct front f;
	struct err   e = { 0 };

	snprintf(text, sizeof(text), "---\ndescription: %s\n---\n", value);
	if (front_read(&f, span_of(text), &e) == -1)
		return "error";
	snprintf(out, sizeof(out), "%s", f.value[FRONT_DESCRIPTION] != NULL ? f.value[FRONT_DESCRIPTION] : "-");
	front_clear(&f);
	return out;
}

TEST(fences)
{
	is(seen("---\nname: a\n---\n\n\nbody"), "a / body", "leading line feeds of the body go");
	is(seen("---  \nname: a\n --- \nbody"), "a / body", "blanks around a fence do not matter");
	is(seen("----\nname: a\n---\nb"), "- / ----\nname: a\n---\nb", "four dashes are no fence");
	is(seen("---\r\nname: a\r\n---\r\n\r\nbody\r\n"), "a / \r\nbody\r\n",
	    "a blank line with a carriage return stays");
	is(seen("---\n- a\n---\nb"), "- / b", "a list is ignored");
	is(seen("---\nname: a"), "- / ---\nname: a", "without an end there is no frontmatter");
	is(seen("\xef\xbb\xbf---\nname: a\n---\nb"), "- / \xef\xbb\xbf---\nname: a\n---\nb",
	    "nor behind a byte order mark");
	is(seen("---\nname: [a\n---\nb"), "error", "broken YAML is an error");
	is(seen("---\n---\nb"), "- / b", "empty frontmatter is none");
	is(seen(""), "- / ", "an empty file has an empty body");
	is(seen("---"), "- / ---", "a fence alone is the body");
	is(seen("---\x0bname: a\x0b---\x0b"
		"b"),
	    "error", "a vertical tab ends a line, but YAML has none");
	is(seen("---\n# \xe2\x80\xa8---\xe2\x80\xa8rest"), "- / rest", "a line separator ends a line");
	is(seen("---\x1cname: a\n---\nrest"), "a / rest", "so does a file separator");
	is(seen("---\nname: a\n...\nfoo\n---\nb"), "error", "two documents are one too many");
}

static const char *const types[][2] = {
	{ "yes", "True" },
	{ "Off", "-" },
	{ "y", "y" },
	{ "TRUE", "True" },
	{ "tRUE", "tRUE" },
	{ "~", "-" },
	{ "null", "-" },
	{ "nULL", "nULL" },
	{ "123", "123" },
	{ "0", "-" },
	{ "-0", "-" },
	{ "+12", "12" },
	{ "1_000", "1000" },
	{ "0x10", "16" },
	{ "0X10", "0X10" },
	{ "-0x1F", "-31" },
	{ "010", "8" },
	{ "08", "08" },
	{ "0o7", "0o7" },
	{ "0b101", "5" },
	{ "0b_", "error" },
	{ "1:30", "90" },
	{ "1:30:45", "5445" },
	{ "1:60", "1:60" },
	{ "99999999999999999999999999", "99999999999999999999999999" },
	{ "0xffffffffffffffffffffff", "309485009821345068724781055" },
	{ "1.5", "1.5" },
	{ "1.0", "1.0" },
	{ "0.0", "-" },
	{ "1e3", "1e3" },
	{ "1.0e3", "1.0e3" },
	{ "1.0e+3", "1000.0" },
	{ "1e+3", "1e+3" },
	{ ".5", "0.5" },
	{ "-.5", "-.5" },
	{ "5.", "5.0" },
	{ "1.0e+16", "1e+16" },
	{ "1.0e-5", "1e-05" },
	{ "0.0001", "0.0001" },
	{ "0.1", "0.1" },
	{ "0.30000000000000004", "0.30000000000000004" },
	{ "123456789.123456789", "123456789.12345679" },
	{ "1234567890123456.0", "1234567890123456.0" },
	{ "685_230.15", "685230.15" },
	{ "190:20:30.15", "685230.15" },
	{ ".inf", "inf" },
	{ "-.INF", "-inf" },
	{ ".nan", "nan" },
	{ "1.0e+400", "inf" },
	{ "2024-01-02", "2024-01-02" },
	{ "2024-1-2", "2024-1-2" },
	{ "2024-02-30", "error" },
	{ "2023-02-29", "error" },
	{ "2024-02-29", "2024-02-29" },
	{ "0000-01-01", "error" },
	{ "2001-12-14 21:59:43", "2001-12-14 21:59:43" },
	{ "2001-12-14t21:59:43.10-05:00", "2001-12-14 21:59:43.100000-05:00" },
	{ "2001-12-15T02:59:43.1Z", "2001-12-15 02:59:43.100000+00:00" },
	{ "2001-12-14 21:59:43.10 -5", "2001-12-14 21:59:43.100000-05:00" },
	{ "2001-12-14 21:59:43.1234567", "2001-12-14 21:59:43.123456" },
	{ "2001-12-14 21:59:60", "error" },
	{ "2001-12-14 21:59:43 +25:00", "error" },
	{ "'123'", "123" },
	{ "\"yes\"", "yes" },
	{ "!!str yes", "yes" },
	{ "!!int '5'", "5" },
	{ "! 010", "010" },
	{ "!foo x", "error" },
	{ "=", "error" },
	{ "<<", "error" },
	{ "*u", "error" },
	{ "a # b", "a" },
	{ "a: b", "error" },
	{ "  x  ", "x" },
	{ "\"\\x41\\u00e9\"", "A\xc3\xa9" },
	{ "\"a\\0b\"", "a b" },
	{ "[]", "-" },
	{ "[a, 1.5, yes, null]", "['a', 1.5, True, None]" },
	{ "{a: 1, b: [x]}", "{'a': 1, 'b': ['x']}" },
	{ "[\"it's\"]", "[\"it's\"]" },
	{ "|\n  b\n  c", "b\nc" },
	{ ">\n  b\n  c", "b c" },
};

TEST(types)
{
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		is(typed(types[i][0]), types[i][1], "%s is %s", types[i][0], types[i][1]);
}

TEST(names)
{
	is(seen("---\nname: a\nname: b\n---\n"), "b / ", "the last of two keys counts");
	is(seen("---\nbase: &b {name: m}\n<<: *b\n---\n"), "m / ", "a merged map gives what is missing");
	is(seen("---\nbase: &b {name: m}\n<<: *b\nname: own\n---\n"), "own / ", "and not what is there");
	is(seen("---\nx: &b {name: m}\ny: &c {name: n}\n<<: [*b, *c]\n---\n"), "m / ", "the first of several");
	is(seen("---\nx: &x\n  <<: *x\n---\n"), "- / ", "a map that is merged into itself ends");
	is(seen("---\n'name': q\n---\n"), "q / ", "a quoted key is the same");
	is(seen("---\n? [a]\n: b\n---\n"), "error", "a list is no key");
	is(seen("---\nname: a\nother: 2024-99-99\n---\n"), "error", "what nobody asks for must be valid, too");
}

/* Each level names the one before ten times; told as text it would be 10^9 values. */
TEST(bombs)
{
	struct buf   b = { 0 };
	struct front f;
	struct err   e = { 0 };

	buf_printf(&b, "---\na0: &a0 [x]\n");
	for (int i = 1; i < 10; i++) {
		buf_printf(&b, "a%d: &a%d [", i, i);
		for (int k = 0; k < 10; k++)
			buf_printf(&b, "%s*a%d", k > 0 ? ", " : "", i - 1);
		buf_printf(&b, "]\n");
	}
	buf_printf(&b, "name: ok\n---\n");
	cmp_ok(front_read(&f, (struct span){ b.data, b.len }, &e), "==", 0, "aliases that multiply cost nothing");
	front_clear(&f);
	b.len -= strlen("name: ok\n---\n");
	buf_printf(&b, "name: *a9\n---\n");
	cmp_ok(front_read(&f, (struct span){ b.data, b.len }, &e), "==", -1, "and are no name");
	buf_clear(&b);
	buf_printf(&b, "---\nname: ");
	for (int i = 0; i < 5000; i++)
		buf_append(&b, "[", 1);
	buf_printf(&b, "\n---\n");
	cmp_ok(front_read(&f, (struct span){ b.data, b.len }, &e), "==", -1, "deep nesting is refused");
	buf_clear(&b);
	buf_printf(&b, "---\n");
	for (int i = 0; i < 20000; i++)
		buf_printf(&b, "k%d: 1\n", i);
	buf_printf(&b, "---\n");
	cmp_ok(front_read(&f, (struct span){ b.data, b.len }, &e), "==", -1, "20000 keys are refused");
	like(e.text, "more than 10000 values", "with the reason");
	buf_clear(&b);
}

static const char *const written[] = { "plain", "two words", "123", "yes", "d: x", "# no", "it's", "say \"hi\"", "a\nb",
	"tab\there", " lead", "trail ", "-", "- x", "? x", "[a]", "{a}", "*a", "&a", "!a", "%a", "@a", "`a", "|", ">",
	"1.5", "2024-01-02", "~", "null", "a: b: c", "x:", "\xc3\xa9t\xc3\xa9 \xe6\x97\xa5\xe6\x9c\xac",
	"a\xc2\x85"
	"b",
	"a\xe2\x80\xa8"
	"b",
	"\xef\xbb\xbfx", "\x01\x7f", "\\n", "---", "...", "=", "<<", "a #b", "a#b", "f(x) = 1; y!", "\xf0\x9f\x98\x80",
	"0x10", "1e3", ".inf", "\xc2\xa0x", "C-3.0/x_y", "a, b" };

TEST(writing)
{
	struct buf   out = { 0 };
	struct front f;
	struct err   e = { 0 };

	for (size_t i = 0; i < sizeof(written) / sizeof(*written); i++) {
		const char *const value[FRONT__COUNT] = { "demo", NULL, written[i] };
		struct span       want = text_strip(span_of(written[i]));

		buf_clear(&out);
		front_write(&out, value, span_of("\nbody"));
		bool same = front_read(&f, (struct span){ out.data, out.len }, &e) == 0 &&
			    f.value[FRONT_DESCRIPTION] != NULL && span_is(want, f.value[FRONT_DESCRIPTION]) &&
			    strcmp(f.value[FRONT_NAME], "demo") == 0;
		ok(same, "value %zu reads back as it was written", i);
		if (!same)
			diag("%.*s", (int)out.len, out.data);
		front_clear(&f);
	}
	buf_clear(&out);
	front_write(&out, (const char *const[FRONT__COUNT]){ "demo", "D\xc3\xa9mo 1", "d: x" }, span_of("# Hi"));
	buf_append(&out, "", 1);
	is(out.data, "---\nname: demo\ndisplay_name: D\xc3\xa9mo 1\ndescription: 'd: x'\n---\n\n# Hi",
	    "as upstream writes it");
	buf_clear(&out);
	front_write(&out, (const char *const[FRONT__COUNT]){ NULL, "", " \t" }, span_of("text"));
	buf_append(&out, "", 1);
	is(out.data, "text", "without a field there is no frontmatter");
	buf_clear(&out);
}

TEST(paths)
{
	static const char *const paths[][2] = { { "", "." }, { ".", "." }, { "a/./b//c/", "a/b/c" }, { "a/../b", "b" },
		{ "../a", "../a" }, { "a/../../b", "../b" }, { "/a/../..", "/" }, { "//a", "//a" }, { "///a", "/a" },
		{ "..foo", "..foo" }, { "../../x", "../../x" } };
	char                     out[LIM_PATH + 1];

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++) {
		text_normpath(span_of(paths[i][0]), out);
		is(out, paths[i][1], "'%s' is normal as %s", paths[i][0], paths[i][1]);
	}
}
