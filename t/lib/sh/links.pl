# What a C test or fuzz target is linked with, as make variables: the helpers of t/lib/c whose headers it includes, itself or
# by another helper, and the archives of the programs whose headers they all include.  links.pl FILE...
use strict;

my %program = (supervisor => 'boxd', boxctl => 'boxctl');

# the files behind a header are those that include it first
my %behind;
for my $file (glob 't/lib/c/*.c') {
	open(my $f, '<', $file) or die "$file: $!\n";
	while (my $line = <$f>) {
		next if $line !~ m{^#include "(\w+)\.h"};
		push @{$behind{$1}}, $file;
		last;
	}
}

sub needs {
	my ($file, $seen, $found) = @_;
	return if !-e $file or $seen->{$file}++;
	open(my $f, '<', $file) or die "$file: $!\n";
	while (my $line = <$f>) {
		$found->{$program{$1}}++ if $line =~ m{^#include "(supervisor|boxctl)/};
		$found->{"box-$1"}++ if $line =~ m{^#include "workers/(\w+)/};
		my ($helper) = $line =~ m{^#include "(\w+)\.h"} or next;
		needs("t/lib/c/$helper.h", $seen, $found);
		needs($_, $seen, $found) for @{$behind{$helper} || []};
	}
}

for my $file (@ARGV) {
	my (%seen, %found);
	needs($file, \%seen, \%found);
	my @helpers = sort grep { s{\.c$}{} and m{^t/lib/} } map { "$_" } keys %seen;
	(my $name = $file) =~ s{\.c$}{};
	print "${name}_HELPERS := @helpers\n${name}_LINKS := @{[sort keys %found]}\n";
}
