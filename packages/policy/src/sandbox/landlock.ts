import type { Place } from './description.ts'
import { type CommandWithEnvironment, type LaunchedCommand, perlCommand } from './perl-command.ts'
import { seccompFilter } from './seccomp.ts'
import { machineNumbers } from './system-calls.ts'
import { notConfinedCode, notConfinedMark } from './wall-means.ts'

export interface LandlockPlaces {
  /** Places that can be read, with everything below them. */
  readonly readable: readonly Place[]
  /** Folders that can be listed. */
  readonly listed: readonly string[]
  readonly writable: readonly string[]
  readonly devices: readonly string[]
}

/** How to start a command confined by Landlock. Undefined for architectures whose system call numbers are unknown. */
export function landlockCommand(
  command: CommandWithEnvironment,
  places: LandlockPlaces,
  { perl, version }: { readonly perl: string; readonly version: number },
): LaunchedCommand | undefined {
  const filter = seccompFilter(process.arch, { profile: 'read', scopesSignals: version >= 6 })
  const known = machineNumbers()
  if (filter === undefined || known === undefined) return undefined
  const words = [
    ...known.map(String),
    Buffer.from(filter).toString('hex'),
    ...places.readable.map(({ path, kind }) => `${kind === 'file' ? 'f' : 'r'}${path}`),
    ...places.listed.map((path) => `l${path}`),
    ...places.devices.map((path) => `d${path}`),
    ...places.writable.map((path) => `w${path}`),
  ]
  return perlCommand(command, { perl, program: launcher, words })
}

// Decision 0068.
/**
 * A program in perl that confines itself by Landlock and seccomp and then becomes the command. Node cannot make these
 * system calls itself, a second node would cost 40 ms, and perl is where git is. It needs no
 * namespaces, so it works in containers.
 *
 * Its arguments: the numbers of prctl, capset, seccomp and openat on this machine; the filter in hexadecimal; then one
 * word for each place (`r`, a folder that can be read with all that lies below; `f`, a file that can be read; `l`, a folder
 * that can be listed; `w`, a folder that can be written; `d`, a device) or variable of the environment (`e`, which perl itself must not see); `--`; the command.
 *
 * L1: when a step fails, the command does not start. The exit code is 126.
 */
const launcher = String.raw`
sub fail { print STDERR "halting: ${notConfinedMark} ($_[0]), so it did not run\n"; exit ${notConfinedCode} }
($prctl, $capset, $seccomp, $openat) = map $_ + 0, splice @ARGV, 0, 4;
$filter = pack 'H*', shift @ARGV;
delete $ENV{LC_ALL};
$abi = syscall 444, 0, 0, 1;
fail("no Landlock: $!") if $abi < 1;
$write = 2 | 0x1ff0 | ($abi >= 2 ? 1 << 13 : 0) | ($abi >= 3 ? 1 << 14 : 0);
$device = 6 | ($abi >= 3 ? 1 << 14 : 0) | ($abi >= 5 ? 1 << 15 : 0);
$set = pack 'QQQ', $write | $device | 12, $abi >= 4 ? 3 : 0, $abi >= 6 ? 3 : 0;
$set = syscall 444, $set, $abi >= 6 ? 24 : $abi >= 4 ? 16 : 8, 0;
fail("Landlock: $!") if $set < 0;
%rights = (r => 12, f => 4, l => 8, w => $write | 12, d => $device);
while (($_ = shift @ARGV) ne '--') {
  ($kind, $path) = (substr($_, 0, 1), substr($_, 1));
  if ($kind eq 'e') { ($name, $path) = split /=/, $path, 2; $ENV{$name} = $path; next }
  $name = "$path\0";
  $place = syscall $openat, -100, $name, 0x280000, 0;
  next if $place < 0;
  $rule = pack 'Ql', $rights{$kind}, $place;
  syscall(445, $set, 1, $rule, 0) == 0 or fail("Landlock, $path: $!");
}
syscall($prctl, 38, 1, 0, 0, 0) == 0 or fail("no_new_privs: $!");
syscall(446, $set, 0) == 0 or fail("Landlock: $!");
for (0 .. 63) { last if syscall $prctl, 24, $_, 0, 0, 0 }
($header, $none) = (pack('Ll', 0x20080522, 0), pack 'L6', (0) x 6);
syscall($capset, $header, $none) == 0 or fail("capabilities: $!");
syscall $prctl, 47, 4, 0, 0, 0;
$program = pack 'Sx6P', length($filter) / 8, $filter;
syscall($seccomp, 1, 0, $program) == 0 or fail("seccomp: $!");
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0]: $!");
`
