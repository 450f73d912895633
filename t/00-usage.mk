00-usage_EXTRA := proto/usage
