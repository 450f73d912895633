#!/bin/sh
# While its files are copied into a volume, a command exchanges directories with symlinks: nothing behind those comes along.
. t/lib/sh/boxd.sh
. t/lib/sh/pool.sh
need_pool
boxd_config 'spare_sandboxes = 0'
boxd_start
mkdir "$D/w" "$D/secret"
echo "of the host" >"$D/secret/secret"
chmod 700 "$D/secret"
i=0
while [ $i -lt 300 ]; do
	mkdir "$D/w/d$i"
	: >"$D/w/d$i/file"
	ln -s "$D/secret" "$D/w/l$i"
	i=$((i + 1))
done
boxctl create --name s --host-path "$D/w" >/dev/null
boxctl process start s swaps -- perl -e '
	require "./nothing-here" if ! -d "/workspace/d0"; # in a sandbox alone
	my $n = 0;
	while (1) {
		for my $i (0 .. 299) {
			my ($a, $b) = ("/workspace/d$i", "/workspace/l$i");
			syscall(316, -100, $a, -100, $b, 2) == 0 or die "exchange: $!"; # renameat2, RENAME_EXCHANGE
		}
		print "round\n" if $n++ == 0;
		$| = 1;
	}' >/dev/null
begun() { boxctl process logs s swaps | grep -q round; }
eventually begun
ok "directories and symlinks change places"

# What comes of a copy of something that changes, a volume or a refusal, is not the point.
i=0 made=0 found=
while [ $i -lt 12 ] && [ -z "$found" ]; do
	if boxctl pool create "$D/w" --size 32M --inodes 4096 --take-in >/dev/null 2>"$D/err"; then
		made=$((made + 1))
		found=$(find "$D/w/" -name secret -type f)
		boxctl pool remove "$D/w" --force >/dev/null
		rmdir "$D/w" 2>/dev/null
		mv "$D/.before-volume-w" "$D/w"
	fi
	i=$((i + 1))
done
note "$made volumes of $i; $(cat "$D/err")"
is "$found" "" "no file from behind a symlink is in the volume"
is "$(boxctl process get s swaps | grep -c running)" 1 "the whole time"
boxctl rm s >/dev/null
rm -rf "$D/w"/l*
boxctl pool create "$D/w" --size 32M --inodes 4096 --take-in >/dev/null
ok "what does not change is taken in" [ -n "$(find "$D/w" -name file | head -n 1)" ]
boxctl pool remove "$D/w" --force >/dev/null
done_testing
