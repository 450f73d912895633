/* Names that are answered here: no resolver could say more, and some would say too much. */
#ifndef EGRESS_DNS_LOCAL_H
#define EGRESS_DNS_LOCAL_H

enum local { LOCAL_NOT, LOCAL_LOOPBACK, LOCAL_NXDOMAIN };

/* Name: in lower case, without a dot at its end. */
enum local local_name(const char *name);

#endif
