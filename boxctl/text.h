/*
 * Bytes from elsewhere made fit for a terminal, and numbers made fit for people.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"

/* Append what a terminal may show, \xNN for the rest; the columns it takes. */
size_t text_escape(struct buf *, const char *, size_t n);

/* The same as a string, until the fourth next call. */
const char *text_safe(const char *);

/* "512MiB", "1.5GiB"; "850us", "2.3ms", "45s", "3m20s", "4d3h".  Until the fourth next call. */
const char *text_size(uint64_t bytes);
const char *text_duration(uint64_t us);

/* From a time in ms since the epoch until now; never negative. */
uint64_t text_age_us(uint64_t since_ms);

/* A number in as few digits as bring it back. */
const char *text_double(double);
