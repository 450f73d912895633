#!/bin/sh
# A command cannot change the program its sandbox runs on: not by /proc/1/exe, not by its own links.
. t/lib/sh/boxd.sh
boxd_start
boxctl create --name s >/dev/null
sums() { cksum "$BUILD/box-init" "$BUILD/box-session" "$BUILD/boxd" "$BUILD/box-gateway" /bin/sh; }
before=$(sums)

# Open every way there is; prints the ways that worked.
cat >"$D/write.pl" <<'EOF'
use Fcntl;
my %how = (write => O_WRONLY, both => O_RDWR, append => O_WRONLY | O_APPEND, truncate => O_WRONLY | O_TRUNC);
for my $path (@ARGV) {
	for (sort keys %how) {
		print "$_ $path\n" if sysopen(my $f, $path, $how{$_});
	}
	# the descriptor first, for writing by its link later: the way of CVE-2019-5736
	if (sysopen(my $f, $path, 010000000)) { # O_PATH
		my $n = fileno $f;
		for (sort keys %how) {
			print "$_ $path by its link\n" if sysopen(my $g, "/proc/self/fd/$n", $how{$_});
		}
	}
	print "truncate $path\n" if truncate($path, 0);
	print "unlink $path\n" if unlink $path;
	print "rename $path\n" if rename $path, "$path.old";
	print "chmod $path\n" if chmod 0777, $path;
}
EOF
write=$(cat "$D/write.pl")
cp /bin/true "$D/victim"
is "$(perl -e "$write" "$D/victim" | wc -l | tr -d ' ')" 10 "the probe writes where it may"

is "$(in_box -- perl -e "$write" /proc/1/exe)" "" "/proc/1/exe is not writable"
is "$(in_box -- perl -e "$write" /proc/self/exe /usr/bin/perl)" "" "the command's own program neither"
is "$(in_box -- perl -e "$write" /bin/sh /usr/bin/env /lib64/ld-linux-x86-64.so.2 /etc/ld.so.cache /etc/passwd)" "" \
	"nor what every command is run by"
is "$(in_box -- perl -e "$write" /proc/1/mem | grep -v '^truncate /proc/')" "" \
	"init's memory is not writable" # a file of /proc is "truncated" without effect

# A program that waits until init runs a newborn, and takes /proc/PID/exe while it still is box-init.
timeout -k 5 20 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec s -t 4 -- perl -e '
	use Fcntl;
	$| = 1;
	print "ready\n";
	my $end = time + 3;
	my %seen;
	while (time < $end) {
		for my $p ($$ + 1 .. $$ + 60) {
			my $exe = readlink "/proc/$p/exe" or next;
			$exe =~ /box-init/ or next;
			print "saw box-init\n" unless $seen{$p}++;
			sysopen(my $f, "/proc/$p/exe", O_RDONLY) and print "opened box-init\n";
		}
	}' >"$D/race" 2>&1 &
race=$!
eventually grep -q ready "$D/race"
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do in_box -- true; done
wait $race
is "$(grep -c box-init "$D/race")" 0 "a newborn does not show it either"

is "$(sums)" "$before" "the programs on disk are what they were"
is "$(in_box -- echo alive)" alive "and the next command runs"
boxctl create --name fresh >/dev/null
is "$(timeout -k 5 30 "$BUILD/boxctl" --socket "$D/run/boxd.sock" exec fresh -- echo alive)" alive "in a new session too"
done_testing
