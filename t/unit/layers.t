#!/usr/bin/perl
# Who may include whom.  Rooms of proto/ are layers; a program sees itself and proto/, never another program; what
# imitates Python is for those alone who answer LangBot.
use strict;
use Test::More;

my %below = (
	base   => [qw(base)],
	wire   => [qw(base wire messages)],
	host   => [qw(base wire host messages)],
	python => [qw(base python)],
);
my $langbot = qr{^(supervisor/(langbot|agent)|workers/(gateway/langbot|store|artifact)|boxctl/(langbot|agent))/};

for my $file (split /\n/, `find proto supervisor workers boxctl -name '*.[ch]' | sort`) {
	my ($program) = $file =~ m{^(proto|supervisor|workers/\w+|boxctl/attack/inside|boxctl)/};
	my ($room) = $file =~ m{^proto/(\w+)/};
	my @bad;
	open(my $f, '<', $file) or die "$file: $!";
	while (my $line = <$f>) {
		my ($path) = $line =~ m{^\s*#\s*include "([^"]+)"} or next;
		my $shared = -e "proto/$path";
		my ($of) = $shared ? $path =~ m{^(\w+)/} : ();
		push @bad, $path if !$shared && (!-e "$program/$path" || $room);
		push @bad, $path if $room && $below{$room} && !grep { $_ eq ($of // '') } @{$below{$room}};
		push @bad, $path if !$room && ($of // '') eq 'python' && $file !~ $langbot;
	}
	is("@bad", '', $file);
}
done_testing;
