#!/bin/sh
# What "make lint" checks within seconds: clang-format of all files, and the warnings of clang.  clang-tidy takes minutes,
# and is left to "make lint".
. t/lib/sh/boxd.sh
unset MAKEFLAGS MFLAGS MAKEOVERRIDES SAN T O
git ls-files --error-unmatch GNUmakefile >/dev/null 2>&1 || plan skip_all "this is no git checkout: which files are the source?"
printf 'int  f(void) {\nint x;\nreturn 0; }\n' >"$D/bad.c"

if ! command -v clang-format >/dev/null; then
	skip 2 "clang-format is not installed"
elif ! clang-format --version | grep -q 'version 14\.'; then
	skip 2 "$(clang-format --version) formats otherwise than 14"
else
	is "$(make --no-print-directory lint-format 2>&1 >/dev/null | head -20)" "" "clang-format would change nothing"
	make lint-format C_FILES="$D/bad.c" >/dev/null 2>&1
	isnt $? 0 "what it would change is seen"
fi
if ! command -v clang >/dev/null; then
	skip 2 "clang is not installed"
else
	is "$(make --no-print-directory lint-clang 2>&1 | head -20)" "" "clang warns of nothing"
	make lint-clang C_FILES="$D/bad.c" >/dev/null 2>&1
	isnt $? 0 "what it warns of is seen"
fi
done_testing
