# Rows of box-attack that make the kernel hold memory for them.  After boxd.sh and boxd_start:
#
#	hoard_all 64 [NAME...]       each, or these, in a session of 64 MiB of its own
#	hoard_run NAME MB            one of them; HOARD_CAUSE, HOARD_ERROR and HOARD_ROW tell what came of it

hoard_names() { "$BUILD/box-attack" --list | awk '$1 == "hoard" { print $2 }'; }

hoard_run() { # name MB
	boxctl create --name hoard --memory "$2" --pids 128 >/dev/null
	box cp "$BUILD/box-attack" hoard:/workspace/a >/dev/null
	box exec hoard -- chmod 755 /workspace/a
	box exec hoard -t 45 -o json -- /workspace/a --inside --only "$1" memory="$2" >"$D/hoard" 2>/dev/null
	HOARD_CAUSE=$(sed -n 's/.*"cause": "\([a-z]*\)".*/\1/p' "$D/hoard")
	HOARD_ERROR=$(sed -n 's/.*"error": "\(.*\)",$/\1/p' "$D/hoard")
	HOARD_ROW=$(sed -n 's/.*"stdout": "\(.*\)\\nend.*/\1/p' "$D/hoard" | sed 's/\\t/ /g')
}

hoard_end() { box rm hoard >/dev/null; }

# What is held is refused, or its owner is ended for it; and the session goes on.
hoard_all() { # MB [name...]
	_mb=$1
	shift
	[ $# -gt 0 ] || set -- $(hoard_names)
	for _hoard; do
		hoard_run "$_hoard" "$_mb"
		note "$_hoard: $HOARD_CAUSE $HOARD_ERROR $HOARD_ROW"
		like "$HOARD_CAUSE $HOARD_ROW" '^memory |^exit held ' "$_hoard: it gets no more than the session may have"
		is "$(box exec hoard -t 30 -- echo alive 2>&1)" alive "$_hoard: the session goes on" ||
			diag "$(tail -n 3 "$D/log")"
		hoard_end
	done
}
