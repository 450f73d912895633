00-profile_EXTRA := supervisor/agent_plan supervisor/tenancy supervisor/journal supervisor/config supervisor/listen supervisor/profile supervisor/template
