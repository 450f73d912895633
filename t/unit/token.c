/* The secret of LangBot's door: where it comes from, what is refused, and that it is not kept. */
#include "host/tokenfile.h"
#include "supervisor/auth/instance.h"
#include "supervisor/auth/token.h"
#include "tap.h"

#define SECRET "0123456789abcdefghijklmnopqrstuv" /* 32, the least */

static struct config config;
static struct token  token;
static struct err    why;
static char          dir[] = "/tmp/boxd-t-token-XXXXXX";
static char          file[64];

static void
put(const char *text, mode_t mode)
{
	FILE *f;

	unlink(file);
	f = fopen(file, "w");
	must(f != NULL && fputs(text, f) != EOF && fclose(f) == 0 && chmod(file, mode) != -1, "%s", file);
}

static int
find(const char *env, const char *path)
{
	if (env != NULL)
		setenv(TOKEN_ENV, env, 1);
	else
		unsetenv(TOKEN_ENV);
	snprintf(config.token_file, sizeof(config.token_file), "%s", path);
	why = (struct err){ 0 };
	return token_find(&token, &config, &why);
}

static bool
holds(const void *where, size_t n, const char *text)
{
	return memmem(where, n, text, strlen(text)) != NULL;
}

TEST(from_the_environment)
{
	put("another-secret-that-is-long-enough-too\n", 0600);
	ok(find("  " SECRET "\n", file) == 0 && token.set,
	    "the environment goes before the file; blanks around are cut off");
	ok(token_matches(&token, SECRET), "it is the one");
	ok(!token_matches(&token, SECRET "x") && !token_matches(&token, "") && !token_matches(&token, "0123456789"),
	    "others are not");
	ok(getenv(TOKEN_ENV) == NULL, "the variable is gone");
	ok(!holds(&token, sizeof(token), SECRET), "what is kept is not the secret");
	is(token.path, "", "there is no file");
	ok(find(" \t ", "") == 0 && !token.set, "a blank one is none");
	ok(!token_matches(&token, ""), "and none matches nothing");
	find(SECRET, "");
	unsigned char first[sizeof(token.hash)];
	memcpy(first, token.hash, sizeof(first));
	find(SECRET, "");
	ok(memcmp(first, token.hash, sizeof(first)) != 0, "the same secret has another hash each time");
}

TEST(environment_refuses)
{
	static const char text[] =
	    "LANGBOT_BOX_CONTROL_TOKEN must be a non-whitespace secret of at least 32 characters";

	cmp_ok(find("0123456789abcdefghijklmnopqrstu", ""), "==", -1, "31 characters are too few");
	is(why.text, text, "in upstream's words");
	ok(getenv(TOKEN_ENV) == NULL, "and gone as well");
	cmp_ok(find("0123456789abcdef 0123456789abcdef", ""), "==", -1, "a blank inside is refused");
	is(why.text, text, "in the same words");
}

static void
refuses_file(const char *text, mode_t mode, const char *regex, const char *name)
{
	put(text, mode);
	cmp_ok(find(NULL, file), "==", -1, "%s", name);
	like(why.text, regex, "and it is told");
	unlike(why.text, "secret-", "without the secret");
}

TEST(from_a_file)
{
	put("\n" SECRET "\r\n", 0600);
	ok(find(NULL, file) == 0 && token_matches(&token, SECRET), "a file");
	put(SECRET, 0640);
	ok(find(NULL, file) == 0, "its group may read it");
	refuses_file("secret-0123456789abcdefghijklmnop-long", 0644, "^token_file: .* has mode 0644: .*chmod 600",
	    "others may not");
	refuses_file("secret-0123456789abcdefghijklmnop-long", 0660, "has mode 0660", "nor may its group write it");
	refuses_file(
	    "secret-short\n", 0600, "must hold a non-whitespace secret of at least 32 characters", "too short");
	refuses_file(
	    "secret-0123456789abcdefghi\nsecret-jklmnopqrs\n", 0600, "must hold a non-whitespace secret", "two lines");
	refuses_file("", 0600, "must hold a non-whitespace secret", "empty");
	cmp_ok(find(NULL, dir), "==", -1, "a directory");
	like(why.text, "is not a regular file", "is none");
	cmp_ok(find(NULL, "/nowhere/at/all"), "==", -1, "a file that is not there");
	is(why.text, "token_file: open /nowhere/at/all: No such file or directory", "is an error");
	ok(find(NULL, "") == 0 && !token.set, "no file is none");
}

TEST(made_once)
{
	struct stat st;
	char        made[128], first[LIM_TOKEN + 1], again[LIM_TOKEN + 1];

	find(NULL, "");
	ok(token_settle(&token, dir, &why) == 0 && token.set, "the first start makes one");
	snprintf(made, sizeof(made), "%s/keys", dir);
	ok(stat(made, &st) == 0 && (st.st_mode & 07777) == 0700, "in a directory that is closed");
	snprintf(made, sizeof(made), "%s/keys/langbot.token", dir);
	ok(stat(made, &st) == 0 && (st.st_mode & 07777) == 0600 && S_ISREG(st.st_mode), "in a file that is closed");
	cmp_ok(st.st_size, "==", 44, "32 bytes and a newline");
	is(token.path, made, "and known where");
	tokenfile_read(made, first, &why);
	like(first, "^[A-Za-z0-9_-]{43}$", "in letters for URLs");
	ok(token_matches(&token, first), "it is in force");
	find(NULL, "");
	ok(token_settle(&token, dir, &why) == 0 && token_matches(&token, first), "the next start finds it");

	ok(tokenfile_make(made, &why) == 0, "another can be made");
	tokenfile_read(made, again, &why);
	isnt(again, first, "which is another");
	ok(token_matches(&token, again) && !token_matches(&token, first), "and is in force at the next question");
	chmod(made, 0644);
	ok(token_matches(&token, again), "a file that must not be used leaves the old one in force");
	unlink(made);
	ok(token_matches(&token, again), "so does one that is gone");
	unlink(made);
	snprintf(made, sizeof(made), "%s/keys", dir);
	rmdir(made);
}

TEST(instances)
{
	char longest[131];

	memset(longest, 'x', sizeof(longest));
	longest[128] = '\0';
	ok(instance_is_valid("0b7f7a4e-6d0f-4f6b-9d53-0f8f6a1f0001") && instance_is_valid("a.b_c:d-") &&
		instance_is_valid(longest),
	    "ids of instances");
	longest[128] = 'x';
	longest[129] = '\0';
	ok(!instance_is_valid(longest) && !instance_is_valid("") && !instance_is_valid("-a") &&
		!instance_is_valid(".a") && !instance_is_valid("a b") && !instance_is_valid("a\n") &&
		!instance_is_valid("\xc3\xa4"),
	    "and what is none");
}

int
main(void)
{
	log_init("test", LOG_ERROR); /* one line of it is meant */
	must(sodium_init() != -1 && mkdtemp(dir) != NULL, "%s", dir);
	snprintf(file, sizeof(file), "%s/token", dir);
	run_tests();
	unlink(file);
	rmdir(dir);
	done_testing();
}
