00-policy_EXTRA := supervisor/policy supervisor/mountspec supervisor/config supervisor/profile supervisor/template supervisor/listen
