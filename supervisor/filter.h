/* The seccomp program that every command runs under. */
#ifndef SUPERVISOR_FILTER_H
#define SUPERVISOR_FILTER_H

#include "err.h"

/* Compiled once, into a sealed memfd that workers hand to init; -1 and the reason. */
int filter_compile(struct err *);

#endif
