/* Files in chunks: whole and in order, bounded, seen by their own connection only, and gone when they are used. */
#include "actbox.h"
#include "check.h"
#include "tap.h"

#define CHUNK(key, bytes, index, amount)                                                        \
	"{\"file_key\": \"" key "\", \"chunk_base64\": \"" bytes "\", \"chunk_index\": " #index \
	", \"chunk_amount\": " #amount "}"

static const char *
chunk(const char *data)
{
	act_say("__file_chunk", data);
	ok(fakews_asked(&act_ws) == NULL, "nobody is asked");
	return fakews_sent(&act_ws);
}

static void
takes(const char *data)
{
	is(chunk(data), SUCCESS("{}"), "taken: %.80s", data);
}

static void
refuses(const char *data, const char *why)
{
	is(act_message(chunk(data)), why, "refused: %.80s", data);
}

static void
test_zip(void)
{
	takes(CHUNK("k-1.zip", "aGVsbG8g", 0, 2));
	takes(CHUNK("k-1.zip", "d29ybGQ=", 1, 2));
	cmp_ok(act_shared.upload_bytes, "==", LIM_UPLOAD_COST + 11, "eleven bytes are held, and a descriptor");
	const struct msg_skill_preview *p = act_asks(
	    "box_preview_skill_zip", "{\"file_key\": \"k-1.zip\"}", MSG_SKILL_PREVIEW);
	char bytes[12] = "";
	ok(p->archive.len == 11 && pread(p->archive.fd, bytes, 11, 0) == 11, "the archive is beside the message");
	is(bytes, "hello world", "with its bytes");
	is(p->filename, "skill.zip", "filename");
	is(p->source_subdir, "", "source_subdir");
	is(p->target_suffix, "upload", "target_suffix");
	cmp_ok(act_shared.upload_bytes, "==", 0, "and is not held any more");
	is(act_refusal("box_preview_skill_zip", "{\"file_key\": \"k-1.zip\"}"),
	    "BoxValidationError: [Errno 2] No such file or directory: 'k-1.zip'", "a key is good once");

	takes(CHUNK("e.zip", "", 0, 1));
	const struct msg_skill_install *i = act_asks("box_install_skill_zip",
	    "{\"file_key\": \"e.zip\", \"filename\": \"My Repo.v1.zip\", \"source_paths\": [\"a\", \"b\"], "
	    "\"source_path\": null, "
	    "\"source_subdir\": \"s\", \"target_suffix\": \"\"}",
	    MSG_SKILL_INSTALL);
	ok(i->archive.len == 0 && i->archive.data != NULL, "an empty file is one");
	ok(i->source_paths.n == 2 && strcmp(i->source_paths.v[1], "b") == 0, "source_paths");
	is(i->filename, "My Repo.v1.zip", "filename");
	is(i->source_subdir, "s", "source_subdir");
	is(i->target_suffix, "", "target_suffix");
}

static void
test_refused(void)
{
	refuses("{}", "KeyError: 'chunk_base64'");
	refuses("{\"file_key\": \"a b\"}", "KeyError: 'chunk_base64'");
	refuses(CHUNK("a b", "a b=", 0, 1), "Error: Only base64 data is allowed");
	refuses("{\"chunk_base64\": \"\", \"chunk_index\": 0, \"chunk_amount\": 1}", "KeyError: 'file_key'");
	refuses("{\"file_key\": \"a\", \"chunk_base64\": \"\"}", "KeyError: 'chunk_index'");
	refuses("{\"file_key\": \"a\", \"chunk_base64\": \"\", \"chunk_index\": 0}", "KeyError: 'chunk_amount'");
	static const char *const keys[] = { "", ".a", "a b", "a/b", "a..b", " a", "-a", "a\\u0000" };
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++) {
		char data[200];

		snprintf(data, sizeof(data),
		    "{\"file_key\": \"%s\", \"chunk_base64\": \"\", \"chunk_index\": 0, \"chunk_amount\": 1}", keys[i]);
		refuses(data, "ValueError: Invalid file transfer key");
	}
	refuses("{\"file_key\": 5, \"chunk_base64\": \"\", \"chunk_index\": 0, \"chunk_amount\": 1}",
	    "ValueError: Invalid file transfer key");
	refuses(CHUNK("a", "", 0, 0), "ValueError: Invalid file chunk position");
	refuses(CHUNK("a", "", -1, 1), "ValueError: Invalid file chunk position");
	refuses(CHUNK("a", "", 1, 1), "ValueError: Invalid file chunk position");
	refuses(CHUNK("a", "", true, 2), "ValueError: Invalid file chunk position");
	refuses(CHUNK("a", "", 0, 1.0), "ValueError: Invalid file chunk position");
	refuses(CHUNK("a", "a b=", 0, 1), "Error: Only base64 data is allowed");
	refuses(CHUNK("a", "YQ==YQ==", 0, 1), "Error: Only base64 data is allowed");
	refuses(CHUNK("a", "YQ\\n==", 0, 1), "Error: Only base64 data is allowed");
	refuses(CHUNK("a", "YQ=", 0, 1), "Error: Incorrect padding");
	refuses("{\"file_key\": \"a\", \"chunk_base64\": null, \"chunk_index\": 0, \"chunk_amount\": 1}",
	    "ValueError: File transfer chunk exceeds the protocol limit");
}

/* A chunk of so many base64 characters. */
static char *
big(size_t characters, const char *tail, int index, int amount)
{
	char *s = malloc(characters + 200);
	int   n = sprintf(s, "{\"file_key\": \"big\", \"chunk_index\": %d, \"chunk_amount\": %d, \"chunk_base64\": \"",
	      index, amount);

	memset(s + n, 'A', characters);
	strcpy(s + n + characters - strlen(tail), tail);
	strcat(s, "\"}");
	return s;
}

static void
test_sizes(void)
{
	char *most = big(21848, "==", 0, 1), *one_more = big(21848, "=", 0, 1), *longer = big(21852, "==", 0, 1);

	takes(most);
	cmp_ok(act_shared.upload_bytes, "==", LIM_UPLOAD_COST + 16384, "16384 bytes are taken");
	refuses(one_more, "ValueError: File transfer chunk exceeds the protocol limit");
	refuses(longer, "ValueError: File transfer chunk exceeds the protocol limit");
	free(most);
	free(one_more);
	free(longer);

	act_shared.max_rpc_file_bytes = 5;
	refuses(CHUNK("s", "aGVsbG8g", 0, 1), "ValueError: File transfer exceeds the configured size limit");
	takes(CHUNK("s", "aGVs", 0, 2));
	refuses(CHUNK("s", "aGVs", 1, 2), "ValueError: File transfer exceeds the configured size limit");
	act_shared.max_rpc_file_bytes = 20971520;
	size_t held = act_shared.upload_bytes;
	act_shared.upload_bytes = LIM_UPLOADS_BYTES - 2;
	refuses(CHUNK("t", "aGVs", 0, 1), "ValueError: Active file transfer capacity reached");
	act_shared.upload_bytes = held;
}

static void
test_order(void)
{
	static const char misplaced[] = "ValueError: Invalid file transfer capability";

	refuses(CHUNK("o", "YQ==", 1, 3), misplaced);
	takes(CHUNK("o", "YQ==", 0, 3));
	refuses(CHUNK("o", "YQ==", 0, 3), misplaced);
	refuses(CHUNK("o", "YQ==", 2, 3), misplaced);
	refuses(CHUNK("o", "YQ==", 1, 4), misplaced);
	takes(CHUNK("o", "YWI=", 1, 3));
	refuses(CHUNK("o", "YWI=", 1, 3), misplaced);
	takes(CHUNK("w", "YQ==", 0, 1));
	refuses(CHUNK("w", "YQ==", 0, 1), misplaced);
	refuses(CHUNK("w", "YQ==", 1, 2), misplaced);
	const struct msg_skill_preview *p = act_asks(
	    "box_preview_skill_zip", "{\"file_key\": \"w\"}", MSG_SKILL_PREVIEW);
	cmp_ok(p->archive.len, "==", 1, "what came out of place has changed nothing");
	takes(CHUNK("w", "YQ==", 0, 1)); /* consumed: its key is free again */
	is(act_refusal("box_install_skill_zip", "{\"file_key\": \"o\"}"),
	    "BoxValidationError: Uploaded file is not whole: 2 of 3 chunks came", "half a file is not installed");
	takes("{\"file_key\": \"l\", \"chunk_base64\": \"YQ==\", \"chunk_index\": 0, \"chunk_amount\": 1, "
	      "\"file_length\": 1, \"chunk_size\": 16384}");
	refuses("{\"file_key\": \"m\", \"chunk_base64\": \"YQ==\", \"chunk_index\": 0, \"chunk_amount\": 1, "
		"\"file_length\": 2}",
	    "ValueError: File transfer is not as long as its file_length");
	is(act_refusal("box_install_skill_zip", "{\"file_key\": \"m\"}"),
	    "BoxValidationError: [Errno 2] No such file or directory: 'm'", "what was wrong is gone");
}

static void
test_count(void)
{
	char data[200];

	for (int i = 0; i < 128; i++) {
		snprintf(data, sizeof(data),
		    "{\"file_key\": \"n%d\", \"chunk_base64\": \"\", \"chunk_index\": 0, \"chunk_amount\": 1}", i);
		fakews_text(&act_ws, "{}");
		act_say("__file_chunk", data);
	}
	is(fakews_sent(&act_ws), SUCCESS("{}"), "the 128th file is taken");
	refuses(CHUNK("n128", "", 0, 1), "ValueError: Active file transfer capacity reached");
	act_say("box_preview_skill_zip", "{\"file_key\": \"n5\"}");
	fakews_forget(&act_ws);
	takes(CHUNK("n128", "", 0, 1));
}

static void
alone(void (*test)(void))
{
	int before = open_fds();

	act_open();
	test();
	act_close();
	cmp_ok(open_fds(), "==", before, "no descriptor is left");
	cmp_ok(act_shared.upload_bytes, "==", 0, "and no byte counted");
}

int
main(void)
{
	alone(test_zip);
	alone(test_refused);
	alone(test_sizes);
	alone(test_order);
	alone(test_count);
	done_testing();
}
