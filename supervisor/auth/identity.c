#include "auth/identity.h"

#include <assert.h>
#include <grp.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

struct identities {
	void              *tree; /* owned struct identity, by conn */
	size_t             count;
	size_t             rpc;
	bool               has_group;
	gid_t              group;
	struct sockaddr_un control; /* address of the control socket */
	socklen_t          control_len;
};

static int
by_conn(const void *a, const void *b)
{
	uint64_t x = ((const struct identity *)a)->conn, y = ((const struct identity *)b)->conn;

	return (x > y) - (x < y);
}

struct identities *
identities_open(const char *allowed_group, int listener, struct err *e)
{
	struct identities *ids = calloc(1, sizeof(*ids));
	struct group      *g = *allowed_group == '\0' ? NULL : getgrnam(allowed_group);

	if (ids == NULL) {
		err_set(e, E_SYS, "no memory");
		return NULL;
	}
	if (*allowed_group != '\0' && g == NULL) {
		err_set(e, E_INVALID, "socket_group: there is no group '%s'", allowed_group);
		free(ids);
		return NULL;
	}
	ids->control_len = sizeof(ids->control);
	if (getsockname(listener, (struct sockaddr *)&ids->control, &ids->control_len) == -1) {
		err_sys(e, "name of the control socket");
		free(ids);
		return NULL;
	}
	ids->has_group = g != NULL;
	ids->group = g != NULL ? g->gr_gid : 0;
	return ids;
}

/* Supplementary groups as the kernel knows them at connect time. */
static bool
peer_in_group(int peer, const struct ucred *who, gid_t group)
{
	gid_t     groups[256];
	socklen_t len = sizeof(groups);

	if (who->gid == group)
		return true;
	if (getsockopt(peer, SOL_SOCKET, SO_PEERGROUPS, groups, &len) == -1)
		return false;
	for (size_t i = 0; i < len / sizeof(*groups); i++)
		if (groups[i] == group)
			return true;
	return false;
}

/* Is it connected to our control socket?  A gateway that was taken over has other sockets, whose peer is root. */
static bool
is_of_control_socket(const struct identities *ids, int peer)
{
	struct sockaddr_un at = { 0 };
	socklen_t          at_len = sizeof(at), len = sizeof(int);
	int                listens = 1, type = 0;

	if (getsockopt(peer, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len) == -1 || listens ||
	    getsockopt(peer, SOL_SOCKET, SO_TYPE, &type, &len) == -1 || type != SOCK_STREAM ||
	    getsockname(peer, (struct sockaddr *)&at, &at_len) == -1)
		return false;
	return at_len == ids->control_len && memcmp(&at, &ids->control, at_len) == 0;
}

static int
check_user(const struct identities *ids, int peer, struct err *e)
{
	struct ucred who;
	socklen_t    len = sizeof(who);

	if (getsockopt(peer, SOL_SOCKET, SO_PEERCRED, &who, &len) == -1)
		return err_sys(e, "ask the kernel who the client is");
	if (who.uid != 0 && who.uid != geteuid() && !(ids->has_group && peer_in_group(peer, &who, ids->group)))
		return err_set(e, E_DENIED, "uid %u may not use this boxd: it serves root, uid %u%s", who.uid,
		    geteuid(),
		    ids->has_group ? " and members of its socket_group"
				   : "; set socket_group in boxd.conf to let a group in");
	log_debug("uid=%u pid=%d may come in", who.uid, who.pid);
	return 0;
}

/* Fills everything but the connection id. */
static int
examine(const struct identities *ids, struct identity *id, int peer, enum speaks speaks, struct err *e)
{
	address_of_peer(&id->peer, peer);
	id->vouched = is_of_control_socket(ids, peer);
	if (id->vouched && check_user(ids, peer, e) == -1)
		return -1;
	if (!id->vouched && (speaks == SPEAKS_NATIVE || id->peer.len == 0))
		return err_set(e, E_DENIED, "it is not connected to the control socket");
	id->kind = speaks == SPEAKS_NATIVE ? ID_NATIVE : ID_STRANGER;
	return 0;
}

int
identity_admit(struct identities *ids, uint64_t conn, int peer, enum speaks speaks, struct err *e)
{
	struct identity *id = calloc(1, sizeof(*id));
	char             text[ADDRESS_TEXT];

	if (id == NULL)
		return err_set(e, E_SYS, "no memory for a client");
	id->conn = conn;
	if (examine(ids, id, peer, speaks, e) == -1) {
		free(id);
		return -1;
	}
	struct identity **at = tsearch(id, &ids->tree, by_conn);
	if (at == NULL || *at != id) {
		free(id);
		return err_set(e, E_PROTO, "connection %lu is there already", conn);
	}
	ids->count++;
	log_debug("conn=%lu admitted from=%s", conn, identity_peer(id, text));
	return 0;
}

struct identity *
identity_find(const struct identities *ids, uint64_t conn)
{
	struct identity         key = { .conn = conn };
	struct identity *const *at = tfind(&key, &ids->tree, by_conn);

	return at == NULL ? NULL : *at;
}

void
identity_becomes_rpc(struct identities *ids, struct identity *id)
{
	assert(id->kind == ID_STRANGER); /* what a client is it stays */
	id->kind = ID_RPC;
	ids->rpc++;
}

int
identity_becomes_relay(struct identity *id, const struct relay_right *right, struct err *e)
{
	assert(id->kind == ID_STRANGER && id->relay == NULL);
	id->relay = malloc(sizeof(*id->relay));
	if (id->relay == NULL)
		return err_set(e, E_SYS, "no memory for a relay");
	*id->relay = *right;
	id->kind = ID_RELAY;
	return 0;
}

const char *
identity_peer(const struct identity *id, char out[ADDRESS_TEXT])
{
	if (id->peer.len != 0)
		return address_text(&id->peer, out);
	snprintf(out, ADDRESS_TEXT, "control-socket");
	return out;
}

static void
identity_free(void *p)
{
	struct identity *id = p;

	free(id->relay);
	free(id);
}

void
identity_forget(struct identities *ids, uint64_t conn)
{
	struct identity *id = identity_find(ids, conn);

	if (id == NULL)
		return;
	tdelete(id, &ids->tree, by_conn);
	assert(ids->count > 0 && (id->kind != ID_RPC || ids->rpc > 0));
	ids->count--;
	ids->rpc -= id->kind == ID_RPC;
	identity_free(id);
}

void
identity_forget_all(struct identities *ids)
{
	tdestroy(ids->tree, identity_free);
	ids->tree = NULL;
	ids->count = 0;
	ids->rpc = 0;
}

size_t
identities_count(const struct identities *ids)
{
	return ids->count;
}

size_t
identities_rpc(const struct identities *ids)
{
	return ids->rpc;
}

void
identities_close(struct identities **p)
{
	if (*p != NULL)
		identity_forget_all(*p);
	free(*p);
	*p = NULL;
}
