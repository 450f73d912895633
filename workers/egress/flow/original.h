/* Where a connection that was redirected to us wanted to go. */
#pragma once

#include <stdbool.h>

#include "base/netaddr.h"

/* false: nobody redirected it, it was made to the listener itself; the address is the one it was made to. */
bool original_destination(int fd, struct netaddr *, uint16_t *port);
