# Confines this process, then becomes the command: perl -e TEXT <abi> <system calls> <paths> <command…> (confinement.ts).
# Perl: every Debian has it, and it can make any system call. None of these calls needs a privilege.
use strict;
use warnings;

my ($abi, $calls, $paths, @command) = @ARGV;
my ($arch, $prctl, $seccomp, $clone3) = split /,/, $abi;

sub call {
  my ($number, @arguments) = @_;
  my $result = syscall($number, @arguments);
  die "system call $number: $!\n" if $result < 0;
  return $result;
}

# close_range(2): inherited descriptors
call(436, 4, 0xffffffff, 0);
# PR_SET_NO_NEW_PRIVS
call($prctl + 0, 38, 1, 0, 0, 0);

if ($paths ne '') { # landlock(7)
  my $version = call(444, 0, 0, 1);
  my $files = $version < 2 ? 0x1fff : $version < 3 ? 0x3fff : $version < 5 ? 0x7fff : 0xffff;
  # no TCP; no signal and no abstract socket to processes outside
  my $rules = pack 'Q3', $files, 3, 3;
  my $ruleset = call(444, $rules, $version < 4 ? 8 : $version < 6 ? 16 : 24, 0);
  for (split /\n/, $paths) {
    my ($access, $path) = split / /, $_, 2;
    open my $file, '<', $path or next;
    my $rule = pack 'Q l', (-d $file ? $access : $access & 7), fileno $file;
    call(445, $ruleset, 1, $rule, 0);
  }
  call(446, $ruleset, 0);
}

if ($calls ne '') { # seccomp(2), instructions of <linux/filter.h>: an allow list
  my ($load, $equals, $has, $return) = (0x20, 0x15, 0x45, 0x06);
  my ($allow, $kill, $deny, $unknown) = (0x7fff0000, 0x80000000, 0x00050001, 0x00050026);
  my @code = ([$load, 0, 0, 4], [$equals, 1, 0, $arch], [$return, 0, 0, $kill], [$load, 0, 0, 0]);
  for (split /,/, $calls) {
    my ($number, $test, $values) = /^(\d+)(?:([=&:])([\w|]+))?$/ or die "not a system call: $_\n";
    if (!$test) { push @code, [$equals, 0, 1, $number], [$return, 0, 0, $allow]; next }
    # by its first argument, or for ":" by its second one
    my @values = map { $_ eq 'pid' ? $$ : $_ } split /\|/, $values;
    push @code, [$equals, 0, 2 * @values + 2, $number], [$load, 0, 0, $test eq ':' ? 24 : 16],
      (map { [$test eq '&' ? $has : $equals, 0, 1, $_], [$return, 0, 0, $allow] } @values),
      [$return, 0, 0, $deny];
  }
  # clone3 passes flags in memory, which a filter cannot read: ENOSYS makes libc use clone
  push @code, [$equals, 0, 1, $clone3], [$return, 0, 0, $unknown], [$return, 0, 0, $deny];
  my $filter = join '', map { pack 'S C2 L', @$_ } @code;
  my $program = pack 'S x6 P', scalar @code, $filter;
  call($seccomp + 0, 1, 0, $program);
}

exec { $command[0] } @command or die "$command[0]: $!\n";
