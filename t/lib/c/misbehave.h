/* Commands that do what a shell cannot: a test program executes itself with the name of the misbehaviour. */
#pragma once

#include <stdint.h>

/* fill BYTES, bomb MOST, runner CHAINS, headless, zombies N, count, intruder PATH */
_Noreturn void misbehave(const char *how, const char *arg);

/* What fill writes, byte by byte. */
char pattern(uint64_t i);
