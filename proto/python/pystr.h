/*
 * Text as Python's str sees it, because LangBot's clients and skills are written in Python: white space, strip(),
 * characters.  The text is UTF-8; an invalid byte ends what is stripped.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool py_is_space(uint32_t character); /* str.isspace() */
bool py_is_alnum(uint32_t character); /* str.isalnum() */

/* str.strip(): where it begins; *n becomes what is left. */
const char *py_strip(const char *, size_t *n);

/* Nothing is left of it then. */
bool py_is_blank(const char *, size_t n);

/* What Rust's trim() takes off, which reads LangBot's numbers: not the separators U+001C to U+001F. */
const char *rust_trim(const char *, size_t *n);

/* Characters. */
size_t py_len(const char *, size_t n);

/* Bytes of the first n characters. */
size_t py_prefix(const char *, size_t n, size_t characters);
