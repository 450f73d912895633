/*
 * An error is a code for the peer, a reason for code that has to decide, and a sentence for a person.  The lowest
 * level sets it, upper levels add context or stay quiet, the top says it once.  Nobody reads the sentence to find out
 * what happened.  A part of it that a client knows by another word is marked, so that whoever answers that client can
 * put his own there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum err_code {
#define ERROR(E, wire, class, doc) E_##E,
#include "base/errors.def"
#undef ERROR
	E__COUNT
};

enum err_reason {
#define REASON(R, wire, doc) REASON_##R,
#include "base/reasons.def"
	REASON__COUNT
};

enum err_field {
#define FIELD(F, wire) FIELD_##F,
#include "base/reasons.def"
	FIELD__COUNT
};

enum err_part { PART_SESSION, PART_WHEN, PART__COUNT }; /* a session's name; "during execution" */

enum { ERR_TEXT = 1024 };

struct err_span {
	uint16_t at, len; /* len 0: there is none */
};

struct err {
	enum err_code   code;
	enum err_reason reason;
	enum err_field  field;   /* what it is about */
	uint64_t        number;  /* see reasons.def */
	uint16_t        context; /* length of what err_context put before the text */
	struct err_span part[PART__COUNT];
	char            text[ERR_TEXT];
};

/* Set code and text; always -1, so that a failing function can return it. */
int err_set(struct err *, enum err_code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* The same; what the first %s stands for is that part. */
int err_set_part(struct err *, enum err_code, enum err_part, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
#define err_session(e, code, ...) err_set_part((e), (code), PART_SESSION, __VA_ARGS__)

/* Behind one of these: the reason, and what it is about; always -1. */
int err_because(struct err *, enum err_reason, enum err_field, uint64_t number);

/* The same for a failed system call: E_SYS, and ": strerror(errno)" behind the text.  Keeps errno. */
int err_sys(struct err *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Put "context: " before the text; always -1. */
int err_prefix(struct err *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* The same, and err_strip takes it off again. */
int  err_context(struct err *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void err_strip(struct err *);

/* Put these words in the place of that part, if the text has it. */
void err_say(struct err *, enum err_part, const char *words);

const char *err_wire_name(enum err_code);

/* What LangBot calls it: "BoxValidationError". */
const char *err_class(enum err_code);

/* E__COUNT when no code has that name. */
enum err_code err_from_wire(const char *name, size_t len);

const char *err_reason_name(enum err_reason);
const char *err_field_name(enum err_field);

/* NONE when there is none of that name. */
enum err_reason err_reason_of(const char *name);
enum err_field  err_field_of(const char *name);
