#!/usr/bin/perl
# Who may include whom.  Rooms of proto/ are layers; a program sees itself and proto/, never another program; what
# imitates Python is for those alone who answer LangBot.  LangBot's rules, and an agent's, are seen from outside by a few
# headers, and not by every room.
use strict;
use Test::More;

my %below = (
	base   => [qw(base)],
	wire   => [qw(base wire messages)],
	host   => [qw(base wire host messages)],
	python => [qw(base python)],
);
my $langbot = qr{^(supervisor/(langbot|agent)|workers/(gateway/langbot|store)|boxctl/agent)/};
my %closed = ( # room => its headers that others see, and these others
	'supervisor/langbot' => [
		qr{^(langbot|admission|readiness|readiness_trial|tenancy|tenantroots|exec_notice)\.h$},
		qr{^supervisor/(agent|auth|children|core|main\.c)\b}
	],
	'supervisor/agent'        => [qr{^(agent|profile|template)\.h$}, qr{^supervisor/(children|config|core|main\.c)\b}],
	'workers/gateway/langbot' => [qr{^actions\.h$}, qr{^workers/gateway/(http|main\.c)\b}],
);

# Is this header of a closed room one that the file may not see?
sub closed_to {
	my ($file, $header) = @_;
	my ($room, $name) = $header =~ m{^(.*)/([^/]+)$} or return 0;
	return 0 if !$closed{$room} || $file =~ m{^\Q$room\E/};
	my ($face, $others) = @{$closed{$room}};
	return $name !~ $face || $file !~ $others;
}

for my $file (split /\n/, `find proto supervisor workers boxctl -name '*.[ch]' | sort`) {
	my ($program) = $file =~ m{^(proto|supervisor|workers/\w+|boxctl/attack/inside|boxctl)/};
	my ($room) = $file =~ m{^proto/(\w+)/};
	my @bad;
	open(my $f, '<', $file) or die "$file: $!";
	while (my $line = <$f>) {
		my ($path) = $line =~ m{^\s*#\s*include "([^"]+)"} or next;
		my $shared = -e "proto/$path" || -e "proto/" . $path =~ s/\.def$/.in/r; # the build makes the one from the other
		my ($of) = $shared ? $path =~ m{^(\w+)/} : ();
		push @bad, $path if !$shared && (!-e "$program/$path" || $room);
		push @bad, $path if $room && $below{$room} && !grep { $_ eq ($of // '') } @{$below{$room}};
		push @bad, $path if !$room && ($of // '') eq 'python' && $file !~ $langbot;
		push @bad, $path if !$shared && $program && closed_to($file, "$program/$path");
	}
	is("@bad", '', $file);
}
done_testing;
