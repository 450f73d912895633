/* The seccomp filter of commands: refuses what a sandbox has no business with. */
#pragma once

#include <stdio.h>

#include "base/err.h"

/* A sealed memfd with the program of the policy in this file; "" is the one we have built in. */
int filter_compile(const char *path, struct err *);

/* The built-in policy, as its file. */
void filter_print(FILE *);
