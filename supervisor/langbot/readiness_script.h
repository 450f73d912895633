/* The command of a trial; what it prints is read by trial_read. */
#pragma once

#include "langbot/readiness_trial.h"

extern const char trial_script[] __attribute__((visibility("hidden"))); /* readiness.sh */

enum {
	TRIAL_MEMORY_MB = 64, /* small, so that what counts as memory is soon full */
	TRIAL_QUOTA_MB = 8,
	TRIAL_OVER_MB = 32, /* more than any limit of it */
	TRIAL_FILES = 1024, /* more than its volume has */
};
