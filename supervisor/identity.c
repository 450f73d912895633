#include "identity.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "log.h"

struct identity {
	uint64_t     conn;
	struct ucred who;
};

struct identities {
	void  *tree; /* owned struct identity, by conn */
	size_t count;
	bool   has_group;
	gid_t  group;
};

static int
by_conn(const void *a, const void *b)
{
	uint64_t x = ((const struct identity *)a)->conn, y = ((const struct identity *)b)->conn;

	return (x > y) - (x < y);
}

struct identities *
identities_open(const char *allowed_group, struct err *e)
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

int
identity_admit(struct identities *ids, uint64_t conn, int peer, struct err *e)
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
	struct identity *id = malloc(sizeof(*id));
	if (id == NULL)
		return err_set(e, E_SYS, "no memory for a client");
	*id = (struct identity){ conn, who };
	struct identity **at = tsearch(id, &ids->tree, by_conn);
	if (at == NULL || *at != id) {
		free(id);
		return err_set(e, E_PROTO, "connection %lu is there already", conn);
	}
	ids->count++;
	log_debug("conn=%lu admitted uid=%u pid=%d", conn, who.uid, who.pid);
	return 0;
}

bool
identity_known(const struct identities *ids, uint64_t conn)
{
	struct identity key = { .conn = conn };

	return tfind(&key, &ids->tree, by_conn) != NULL;
}

void
identity_forget(struct identities *ids, uint64_t conn)
{
	struct identity   key = { .conn = conn };
	struct identity **at = tfind(&key, &ids->tree, by_conn);

	if (at == NULL)
		return;
	struct identity *id = *at;
	tdelete(id, &ids->tree, by_conn);
	free(id);
	ids->count--;
}

void
identity_forget_all(struct identities *ids)
{
	tdestroy(ids->tree, free);
	ids->tree = NULL;
	ids->count = 0;
}

size_t
identities_count(const struct identities *ids)
{
	return ids->count;
}

void
identities_close(struct identities **p)
{
	if (*p != NULL)
		identity_forget_all(*p);
	free(*p);
	*p = NULL;
}
