/* Addresses of LangBot's door, and the socket that listens there. */
#pragma once

#include <netinet/in.h>
#include <stdbool.h>

#include "base/err.h"

struct address {
	union {
		struct sockaddr     any;
		struct sockaddr_in  v4;
		struct sockaddr_in6 v6;
	} at;
	socklen_t len; /* 0: no address */
};

enum { ADDRESS_TEXT = 64, ADDRESS_NET = 16 };

/* "127.0.0.1:5410", "[::1]:5410" or "none"; names are not looked up. */
int address_parse(struct address *, const char *text, struct err *);

/* In the form that address_parse reads. */
const char *address_text(const struct address *, char out[ADDRESS_TEXT]);

/* Only this machine can reach it.  True for no address, too: nobody can reach that. */
bool address_is_loopback(const struct address *);

/* What counts as one client: an IPv4 address, also one mapped into IPv6, or the /64 of an IPv6 address. */
void address_net(const struct address *, unsigned char net[ADDRESS_NET]);

/* The address of the peer, and of our own end; no address when it is not a TCP socket. */
void address_of_peer(struct address *, int fd);
void address_of_socket(struct address *, int fd);

/* A listening socket, closed on exec, that does not block. */
int listen_open(const struct address *, struct err *);

/* Does this descriptor listen where it should?  Port 0 is any. */
bool listen_is_at(int fd, const struct address *);
