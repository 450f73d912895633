00-journal_EXTRA := supervisor/journal
