/*
 * A port of its own for each question by UDP.
 *
 * c-ares 1.18 sends all questions to a server from one socket for as long as one of them waits, and later versions do so
 * by default.  Then who wants to forge an answer has to guess 16 bits, and a sandbox can keep that port open as long as
 * it likes.  So c-ares gets a stand-in that is not a UDP socket: what it sends there goes out by a new socket each time, from a random
 * port, and an answer counts only where its question was sent.
 */
#pragma once

#include <ares.h>
#include <ev.h>

struct ports;

/* From now on the sockets of this channel are ours.  most: at one time; beyond that questions share.  NULL: no memory. */
struct ports *ports_open(struct ev_loop *, ares_channel, size_t most);

/* When the channel is gone. */
void ports_close(struct ports **);

/* The channel's clock may have changed; called after each answer. */
void ports_on_answer(struct ports *, void (*)(void *arg), void *arg);
