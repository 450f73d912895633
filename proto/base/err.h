/*
 * An error is a code for the peer and a sentence for a person.  The lowest
 * level sets it, upper levels add context or stay quiet, the top says it once.
 */
#ifndef PROTO_ERR_H
#define PROTO_ERR_H

#include <stddef.h>

enum err_code {
#define ERROR(E, wire, class, doc) E_##E,
#include "base/errors.def"
#undef ERROR
	E__COUNT
};

enum { ERR_TEXT = 1024 };

struct err {
	enum err_code code;
	char          text[ERR_TEXT];
};

/* Set code and text; always -1, so that a failing function can return it. */
int err_set(struct err *, enum err_code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same for a failed system call: E_SYS, and ": strerror(errno)" behind the text.  Keeps errno. */
int err_sys(struct err *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "context: " before the text; always -1. */
int err_prefix(struct err *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

const char *err_wire_name(enum err_code);

/* What LangBot calls it: "BoxValidationError". */
const char *err_class(enum err_code);

/* E__COUNT when no code has that name. */
enum err_code err_from_wire(const char *name, size_t len);

#endif
