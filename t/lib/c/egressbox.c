#include "egressbox.h"

#include <arpa/inet.h>
#include <sched.h>
#include <sys/resource.h>

#include "base/fd.h"
#include "egressworld.h"
#include "tap.h"

/* ---- rules as text ------------------------------------------------------------------ */

enum { RULES_MOST = 64 };

struct ruletext {
	char                text[RULES_MOST][160]; /* what the rules point to */
	char                name[RULES_MOST][128];
	char                address[RULES_MOST][128];
	struct msg_net_rule v[RULES_MOST];
	size_t              n;
};

static void
read_rule(struct ruletext *r, const char *line, size_t len)
{
	struct msg_net_rule *m = &r->v[r->n];
	char                 action[16], what[128], *slash;
	unsigned             low = 0, high = 65535;

	snprintf(r->text[r->n], sizeof(r->text[0]), "%.*s", (int)len, line);
	int n = sscanf(r->text[r->n], "%15s %127s port %u-%u", action, what, &low, &high);
	must(n >= 2, "not a rule: %s", r->text[r->n]);
	msg_defaults(MSG_NET_RULE, m);
	m->action = strcmp(action, "allow") == 0 ? RULE_ACTION_ALLOW : RULE_ACTION_DENY;
	m->text = r->text[r->n];
	m->port_low = low;
	m->port_high = n == 3 ? low : high;
	if ((slash = strchr(what, '/')) != NULL)
		*slash = '\0';
	struct netaddr a;
	if (netaddr_parse(what, &a)) {
		snprintf(r->address[r->n], sizeof(r->address[0]), "%s", what);
		m->address = r->address[r->n];
		m->prefix = slash != NULL ? (uint64_t)atoi(slash + 1) : netaddr_bits(&a);
	} else if (strcmp(what, "all") != 0) {
		snprintf(r->name[r->n], sizeof(r->name[0]), "%s", what);
		m->name = r->name[r->n];
	}
	r->n++;
}

static void
read_rules(struct ruletext *r, const char *text)
{
	r->n = 0;
	while (text != NULL && *text != '\0') {
		size_t len = strcspn(text, "\n");

		if (len > 0 && r->n < RULES_MOST)
			read_rule(r, text, len);
		text += len + (text[len] == '\n');
	}
}

/* ---- the process ---------------------------------------------------------------------- */

static unsigned descriptors;

void
egressbox_may_have(unsigned n)
{
	descriptors = n;
}

static void
prepare(void)
{
	struct rlimit r = { descriptors, descriptors };

	setenv("BOX_LOG", "warn", 1);
	if (descriptors > 0)
		setrlimit(RLIMIT_NOFILE, &r);
}

static struct msg_net_set
one_set(struct ruletext *r)
{
	struct msg_net_set set;

	msg_defaults(MSG_NET_SET, &set);
	set.rules.v = r->v;
	set.rules.n = r->n;
	return set;
}

void
egressbox_start(struct egressbox *b, const char *rules, const struct msg_egress_start *others)
{
	char *const             argv[] = { "box-egress", NULL };
	static struct ruletext  text;
	static const char      *server = "9.9.9.9";
	struct msg_egress_start m;
	struct msg_net_set      set;
	struct err              e = { 0 };

	*b = (struct egressbox){ 0 };
	msg_defaults(MSG_EGRESS_START, &m);
	m.connections = 1024;
	m.dns_bytes = 1 << 20;
	m.resolvers = (struct strs){ 1, &server };
	if (others != NULL)
		m = *others;
	if (m.resolvers.n == 0)
		m.resolvers = (struct strs){ 1, &server };
	read_rules(&text, rules);
	set = one_set(&text);
	m.sets.v = &set;
	m.sets.n = 1;
	workbox_start(&b->work, FROM_EGRESS, 3, argv, prepare);
	workbox_send(&b->work, MSG_EGRESS_START, &m);
	must(workbox_receive(&b->work, &e) == 0 && b->work.reply.type == MSG_EGRESS_READY,
	    "box-egress does not start: %s", e.text);
}

int
egressbox_end(struct egressbox *b, bool by_force)
{
	return workbox_end(&b->work, by_force);
}

void
egressbox_open(struct egressbox *b, const struct sandbox *s, const char *narrow, const struct msg_net_info *before)
{
	static struct ruletext text;
	struct msg_egress_open m;

	read_rules(&text, narrow);
	msg_defaults(MSG_EGRESS_OPEN, &m);
	m.id = s->id;
	m.narrow.v = text.v;
	m.narrow.n = text.n;
	m.listener = s->listener;
	m.dns = s->dns;
	m.refusals = s->refusals;
	if (before != NULL)
		m.before = *before;
	workbox_send(&b->work, MSG_EGRESS_OPEN, &m);
}

void
egressbox_close(struct egressbox *b, const struct sandbox *s)
{
	workbox_send(&b->work, MSG_EGRESS_CLOSE, &(struct msg_egress_close){ .id = s->id });
}

/* ---- what it says ----------------------------------------------------------------------- */

static void
write_denial(const struct msg_net_denial *d, char *to, size_t size)
{
	snprintf(to, size, "%s %s %s %lu %s %lu", msg_enum_name(MSG_NET_DENIAL, "kind", (int)d->kind),
	    *d->name != '\0' ? d->name : "-", *d->address != '\0' ? d->address : "-", d->port, d->rule, d->count);
}

/* false: it is no notice. */
static bool
take_notice(struct egressbox *b)
{
	struct msg *m = &b->work.reply;

	if (m->envelope != ENV_NOTICE)
		return false;
	if (m->type == MSG_EGRESS_COUNTS) {
		b->counts = ((const struct msg_egress_counts *)m->body)->info;
		b->counts.denials.n = b->counts.flows.n = 0;
		b->n_counts++;
	} else if (m->type == MSG_EGRESS_DENIED) {
		const struct msg_egress_denied *d = m->body;

		write_denial(&d->denial, b->denied, sizeof(b->denied));
		b->denied_id = d->id;
		b->n_denied++;
	}
	return true;
}

static void
receive(struct egressbox *b)
{
	struct err e = { 0 };

	must(workbox_receive(&b->work, &e) == 0, "box-egress is gone: %s", e.text);
}

void
egressbox_rules(struct egressbox *b, const char *rules)
{
	static struct ruletext  text;
	struct msg_egress_rules m;
	struct msg_net_set      set;

	read_rules(&text, rules);
	set = one_set(&text);
	m.sets.v = &set;
	m.sets.n = 1;
	workbox_send(&b->work, MSG_EGRESS_RULES, &m);
	/* they hold when a question behind them is answered, also when it is a stupid one */
	workbox_send(&b->work, MSG_EGRESS_LOOK, &(struct msg_egress_look){ .id = UINT64_MAX });
	do
		receive(b);
	while (take_notice(b));
}

const struct msg_net_info *
egressbox_look(struct egressbox *b, const struct sandbox *s, bool flows)
{
	static const struct msg_net_info none;
	struct msg_egress_look           m = { .id = s->id, .flows = flows };
	struct err                       e = { 0 };
	uint64_t                         id = workbox_send(&b->work, MSG_EGRESS_LOOK, &m);

	do
		receive(b);
	while (take_notice(b));
	if (b->work.reply.envelope != ENV_REPLY || b->work.reply.id != id || b->work.reply.failed ||
	    msg_expect(&b->work.reply, MSG_NET_INFO, &e) == -1) {
		diag("look: %s", b->work.reply.failed ? b->work.reply.error.text : e.text);
		return &none;
	}
	return b->work.reply.body;
}

void
egressbox_await(struct egressbox *b, unsigned counts, unsigned denied)
{
	while (b->n_counts < counts || b->n_denied < denied) {
		receive(b);
		take_notice(b);
	}
}

const char *
denial_text(const struct msg_net_info *info, size_t i)
{
	static char text[1024];

	text[0] = '\0';
	if (i < info->denials.n)
		write_denial(&info->denials.v[i], text, sizeof(text));
	return text;
}

size_t
egressbox_memory(const struct egressbox *b)
{
	char          path[64];
	unsigned long pages = 0;

	snprintf(path, sizeof(path), "/proc/%d/statm", b->work.pid);
	FILE *f = fopen(path, "re");
	must(f != NULL && fscanf(f, "%*u %lu", &pages) == 1, "%s: %s", path, strerror(errno));
	fclose(f);
	return pages * (size_t)sysconf(_SC_PAGESIZE);
}

size_t
egressbox_descriptors(const struct egressbox *b)
{
	char        path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/fd", b->work.pid);
	must(stat(path, &st) != -1, "%s: %s", path, strerror(errno));
	return (size_t)st.st_size;
}

/* ---- sockets ------------------------------------------------------------------------------ */

static int
connect_from(int ns, const char *address, uint16_t port)
{
	struct sockaddr_storage to;
	struct netaddr          a;

	must(netaddr_parse(address, &a), "'%s' is not an address", address);
	socklen_t   len = netaddr_sockaddr(&a, port, &to);
	AUTO_FD int s = world_socket(ns, to.ss_family, SOCK_STREAM);
	if (connect(s, (struct sockaddr *)&to, len) == -1)
		return -1;
	return fd_take(&s);
}

int
inside_connect(const struct sandbox *s, const char *address, uint16_t port)
{
	return connect_from(s->ns, address, port);
}

int
host_connect(const char *address, uint16_t port)
{
	return connect_from(world_host(), address, port);
}

int
host_listen(uint16_t port)
{
	return world_listen(world_host(), port);
}

int
net_listen(uint16_t port)
{
	return world_listen(world_net(), port);
}

int
net_accept(int listener, char to[NETADDR_TEXT])
{
	struct sockaddr_storage s;
	socklen_t               n = sizeof(s);
	struct netaddr          a;
	uint16_t                port;
	int                     fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	must(fd != -1, "accept: %s", strerror(errno));
	if (to != NULL && getsockname(fd, (struct sockaddr *)&s, &n) == 0 &&
	    netaddr_of((struct sockaddr *)&s, &a, &port))
		netaddr_text(&a, to);
	return fd;
}

const char *
outcome(int fd)
{
	static char text[64], bytes[65536];
	ssize_t     n = recv(fd, bytes, sizeof(bytes), 0);

	if (n > 0)
		snprintf(text, sizeof(text), "%zd bytes", n);
	else if (n == 0)
		return "end";
	else if (errno == ECONNRESET)
		return "reset";
	else
		snprintf(text, sizeof(text), "%s", strerror(errno));
	return text;
}

void
put(int fd, const char *text)
{
	for (size_t n = strlen(text); n > 0;) {
		ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);

		must(sent != -1, "send: %s", strerror(errno));
		text += sent;
		n -= (size_t)sent;
	}
}

bool
got(int fd, const char *text)
{
	char   bytes[4096];
	size_t n = strlen(text);

	return recv(fd, bytes, n, MSG_WAITALL) == (ssize_t)n && memcmp(bytes, text, n) == 0;
}
