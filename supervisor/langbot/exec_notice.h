/* The end of a command in one line, for clients that know an exit code and output, and no cause. */
#pragma once

#include "wire/msg.h"

/* 128 + n for signal n, as a shell and docker report it; -1 when there is neither a code nor a signal. */
int64_t exec_exit_code(const struct msg_exec_result *);

/* One last line for its standard error, where the exit code alone leaves people guessing; else empty. */
void exec_notice(const struct msg_exec_result *, const struct msg_spec *, uint64_t timeout_sec, char *out, size_t size);
