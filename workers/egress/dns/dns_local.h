/* Names that are answered here: no resolver could say more, and some would say too much. */
#pragma once

enum local { LOCAL_NOT, LOCAL_LOOPBACK, LOCAL_NXDOMAIN };

/* Name: in lower case, without a dot at its end. */
enum local local_name(const char *name);
