00-tenancy_EXTRA := supervisor/tenancy supervisor/journal
