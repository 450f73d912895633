/* What is told of a command's end to clients that know an exit code and output, and no cause. */
#ifndef SUPERVISOR_EXEC_NOTICE_H
#define SUPERVISOR_EXEC_NOTICE_H

#include "msg.h"

/* Negative: the signal that ended it, as LangBot has it. */
int64_t exec_exit_code(const struct msg_exec_result *);

/* One last line for its standard error, where the exit code alone leaves people guessing; else empty. */
void exec_notice(const struct msg_exec_result *, const struct msg_spec *, uint64_t timeout_sec, char *out, size_t size);

#endif
