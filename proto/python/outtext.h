/*
 * A command's output as text for an agent: characters, without blanks around them, and at most as many as it can read.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Append the n bytes that were kept of total: valid UTF-8, Unicode's white space cut off both ends, and a notice
 * when there was more.
 */
void outtext_clean(struct buf *, const char *bytes, size_t n, uint64_t total);

/*
 * Append the text, at most limit characters of it: three fifths of the head, a notice, and the tail.  The text is
 * valid UTF-8, and no character is split.  Was anything left out?
 */
bool outtext_truncate(struct buf *, const char *text, size_t n, size_t limit);
