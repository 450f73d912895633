/*
 * A real boxd whose gateway is the test: it hears what the gateway hears, and says what the gateway, also one that
 * was taken over, could say.  The test's own program is box-gateway for that boxd; all it does there is to hand its
 * channel to the test (authbox_main).
 */
#pragma once

#include <stdbool.h>

#include "wire/chan.h"

#define TEST_TOKEN "a-token-of-the-test-that-is-long-enough"

/* First in main: does not return when this process is to be the gateway. */
void authbox_main(char **argv);

/* Start boxd with these lines of configuration; its gateway has started when this returns.  And its end. */
void authbox_open(const char *conf);
void authbox_close(void);

/* The gateway dies, and the next one is the test again. */
void authbox_gateway_dies(void);

extern char     authbox_dir[];
extern int      authbox_http; /* listening sockets, as boxd gave them; -1: none */
extern int      authbox_control;
extern int      authbox_chan;
extern uint64_t authbox_next; /* id of the next connection */

/* A client that came in by LangBot's door, or by the control socket.  Its connection id; its socket stays open. */
uint64_t by_http(void);
uint64_t by_control(enum speaks);

/* As a gateway could say it of any socket. */
void     say_open(uint64_t conn, int peer, enum speaks);
void     say_gone(uint64_t conn);
uint64_t say_request(uint64_t conn, enum msg_type, const void *body);

/* The next message from boxd: msg_clear is due. */
void hear(struct msg *);

/* The answer to that request: "" or the wire name of its error and the text; lives until the next call. */
const char *answer(uint64_t id);

/* Both at once, for HTTP_AUTH. */
const char *try_rpc(uint64_t conn, const char *token, const char *instance);
const char *request(uint64_t conn, enum msg_type, const void *body);

/* A number or string of boxd's status. */
uint64_t    status_number(const char *field);
const char *status_text(const char *field);

/* Lines of boxd's log with this, an extended regular expression. */
int log_lines(const char *regex);
