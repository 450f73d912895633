/* Manifests: digests as LangBot computes them, and its words for every one that is refused. */
#include "base/buf.h"
#include "tap.h"
#include "workers/artifact/manifest.h"

#define HI "19812277b04a5a988e4dc361617bcb927d4297c47353da93aa992ac007f1f3cf"
#define RUN "299001868fb8c02fd431c336c6d058f5558c5dff5b5af5e6fe04b870a6a9cbba"
#define X "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881"
#define FILE_OF(path, size) \
	"{\"path\": \"" path "\", \"size\": " size ", \"sha256\": \"" HI "\", \"executable\": false}"
#define TREE(files, total) "{\"algorithm\": \"sha256-tree-v1\", \"files\": [" files "], \"total_bytes\": " total "}"

/* Its digest, or why there is none. */
static const char *
digest(const char *text, size_t n)
{
	static char     out[ERR_TEXT + 32];
	struct manifest m;
	struct err      e = { 0 };

	if (manifest_read(&m, text, n, &e) == -1)
		snprintf(out, sizeof(out), "%s%s", e.code == E_ARTIFACT ? "" : "not an artifact's: ", e.text);
	else
		snprintf(out, sizeof(out), "%s", m.digest);
	manifest_clear(&m);
	return out;
}

static const char *
of(const char *text)
{
	return digest(text, strlen(text));
}

TEST(has_the_digest_of_langbot)
{
	is(of(TREE(FILE_OF("SKILL.md", "5"), "5")),
	    "sha256:86d45b4acbf7fba51dd0ac4c61ce3d9527024373edff9b3d9a6aeb1b0a7d0a21", "one file");
	const char *three = TREE(FILE_OF("SKILL.md", "5") ", {\"executable\": true, \"sha256\": \"" RUN
							  "\", \"size\": 18, \"path\": \"scripts/run.sh\"}, {\"path\": "
							  "\"\\u00e9/\xc3\xbc.txt\", \"size\": 1, \"sha256\": \"" X
							  "\", \"executable\": false}",
	    "24");
	is(of(three), "sha256:f1e797143f4bbe8dfe06d03b9a98bb3b28621f7513e963ae48f86647d0034a7c",
	    "order, keys in any order, characters beyond ASCII escaped or not");
	is(of("\xef\xbb\xbf" TREE(FILE_OF("SKILL.md", "5"), "5")),
	    "sha256:86d45b4acbf7fba51dd0ac4c61ce3d9527024373edff9b3d9a6aeb1b0a7d0a21", "a byte order mark in front");
	is(of(TREE("", "0")), "sha256:8e00d1a31787e59c19fc53875e374237e940789d1de2f1bee5273985a41f4e79", "no file");
	is(of(TREE(FILE_OF("a\\tb\\u0001\\u007f\\\"", "-0"), "0")),
	    "sha256:2f09800e84473cf8fe47c89cd665e64bd99a4122063adaacd63ac62aeaaeadf5", "what JSON escapes");
}

static const struct {
	const char *text, *why;
} refused[] = {
	{ "", "is invalid JSON" },
	{ "{", "is invalid JSON" },
	{ TREE("", "0") "x", "is invalid JSON" },
	{ "{\"algorithm\": \"\xff\"}", "is invalid JSON" },
	{ "{\"algorithm\": \"\xc0\xaf\"}", "is invalid JSON" },
	{ "[]", "has an invalid shape" },
	{ "\"algorithm\"", "has an invalid shape" },
	{ "{}", "has an invalid shape" },
	{ "{\"algorithm\": \"x\", \"files\": []}", "has an invalid shape" },
	{ "{\"algorithm\": \"x\", \"files\": [], \"total_bytes\": 0, \"more\": 1}", "has an invalid shape" },
	{ "{\"algorithm\": \"sha256\", \"files\": [], \"total_bytes\": 0}", "uses an unsupported algorithm" },
	{ "{\"algorithm\": null, \"files\": 5, \"total_bytes\": 0}", "uses an unsupported algorithm" },
	{ "{\"algorithm\": \"sha256-tree-v1\", \"files\": {}, \"total_bytes\": 0}", "contains too many files" },
	{ "{\"algorithm\": \"sha256-tree-v1\", \"files\": [], \"files\": 1, \"total_bytes\": 0}",
	    "contains too many files" },
	{ TREE("5", "0"), "contains an invalid file entry" },
	{ TREE("[]", "0"), "contains an invalid file entry" },
	{ TREE("{\"path\": \"a\", \"size\": 0, \"sha256\": \"" HI "\"}", "0"), "contains an invalid file entry" },
	{ TREE("{\"path\": \"a\", \"size\": 0, \"sha256\": \"" HI "\", \"executable\": false, \"mode\": 1}", "0"),
	    "contains an invalid file entry" },
	{ TREE(FILE_OF("", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("/a", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a/../b", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("..", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF(".", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a//b", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a\\\\b", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a/", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("../x", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a/./b", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a\\u0000b", "5"), "5"), "contains an unsafe path" },
	{ TREE(FILE_OF("a", "5") ", " FILE_OF("a", "5"), "10"), "contains an unsafe path" },
	{ TREE("{\"path\": 5, \"size\": 0, \"sha256\": \"" HI "\", \"executable\": false}", "0"),
	    "contains an unsafe path" },
	{ TREE(FILE_OF("a", "true"), "1"), "contains an invalid file size" },
	{ TREE(FILE_OF("a", "-1"), "-1"), "contains an invalid file size" },
	{ TREE(FILE_OF("a", "5.0"), "5"), "contains an invalid file size" },
	{ TREE(FILE_OF("a", "1e1"), "10"), "contains an invalid file size" },
	{ TREE(FILE_OF("a", "\\\"5\\\""), "5"), "is invalid JSON" },
	{ TREE("{\"path\": \"a\", \"size\": 0, \"sha256\": \""
	       "A9812277b04a5a988e4dc361617bcb927d4297c47353da93aa992ac007f1f3cf\", "
	       "\"executable\": false}",
	      "0"),
	    "contains an invalid file digest" },
	{ TREE("{\"path\": \"a\", \"size\": 0, \"sha256\": \"12\", \"executable\": false}", "0"),
	    "contains an invalid file digest" },
	{ TREE("{\"path\": \"a\", \"size\": 0, \"sha256\": \"" HI "\", \"executable\": 1}", "0"),
	    "contains an invalid file mode" },
	{ TREE(FILE_OF("a", "5"), "6"), "contains an invalid total size" },
	{ TREE(FILE_OF("a", "5"), "5.0"), "contains an invalid total size" },
	{ TREE(FILE_OF("a", "1"), "true"), "contains an invalid total size" },
	{ TREE(FILE_OF("a", "268435457"), "268435457"), "contains an invalid total size" },
	{ TREE(FILE_OF("a", "36893488147419103232"), "36893488147419103232"), "contains an invalid total size" },
	{ TREE(
	      FILE_OF("a", "9223372036854775807") ", " FILE_OF("b", "9223372036854775807") ", " FILE_OF("c", "7"), "5"),
	    "contains an invalid total size" },
};

TEST(refuses_what_langbot_refuses)
{
	char want[128];

	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		snprintf(want, sizeof(want), "Artifact manifest %s", refused[i].why);
		is(of(refused[i].text), want, "%s", refused[i].text);
	}
	is(digest("{\"algorithm\": \"a\0b\"}", 20), "Artifact manifest is invalid JSON", "a NUL in the text");
	like(of(TREE(FILE_OF("a", "268435456"), "268435456")), "^sha256:", "the largest");
}

/* The first fault is told, by upstream's order: the file's, then the next file's, and the sum last. */
TEST(tells_the_first_fault)
{
	is(of(TREE(FILE_OF("/a", "-1"), "7")), "Artifact manifest contains an unsafe path", "of one file");
	is(of(TREE(FILE_OF("a", "-1") ", " FILE_OF("/b", "1"), "7")), "Artifact manifest contains an invalid file size",
	    "of two");
	is(of("{\"algorithm\": 1, \"files\": [{}], \"total_bytes\": -1}"),
	    "Artifact manifest uses an unsupported algorithm", "of all");
	is(of("{\"files\": [[[{\"path\": {\"path\": [5]}}]]], \"algorithm\": {\"algorithm\": "
	      "[\"sha256-tree-v1\"]}, \"total_bytes\": [0]}"),
	    "Artifact manifest uses an unsupported algorithm", "what is nested deeper is not mistaken");
	is(of("{\"algorithm\": \"bad\", \"algorithm\": \"sha256-tree-v1\", \"files\": [7], \"files\": [], "
	      "\"total_bytes\": 9, \"total_bytes\": 0}"),
	    "sha256:8e00d1a31787e59c19fc53875e374237e940789d1de2f1bee5273985a41f4e79",
	    "of two equal keys the last counts");
}

/* n files, each at format of its number. */
static const char *
many(size_t n, const char *format)
{
	struct buf b = { 0 };
	char       path[256];

	buf_printf(&b, "{\"algorithm\": \"sha256-tree-v1\", \"total_bytes\": 0, \"files\": [");
	for (size_t i = 0; i < n; i++) {
		snprintf(path, sizeof(path), format, i, i, i);
		buf_printf(&b, "%s{\"path\": \"%s\", \"size\": 0, \"sha256\": \"" HI "\", \"executable\": false}",
		    i > 0 ? "," : "", path);
	}
	buf_printf(&b, "]}");
	const char *out = digest(b.data, b.len);
	buf_clear(&b);
	return out;
}

TEST(is_bounded)
{
	like(many(2048, "f%zu"), "^sha256:", "2048 files");
	is(many(2049, "f%zu"), "Artifact manifest contains too many files", "2049 files");
	is(many(100000, "f%zu"), "Artifact manifest contains too many files", "100000 files");
	like(many(2048, "d%zu/e%zu/f%zu"), "^sha256:", "4096 directories");
	is(many(2048, "d%zu/e%zu/e%zu/f"), "Artifact manifest contains too many directories", "6144 directories");
	char *deep = malloc(200001);
	memset(deep, '[', 200000);
	deep[200000] = '\0';
	is(of(deep), "Artifact manifest is invalid JSON", "200000 arrays in each other");
	free(deep);
}

TEST(counts_directories)
{
	cmp_ok(manifest_new_dirs("", "a"), "==", 0, "none");
	cmp_ok(manifest_new_dirs("", "a/b/c"), "==", 2, "two");
	cmp_ok(manifest_new_dirs("a/b/x", "a/b/c"), "==", 0, "the same");
	cmp_ok(manifest_new_dirs("a/b/x", "a/bb/c"), "==", 1, "another of the same beginning");
	cmp_ok(manifest_new_dirs("a/b", "a/b/c"), "==", 1, "one that was a file");
}
