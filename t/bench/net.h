/*
 * The way out of a sandbox beside the same way without one: a server on an address of a network namespace of our own,
 * and one client program that runs inside and outside.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define NET_SERVER "10.99.0.1"

/* A network namespace with loopback and that address, for us and all we start; false and why. */
bool net_enter(char *why, size_t size);

/* The port of a server there, which ends with us. */
unsigned net_serve(void);

/* argv: "net" MODE PORT COUNT.  Prints one number; see net.c.  The exit status. */
int net_client(char **argv);
