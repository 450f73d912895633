/* The configuration file: what it takes, what it refuses, and that it says where. */
#include "supervisor/config/config.h"
#include "tap.h"

static struct config config;
static struct err    why;

static int
parse(const char *text, size_t n)
{
	FILE *f = fmemopen((void *)text, n, "r");

	config_defaults(&config);
	why = (struct err){ 0 };
	int r = config_parse(&config, f, "file", &why);
	fclose(f);
	return r;
}

static void
refuses(const char *text, const char *message)
{
	cmp_ok(parse(text, strlen(text)), "==", -1, "refused: %s", text);
	is(why.text, message, "with the place and the reason");
}

TEST(takes_what_is_right)
{
	static const char text[] = "# comment\n\n  max_sessions=9 \n\tcpus = 2.5\nsocket_group =  box users \n"
				   "log_level = debug\nrequire = full\n#max_sessions = 1\nstate_dir = /a = b";

	if (!ok(parse(text, strlen(text)) == 0, "a good file is taken"))
		diag("%s", why.text);
	cmp_ok((int)config.max_sessions, "==", 9, "a number");
	ok(config.cpus == 2.5, "a fraction");
	is(config.socket_group, "box users", "a text, blanks cut off its ends only");
	cmp_ok(config.log_level, "==", LOG_DEBUG, "a level");
	cmp_ok(config.require.tier, "==", TIER_FULL, "a tier");
	is(config.state_dir, "/a = b", "the first equals sign divides; no newline at the end is needed");
}

TEST(takes_walls_by_name)
{
	static const char text[] = "require = full\nrequire = cgroup.memory , seccomp";

	ok(parse(text, strlen(text)) == 0, "names of walls are taken");
	cmp_ok(config.require.tier, "==", TIER_REDUCED, "without a tier it is reduced");
	ok(config.require.walls[WALL_MEMORY] && config.require.walls[WALL_SECCOMP], "those that are named");
	ok(!config.require.walls[WALL_UIDS], "and no others");
}

TEST(takes_lists_of_paths)
{
	static const char text[] = "mounts.allow = /srv , /a//b/,,/c d \nmounts.block =";
	char              path[LIM_PATH + 1], all[256] = "";

	ok(parse(text, strlen(text)) == 0, "lists of paths are taken");
	for (const char *list = config.mounts_allow; config_next_path(&list, path);)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "<%.20s>", path);
	is(all, "</srv></a/b></c d>", "normal, without blanks around them");
	const char *list = config.mounts_block;
	ok(!config_next_path(&list, path), "an empty list has none");
}

TEST(refuses_what_is_wrong)
{
	refuses("mounts.allow = /a, b", "file:1: mounts.allow: 'b' is not an absolute path without '..'");
	refuses("mounts.block = /a/../b", "file:1: mounts.block: '/a/../b' is not an absolute path without '..'");
	refuses("mounts_allow = /a", "file:1: there is no option 'mounts_allow'");
	refuses("x", "file:1: 'x' is not 'name = value'");
	refuses("\n\nx = 1", "file:3: there is no option 'x'");
	refuses("Max_Sessions = 1", "file:1: there is no option 'Max_Sessions'");
	refuses("max_sessions =", "file:1: max_sessions: '' is not a whole number");
	refuses("max_sessions = -1", "file:1: max_sessions: '-1' is not a whole number");
	refuses("max_sessions = 1k", "file:1: max_sessions: '1k' is not a whole number");
	refuses("max_sessions = 0", "file:1: max_sessions: 0 is not in 1..5000");
	refuses("max_sessions = 99999999999999999999999",
	    "file:1: max_sessions: '99999999999999999999999' is not a whole number");
	refuses("cpus = nan", "file:1: cpus: 'nan' is not a number");
	refuses("cpus = 0", "file:1: cpus: 0 is not in 0.01..1024");
	refuses("log_level = loud", "file:1: log_level: 'loud' should be error, warn, info or debug");
	refuses("require = none",
	    "file:1: require: should be reduced, full or names of walls: there is no wall 'none'; there are: userns, "
	    "uids, pidns, mountns, netns, ipcns, utsns, cgroupns, seccomp, landlock, cgroup.memory, "
	    "cgroup.sockets, cgroup.kernel, cgroup.pids, cgroup.cpu, cgroup.kill, cgroup.freeze, swap, quota.bytes, "
	    "quota.inodes");
	refuses("state_dir = here", "file:1: state_dir: 'here' is not an absolute path");
	refuses("\033[2J = 1", "file:1: there is no option '\\x1b[2J'");
	refuses("max_sessions = 5\nmax_sessions = six", "file:2: max_sessions: 'six' is not a whole number");
}

TEST(takes_listen)
{
	static const char text[] = "listen = 127.0.0.1:1\nlisten = [::1]:0\nhttp_origins = https://a.org , http://b:1\n"
				   "http_hosts = box, box.example.org\nauth = none\ntrusted_instance = a:1";
	char              name[LIM_PATH + 1], all[256] = "", at[ADDRESS_TEXT];

	if (!ok(parse(text, strlen(text)) == 0 && config_check(&config, &why) == 0,
		"listen and what belongs to it are taken"))
		diag("%s", why.text);
	is(address_text(&config.listen, at), "[::1]:0", "the last of its addresses");
	for (const char *list = config.http_origins; config_next_name(&list, name);)
		snprintf(all + strlen(all), sizeof(all) - strlen(all), "<%.30s>", name);
	is(all, "<https://a.org><http://b:1>", "origins one by one");
	ok(config_trusts_everybody(&config), "without a token");
}

TEST(refuses_a_bad_listen)
{
	refuses("\nlisten = localhost:5410",
	    "file:2: listen: 'localhost:5410' is not an address and a port, such as 127.0.0.1:5410 or [::1]:5410, nor "
	    "none");
	refuses("auth = maybe", "file:1: auth: 'maybe' should be token or none");
	refuses("network_on = off", "file:1: network_on: 'off' should be egress, slirp, loopback or refuse");
	refuses(
	    "trusted_instance = a b", "file:1: trusted_instance: A valid trusted LangBot instance UUID is required");
	refuses("http_origins = https://a.org, b.org",
	    "file:1: http_origins: 'b.org' is not an origin, such as https://example.org");
	refuses("http_origins = https://a.org/x",
	    "file:1: http_origins: 'https://a.org/x' is not an origin, such as https://example.org");
	refuses("http_hosts = https://a.org", "file:1: http_hosts: 'https://a.org' is not the name of a host");
	refuses("max_unauthenticated = 0", "file:1: max_unauthenticated: 0 is not in 1..65536");
	refuses("relay_line_bytes = 16777217", "file:1: relay_line_bytes: 16777217 is not in 1024..4128768");
	refuses("token_file = here", "file:1: token_file: 'here' is not an absolute path");
	refuses("legacy_clients = maybe", "file:1: legacy_clients: 'maybe' should be yes or no");
}

static void
listen_is_refused_with(const char *text, const char *regex)
{
	ok(parse(text, strlen(text)) == 0, "each by itself is good");
	if (*regex == '\0')
		ok(config_check(&config, &why) == 0, "and together");
	else if (ok(config_check(&config, &why) == -1, "together they are refused"))
		like(why.text, regex, "and it is told");
}

TEST(checks_listen)
{
	listen_is_refused_with("listen = 0.0.0.0:1\nauth = none", "^listen = 0.0.0.0:1: with auth = none whoever");
	listen_is_refused_with(
	    "listen = [::]:1\nauth = none\nplaintext_beyond_loopback = yes", "with auth = none whoever");
	listen_is_refused_with("listen = 10.0.0.1:1", "^listen = 10.0.0.1:1: without TLS the token could be read");
	listen_is_refused_with("listen = 10.0.0.1:1\nplaintext_beyond_loopback = yes", "");
	listen_is_refused_with("listen = 10.0.0.1:1\ntls_certificate = /a\ntls_key = /b", "");
	listen_is_refused_with("tls_certificate = /a", "^tls_certificate and tls_key: set both or neither");
	listen_is_refused_with("tls_key = /a", "set both or neither");
	listen_is_refused_with("listen = 127.0.0.1:1\nauth = none", "");
	listen_is_refused_with("listen = none\nauth = none", "");
}

TEST(refuses_what_is_long)
{
	size_t n = 20000;
	char  *text = malloc(n);

	memset(text, 'a', n);
	memcpy(text, "socket_group = ", 15);
	cmp_ok(parse(text, n), "==", -1, "a text that is too long is refused");
	is(why.text, "file:1: socket_group: 19985 characters, must be 0 to 64", "not cut");
	memset(text, '\0', n);
	cmp_ok(parse(text, n), "==", 0, "a file of NULs is an empty file");
	free(text);
}

TEST(survives_noise)
{
	char     text[512];
	unsigned seed = 1;

	for (int round = 0; round < 20000; round++) {
		size_t n = 1 + (size_t)rand_r(&seed) % sizeof(text);

		for (size_t i = 0; i < n; i++)
			text[i] = (char)(rand_r(&seed) % 4 == 0 ? '\n' : rand_r(&seed));
		parse(text, n);
	}
	pass("noise does not kill it");
}
