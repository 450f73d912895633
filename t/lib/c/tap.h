/*
 * A small TAP producer with libtap's face.  Results go to stdout, diagnostics to
 * stderr; main ends with done_testing(), and a file of TESTs alone needs none.
 *
 *	TEST(reading) { ... }               a test; run_tests() runs those of the file, from top to bottom
 *	plan(3);  plan(SKIP_ALL, "needs root");
 *	ok(n > 0, "read %d bytes", n);      the name is a literal format, or left out
 *	is(got, "text", "the reply");       isnt, like and unlike the same
 *	cmp_ok(fd, ">=", 0, "opened");      == != < <= > >= & on long long
 *	skip(getuid() != 0, 2, "needs root");  ok(..); ok(..);  end_skip;
 *	todo("not written yet");  ok(..);  end_todo;
 *	must(fd >= 0, "open: %s", strerror(errno));   no test, but nothing can be tested without it: bails out
 *
 * The headers that most tests need come with it.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/* A callback of a test need not look at all it is given. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { SKIP_ALL = -1 };

#define TEST(name)                                                              \
	static void                              test_##name(void);             \
	__attribute__((constructor)) static void test_##name##_is_there(void)   \
	{                                                                       \
		static struct tap_test t = { test_##name, __LINE__, { NULL } }; \
		tap_add(&t);                                                    \
	}                                                                       \
	static void test_##name(void)

/* The " " before a name makes a name that was left out a valid format too. */
#define plan(...) tap_plan(__VA_ARGS__, (const char *)NULL)
#define ok(cond, ...) tap_ok(__FILE__, __LINE__, (cond) ? 1 : 0, #cond, " " __VA_ARGS__)
#define pass(...) tap_ok(__FILE__, __LINE__, 1, "pass", " " __VA_ARGS__)
#define fail(...) tap_ok(__FILE__, __LINE__, 0, "fail", " " __VA_ARGS__)
#define is(got, want, ...) tap_is(__FILE__, __LINE__, got, want, " " __VA_ARGS__)
#define isnt(got, not, ...) tap_isnt(__FILE__, __LINE__, got, not, " " __VA_ARGS__)
#define cmp_ok(a, op, b, ...) tap_cmp(__FILE__, __LINE__, (long long)(a), op, (long long)(b), " " __VA_ARGS__)
#define cmp_mem(got, want, n, ...) tap_mem(__FILE__, __LINE__, got, want, n, " " __VA_ARGS__)
#define like(got, regex, ...) tap_like(__FILE__, __LINE__, 1, got, regex, " " __VA_ARGS__)
#define unlike(got, regex, ...) tap_like(__FILE__, __LINE__, 0, got, regex, " " __VA_ARGS__)

/* skip(cond, n, why) ... end_skip;  the tests between run only when cond is false */
#define skip(cond, n, ...)                            \
	do {                                          \
		if (cond) {                           \
			tap_skip(n, " " __VA_ARGS__); \
			break;                        \
		}
#define end_skip \
	}        \
	while (0)
#define todo(...) \
	do {      \
	tap_todo(" " __VA_ARGS__)
#define end_todo         \
	tap_todo_over(); \
	}                \
	while (0)

/* Says how many tests ran if no plan did, and is what main returns. */
#define done_testing() return tap_done()
#define BAIL_OUT(...) tap_bail(" " __VA_ARGS__)
#define must(cond, ...)                        \
	do {                                   \
		if (!(cond))                   \
			BAIL_OUT(__VA_ARGS__); \
	} while (0)

/* Comment lines: for who must look (stderr), for who reads along (stdout). */
void diag(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* What the macros call.  Each check returns whether it passed. */
struct tap_test {
	void (*run)(void);
	int line;
	SLIST_ENTRY(tap_test) next;
};
void tap_add(struct tap_test *);
void run_tests(void);
#define TAP_NAMED(f, a) __attribute__((format(printf, f, a)))
void tap_plan(int tests, const char *why, ...);
bool tap_ok(const char *file, int line, int cond, const char *text, const char *fmt, ...) TAP_NAMED(5, 6);
bool tap_is(const char *file, int line, const char *got, const char *want, const char *fmt, ...) TAP_NAMED(5, 6);
bool tap_isnt(const char *file, int line, const char *got, const char *want, const char *fmt, ...) TAP_NAMED(5, 6);
bool tap_cmp(const char *file, int line, long long a, const char *op, long long b, const char *fmt, ...)
    TAP_NAMED(6, 7);
bool tap_mem(const char *file, int line, const void *got, const void *want, size_t n, const char *fmt, ...)
    TAP_NAMED(6, 7);
bool tap_like(const char *file, int line, int wanted, const char *got, const char *regex, const char *fmt, ...)
    TAP_NAMED(6, 7);
void tap_skip(int n, const char *fmt, ...) TAP_NAMED(2, 3);
void tap_todo(const char *fmt, ...) TAP_NAMED(1, 2);
void tap_todo_over(void);
void tap_bail(const char *fmt, ...) __attribute__((noreturn)) TAP_NAMED(1, 2);
int  tap_done(void);
