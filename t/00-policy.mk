00-policy_EXTRA := supervisor/policy supervisor/config
