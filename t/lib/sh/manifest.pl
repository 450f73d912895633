#!/usr/bin/perl
# manifest.pl SOURCE MANIFEST: write the manifest of a directory, as LangBot does, and print its digest without "sha256:".
# With a third argument, a piece of perl, $m is changed before it is written; the digest is that of what is written.
use strict;
use warnings;
use Digest::SHA;
use JSON::PP;

my ($source, $manifest, $change) = @ARGV;
my (@files, $total);
$total = 0;

sub walk {
	my ($dir) = @_;
	opendir(my $d, "$source/$dir") or die "$source/$dir: $!";
	my @names = sort grep { $_ ne '.' && $_ ne '..' } readdir $d;
	closedir $d;
	for my $name (grep { !-d "$source/$dir$_" } @names) {
		my $path = "$dir$name";
		my $size = -s "$source/$path";
		my $sha256 = -f "$source/$path" ? Digest::SHA->new(256)->addfile("$source/$path")->hexdigest : '0' x 64;
		utf8::decode(my $text = $path);
		push @files, { path => $text, size => 0 + ($size || 0), sha256 => $sha256, executable => -x "$source/$path" ? JSON::PP::true : JSON::PP::false };
		$total += $size || 0;
	}
	walk("$dir$_/") for grep { -d "$source/$dir$_" && !-l "$source/$dir$_" } @names;
}

walk('');
my $m = { algorithm => 'sha256-tree-v1', files => \@files, total_bytes => $total };
eval "$change; 1" or die $@ if defined $change;
my $text = ref $m ? JSON::PP->new->canonical->utf8->encode($m) : $m;
open(my $f, '>:raw', $manifest) or die "$manifest: $!";
print $f $text or die;
close $f or die;
print Digest::SHA::sha256_hex($text), "\n";
