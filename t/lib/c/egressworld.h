/* Namespaces, and sockets in them: what egressbox.c stands on. */
#pragma once

#include <stdint.h>

/* A namespace each. */
int world_host(void);
int world_net(void);

/* A socket of that namespace, or bail out. */
int world_socket(int ns, int family, int type);

/* At a port of all its addresses, of both families. */
int world_listen(int ns, uint16_t port);
