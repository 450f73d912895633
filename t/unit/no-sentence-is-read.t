#!/usr/bin/perl
# Nothing searches, compares or takes apart an error's sentence to find out what happened: that is what code, reason and
# fields of struct err are for.
use strict;
use Test::More;

# Files whose texts are no errors of ours, and why.
my %others = (
	'proto/base/netaddr.c'           => 'the text of an address',
	'proto/host/nft.c'               => "libnftables' own message, to be shown without its first word",
	'supervisor/core/groups.c'       => 'what the names of a group have in common',
	'workers/pool/trial.c'           => 'what was written to a file',
	'workers/store/zip/unzip.c'      => 'libarchive has no code for this',
);
my $reader = qr/\b(?:str(?:n|case|ncase|v)?(?:cmp|str|chr|rchr|pbrk|tok)|strtok_r|strsep|strto\w+|mem(?:cmp|mem|chr)|sscanf|fnmatch|regexec)/;
my $sentence = qr/(?:->|\.)(?:text|reason|message)\b|\b(?:why|reason|said|message|sentence)\b(?!->|\.|\()/;

# Calls that are given a sentence, or a variable that was: strcspn only finds where its first line ends.
sub calls {
	my ($code, @found) = @_;
	$code =~ s{/\*.*?\*/}{}gs;
	my $alias = join '|', $code =~ /\b(\w+) = \w+(?:(?:->|\.)\w+)*(?:->|\.)text\b(?!\()/g, '(?!)';
	while ($code =~ /$reader(?=(\((?:[^()]|(?1))*\)))/g) {
		my $call = "$&$1";
		$call =~ s/"(?:[^"\\]|\\.)*"/""/g;
		push @found, $call =~ s/\s+/ /gr if $call =~ $sentence || $call =~ /\b(?:$alias)\b(?!->|\.|\()/;
	}
	return @found;
}

is(join(' ', calls('if (strstr(e->text, "x") || strncmp(why.text, "y", 1)) sscanf(reason, "%d"); /* strcmp(e.text, a) */')),
	'strstr(e->text, "") strncmp(why.text, "", 1) sscanf(reason, "")', 'such calls are seen');
is(join(' ', calls('const char *from = had.text; strstr(from, name); strstr(name, other);')), 'strstr(from, name)', 'by another name, too');
is(join(' ', calls('strcmp(why->code, "text"); strcmp(t, m->body); memcmp(text, "a", 1);')), '', 'and no others');

for my $file (split /\n/, `find proto supervisor workers boxctl -name '*.[ch]' | sort`) {
	open(my $f, '<', $file) or die "$file: $!";
	my @found = calls(join '', <$f>);
	if ($others{$file}) {
		isnt("@found", '', "$file: $others{$file}");
	} else {
		is("@found", '', $file);
	}
}
done_testing;
