00-token_EXTRA := supervisor/token proto/tokenfile proto/newfile
