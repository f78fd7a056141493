import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isJsonObject } from '@halting/core/adapters'
import { type CommandWithEnvironment, type LaunchedCommand, perlCommand } from './perl-command.ts'
import { removeTree } from './remove-tree.ts'
import { overlayNumbers } from './system-calls.ts'
import { circumstances, findPerl, notConfinedCode, notConfinedMark } from './wall-means.ts'

/** A folder that shows others, and takes what is written to it elsewhere. All paths are absolute, those of folders. */
export interface Overlay {
  /** What is shown where nothing else was written; of several, the first that has a name. Nothing here is ever written. */
  readonly lower: readonly string[]
  /** Takes what is written. Made where it is missing, with the mode of the lower one. On a file system that can be one (`detectOverlays`). */
  readonly upper: string
  /** For the kernel, on the file system of `upper`, used by nothing else. Made where it is missing. */
  readonly work: string
  /** Where it is mounted, for the command alone; it is there already. */
  readonly at: string
  /** Names or paths below the first lower folder that are not shown, whether they are there or not. */
  readonly hidden?: readonly string[]
  /** The only names of the first lower folder that are shown; all when absent. */
  readonly shown?: readonly string[]
}

export interface OverlayOptions {
  /** Path of perl. */
  readonly perl: string
  /**
   * A folder, there already. `upper` and `work` of the overlays are names, not paths then: they lie in a folder in it that no other
   * command uses as long as this one runs. The command must be bubblewrap.
   */
  readonly slots?: string
}

/** How to start a command that sees overlays. Undefined on a machine whose numbers are not known. */
export function overlayCommand(
  command: CommandWithEnvironment,
  overlays: readonly Overlay[],
  { perl, slots }: OverlayOptions,
): LaunchedCommand | undefined {
  const known = overlayNumbers()
  if (known === undefined) return undefined
  const words = [
    ...known.map(String),
    ...(slots === undefined ? [] : [`k${slots}`]),
    ...overlays.flatMap(({ lower, upper, work, at, hidden = [], shown = [] }) => [
      ...lower.map((path) => `l${path}`),
      ...hidden.map((path) => `h${path}`),
      ...shown.map((name) => `s${name}`),
      `u${upper}`,
      `w${work}`,
      `a${at}`,
    ]),
  ]
  return perlCommand(command, { perl, program: launcher, words })
}

/** Where overlays can be mounted, and by what. */
export type OverlayMeans =
  | {
      readonly kind: 'overlay'
      /** Path of the perl that mounts them. */
      readonly perl: string
    }
  | {
      readonly kind: 'none'
      /** Why there are none, as the end of a sentence. */
      readonly why: string
    }

export interface DetectOverlaysOptions {
  /** The search path. */
  readonly path: string
  /** Where commands can write: no perl is taken from there. */
  readonly writable: readonly string[]
  /** Path of bubblewrap, which runs behind the launcher. */
  readonly bubblewrap: string
  /** Upper folders will lie here; it is made. Whether that works depends on its file system. */
  readonly folder: string
  /** The file in which the answer is stored until the machine starts again; nowhere when absent. */
  readonly memory?: string | undefined
}

const tryMs = 5_000

/** Finds out whether overlays work with upper folders in a folder, by trying. Never throws. */
export function detectOverlays(options: DetectOverlaysOptions): OverlayMeans {
  const { path, writable, folder, memory } = options
  const perl = process.platform === 'linux' ? findPerl(path, writable) : undefined
  if (perl === undefined || overlayNumbers() === undefined)
    return { kind: 'none', why: 'there is no perl that could mount overlays' }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const where = `${circumstances()} ${statSync(folder).dev} ${perl} ${options.bubblewrap}`
    const known = memory === undefined ? undefined : rememberedAnswer(memory, where)
    const works = known ?? tryOverlay({ ...options, folder: realpathSync(folder) }, perl)
    if (memory !== undefined && known === undefined && works) remember(memory, where)
    if (works) return { kind: 'overlay', perl }
  } catch {
    // Below.
  }
  return { kind: 'none', why: `overlays cannot be mounted with what is written in ${folder}` }
}

/** What a file system must be able to do for an upper folder: hide what was removed, and a folder made anew in its place. */
const trial = 'cat a/f && rm -r a && mkdir a && ! cat a/f 2>/dev/null && rm b && echo c >b'

function tryOverlay({ folder, bubblewrap }: DetectOverlaysOptions, perl: string): boolean {
  const own = mkdtempSync(join(folder, 'try-'))
  try {
    const [lower, at] = [join(own, 'lower'), join(own, 'at')]
    for (const path of [join(lower, 'a'), at]) mkdirSync(path, { recursive: true })
    for (const name of ['a/f', 'b', 'hidden']) writeFileSync(join(lower, name), name)
    const plain = {
      file: bubblewrap,
      args: [
        '--unshare-user',
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        '--bind',
        at,
        at,
        '--chdir',
        at,
        'sh',
        '-c',
        trial,
      ],
      directory: '/',
      env: { PATH: '/usr/bin:/bin' },
    }
    const overlay = { lower: [lower], upper: join(own, 'upper'), work: join(own, 'work'), at, hidden: ['hidden'] }
    const command = overlayCommand(plain, [overlay], { perl })
    if (command === undefined) return false
    const { status } = spawnSync(command.file, command.args, { env: command.env, timeout: tryMs, stdio: 'ignore' })
    return status === 0 && readFileSync(join(own, 'upper/b'), 'utf8') === 'c\n'
  } finally {
    removeTree(own)
  }
}

function rememberedAnswer(memory: string, where: string): true | undefined {
  try {
    const stored: unknown = JSON.parse(readFileSync(memory, 'utf8'))
    return isJsonObject(stored) && stored['overlays'] === where ? true : undefined
  } catch {
    return undefined
  }
}

function remember(memory: string, where: string): void {
  try {
    writeFileSync(memory, JSON.stringify({ overlays: where }), { mode: 0o600 })
  } catch {
    // The next start tries again.
  }
}

/** Commands that run at once, at most. */
const mostSlots = 64

// Decision 0096.
/**
 * A program in perl that mounts overlays in user and mount namespaces of its own and then becomes the command, which is
 * bubblewrap. Bubblewrap 0.8 cannot mount them itself.
 *
 * Its arguments: the numbers of unshare, mount and mknodat on this machine; then one word for each thing: `k`, the folder of
 * slots; for each overlay `l`, a lower folder, `h`, a path that is hidden, `s`, a name that is shown, `u` and `w`, the upper and
 * work folders, and `a`, where it is mounted, last; `e`, a variable of the environment that perl itself must not see; `--`; the command.
 *
 * Folders are named to the kernel by descriptors: names with commas, colons and backslashes need no escaping, options do
 * not become too long, and what the command reads of its mounts names no place outside.
 *
 * What is hidden is hidden by a further layer of whiteouts. The lock of a slot is held by the first process of the sandbox, and
 * goes with it. L1: when a step fails, the command does not start. The exit code is 126.
 */
const launcher = String.raw`
sub fail { print STDERR "halting: ${notConfinedMark} ($_[0]), so it did not run\n"; exit ${notConfinedCode} }
($unshare, $mount, $mknodat) = map $_ + 0, splice @ARGV, 0, 3;
delete $ENV{PERL_BADLANG};
sub put { open my $file, '>', "/proc/self/$_[0]" or fail("$_[0]: $!"); print $file $_[1]; close $file or fail("$_[0]: $!") }
sub mounted { my ($type, $at, $flags, $data) = map "$_\0", @_; syscall($mount, $type, $at, $type, $_[2] + 0, $data) == 0 or fail("$_[0] at $_[1]: $!") }
sub opened { sysopen my $folder, $_[0], 0x200000 or fail("$_[0]: $!"); push @held, $folder; '/proc/self/fd/' . fileno $folder }
sub white { my $name = "$_[0]\0"; syscall($mknodat, -100, $name, 0020000, 0) == 0 or $! == 17 or fail("$_[0]: $!") }
sub slot {
  local $^F = 255;
  for (0 .. ${mostSlots - 1}) {
    my $slot = "$_[0]/$_";
    mkdir $slot, 0700;
    sysopen $lock, "$slot/lock", 0100, 0600 or fail("$slot/lock: $!");
    if (flock $lock, 6) { utime undef, undef, "$slot/lock"; return "$slot/" }
  }
  fail('too many commands run at once');
}
while (($_ = shift @ARGV) ne '--') {
  ($kind, $value) = (substr($_, 0, 1), substr($_, 1));
  if ($kind eq 'e') { my ($name, $text) = split /=/, $value, 2; $ENV{$name} = $text }
  elsif ($kind eq 'k') { $slot = slot($value) }
  else { push @{$next{$kind}}, $value }
  next if $kind ne 'a';
  push @overlays, {%next};
  my ($upper, $mode) = ("$slot$next{u}[0]", (stat $next{l}[0])[2]);
  chmod $mode & 0777 | 0700, $upper if mkdir $upper, 0700;
  mkdir "$slot$next{w}[0]", 0700;
  %next = ();
}
($user, $group) = ($>, $) + 0);
syscall($unshare, 0x10020000) == 0 or fail("namespaces: $!");
put('setgroups', 'deny');
put('uid_map', "$user $user 1");
put('gid_map', "$group $group 1");
($none, $root) = ("none\0", "/\0");
syscall($mount, $none, $root, 0, 0x44000, 0) == 0 or fail("private mounts: $!");
for (@overlays) {
  my %of = %$_;
  my $at = $of{a}[0];
  my $lower = $of{l}[0];
  my @layers;
  if ($of{h} || $of{s}) {
    mounted('tmpfs', $at, 14, 'mode=0755');
    my %shown = map +($_, 1), '.', '..', @{$of{s} || []};
    if ($of{s} && opendir my $names, $lower) { $shown{$_} or white("$at/$_") for readdir $names }
    HIDDEN: for my $path (@{$of{h} || []}) {
      my ($above, @names) = ('', split m{/}, $path);
      for (@names[0 .. $#names - 1]) {
        $above .= "/$_";
        next HIDDEN if -l "$lower$above" || !-d _ || -e "$at$above" && !-d _;
        mkdir "$at$above", 0755;
      }
      white("$at/$path");
    }
    push @layers, opened($at);
  }
  push @layers, map opened($_), @{$of{l}};
  my ($upper, $work) = map opened("$slot$_"), $of{u}[0], $of{w}[0];
  mounted('overlay', $at, 6, 'lowerdir=' . join(':', @layers) . ",upperdir=$upper,workdir=$work,userxattr");
}
splice @ARGV, 1, 0, '--sync-fd', fileno $lock if $lock;
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0]: $!");
`
