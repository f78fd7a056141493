import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { readMemory, writeMemory } from './machine-memory.ts'
import { type CommandWithEnvironment, type LaunchedCommand, perlCommand } from './perl-command.ts'
import { removeTree } from './remove-tree.ts'
import { overlayNumbers } from './system-calls.ts'
import { findPerl, notConfinedCode, notConfinedMark } from './wall-means.ts'

/** An overlay mount: it shows the lower folders and redirects writes to the upper folder. All paths are absolute paths of folders. */
export interface Overlay {
  /**
   * The folders whose content is shown unless a write replaced it; of entries with the same name, that of the first
   * folder is shown. These folders are never written.
   */
  readonly lower: readonly string[]
  /** Receives the writes. Created if missing, with the mode of the lower folder. Needs a suitable file system (`detectOverlays`). */
  readonly upper: string
  /** Work folder of the kernel, on the file system of `upper` and used by nothing else. Created if missing. */
  readonly work: string
  /** The mount point, which must exist; visible to the command only. */
  readonly at: string
  /** Paths in the first lower folder that are not shown, whether they exist or not. */
  readonly hidden?: readonly string[]
  /** Paths in the first lower folder: nothing else of their folders is shown. */
  readonly shown?: readonly string[]
  /** Paths in the overlay at which missing folders are created. The command does not start if the path contains a link. */
  readonly folders?: readonly string[]
}

export interface OverlayOptions {
  /** Path of perl. */
  readonly perl: string
  /**
   * An existing folder. Then `upper` and `work` of the overlays are names in a slot: a folder in it that no other command uses at the same time, and
   * that remains. The command must be bubblewrap. If the command could not start, a file named `failed` is created there.
   */
  readonly slots?: string
  /** Boot time in seconds since the epoch: data that was written shortly before the boot may be damaged, and is set aside. */
  readonly bootSeconds?: number
}

/** How to start a command with overlays. Undefined for architectures whose system call numbers are unknown. */
export function overlayCommand(
  command: CommandWithEnvironment,
  overlays: readonly Overlay[],
  { perl, slots, bootSeconds }: OverlayOptions,
): LaunchedCommand | undefined {
  const known = overlayNumbers()
  if (known === undefined) return undefined
  const words = [
    ...known.map(String),
    ...(slots === undefined ? [] : [`b${bootSeconds ?? 0}`, `k${slots}`]),
    ...overlays.flatMap(({ lower, upper, work, at, hidden = [], shown = [], folders = [] }) => [
      ...lower.map((path) => `l${path}`),
      ...hidden.map((path) => `h${path}`),
      ...shownArguments(shown),
      ...folders.map((path) => `m${path}`),
      `u${upper}`,
      `w${work}`,
      `a${at}`,
    ]),
  ]
  return perlCommand(command, { perl, program: launcher, words })
}

/** One argument for each folder, from the outside in. A name that contains a line end is not shown. */
function shownArguments(shown: readonly string[]): readonly string[] {
  const folders = new Map<string, string[]>()
  for (const path of shown) {
    if (path.includes('\n')) continue
    const at = path.lastIndexOf('/')
    const folder = path.slice(0, Math.max(at, 0))
    const names = folders.get(folder) ?? []
    folders.set(folder, names)
    names.push(path.slice(at + 1))
  }
  return [...folders]
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
    .map(([folder, names]) => `s${[folder, ...names].join('\n')}`)
}

/** Where overlays can be mounted, and by which program. */
export type OverlayMeans =
  | {
      readonly kind: 'overlay'
      /** Path of the perl that mounts them. */
      readonly perl: string
    }
  | {
      readonly kind: 'none'
      /** Why they are unavailable, as the end of a sentence. */
      readonly why: string
    }

export interface DetectOverlaysOptions {
  /** The search path. */
  readonly path: string
  /** Folders that commands can write: perl is not taken from there. */
  readonly writable: readonly string[]
  /** Path of bubblewrap, which the launcher starts. */
  readonly bubblewrap: string
  /** The folder for upper folders; created if missing. The result depends on its file system. */
  readonly folder: string
  /** The file that stores the result until the next boot. Default: nowhere. */
  readonly memory?: string | undefined
}

const tryMs = 5_000

/** Detects whether overlays work with upper folders in a folder, by trying. Never throws. */
export function detectOverlays(options: DetectOverlaysOptions): OverlayMeans {
  const { path, writable, folder, memory } = options
  const perl = process.platform === 'linux' ? findPerl(path, writable) : undefined
  if (perl === undefined || overlayNumbers() === undefined)
    return { kind: 'none', why: 'perl, which mounts overlays, is missing' }
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    const overlays = `${statSync(folder).dev} ${perl} ${options.bubblewrap}`
    const isKnown = readMemory(memory)?.['overlays'] === overlays
    const works = isKnown || tryOverlay({ ...options, folder: realpathSync(folder) }, perl)
    if (works && !isKnown) writeMemory(memory, { overlays })
    if (works) return { kind: 'overlay', perl }
  } catch {
    // The result below reports this failure.
  }
  return { kind: 'none', why: `overlays cannot be mounted with an upper folder in ${folder}` }
}

/** What a file system must support for an upper folder: hiding removed files, and replacing a folder. */
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

/** Maximum number of concurrent commands. */
const maxSlots = 64
/**
 * The sandbox of an ended command ends slightly later and holds the lock of its slot until then. The next command waits
 * for the lock, to reuse the cache in the slot. After this many attempts a new slot is created.
 */
const slotAttempts = 25
const slotWaitSeconds = 0.02
/** Number of seconds before a crash in which writes may not have reached the disk, as nothing flushes them. */
const doubtfulSeconds = 600

// Decision 0096.
/**
 * A perl program that mounts overlays in new user and mount namespaces and then becomes the command, which is bubblewrap. Bubblewrap 0.8 cannot
 * mount them itself.
 *
 * Its arguments: the numbers of unshare, mount and mknodat on this architecture; then one argument per item: `b`, the boot time; `k`, the folder
 * of slots; for each overlay `l`, a lower folder, `h`, a hidden path, `s`, a folder and all visible names in it, one per line, `m`, a folder to
 * create, `u` and `w`, the upper and work folders, and `a`, the mount point, last; `e`, an environment variable that perl itself must not see; `--`;
 * the command.
 *
 * Folders are passed to the kernel by descriptor. So names with commas, colons and backslashes need no escaping, options do not become too long,
 * and the mounts that the command reads name no outside paths.
 *
 * Hidden paths are covered by a further layer of whiteouts. `volatile`: otherwise the kernel flushes the whole file system when a command ends,
 * and the command waits for it. It leaves a mark that must be removed before the next one. The lock of a slot belongs to the first process of the
 * sandbox and ends with it.
 * L1: if a step fails, the command does not start. The exit code is 126.
 */
const launcher = String.raw`
sub fail {
  print STDERR "halting: ${notConfinedMark} ($_[0]), so it did not run\n";
  open my $mark, '>', "$slots/failed" if $slots;
  exit ${notConfinedCode};
}
($unshare, $mount, $mknodat) = map $_ + 0, splice @ARGV, 0, 3;
delete $ENV{LC_ALL};
sub put { open my $file, '>', "/proc/self/$_[0]" or fail("$_[0]: $!"); print $file $_[1]; close $file or fail("$_[0]: $!") }
sub mounted { my ($type, $at, $flags, $data) = map "$_\0", @_; syscall($mount, $type, $at, $type, $_[2] + 0, $data) == 0 or fail("$_[0] at $_[1]: $!") }
sub opened { sysopen my $folder, $_[0], 0x200000 or fail("$_[0]: $!"); push @held, $folder; '/proc/self/fd/' . fileno $folder }
sub white { my $name = "$_[0]\0"; syscall($mknodat, -100, $name, 0020000, 0) == 0 or $! == 17 or fail("$_[0]: $!") }
sub clean {
  my @marks = map "$_[0]/work$_", '', '/incompat', '/incompat/volatile';
  -d $_ and chmod 0700, $_ for @marks;
  unlink "$marks[2]/dirty";
  rmdir $marks[2] and rmdir $marks[1];
}
sub slot {
  local $^F = 255;
  my $waits = ${slotAttempts};
  for (my $number = 0; $number < ${maxSlots}; $number++) {
    my $slot = "$slots/$number";
    if (!-d $slot && $number > 0 && $waits-- > 0) {
      select undef, undef, undef, ${slotWaitSeconds};
      $number = -1;
      next;
    }
    mkdir $slot, 0700;
    sysopen $lock, "$slot/lock", 0100, 0600 or fail("$slot/lock: $!");
    next if !flock $lock, 6;
    my $used = (stat $lock)[9];
    rename "$slot/data", "$slots/trash-$$-$used" if $used < $boot && $used > $boot - ${doubtfulSeconds};
    utime undef, undef, "$slot/lock";
    mkdir "$slot/data", 0700;
    return "$slot/data/";
  }
  fail('too many commands run at once');
}
sub way {
  my ($lower, $at, $folder) = @_;
  my $above = '';
  for (split m{/}, $folder) {
    $above .= "/$_";
    my $mode = (lstat "$lower$above")[2];
    return 0 if !-d _;
    if (lstat "$at$above") { return 0 if !-d _ }
    else { mkdir "$at$above", 0700; chmod $mode & 07777 | 0700, "$at$above" }
  }
  1;
}
while (($_ = shift @ARGV) ne '--') {
  ($kind, $value) = (substr($_, 0, 1), substr($_, 1));
  if ($kind eq 'e') { my ($name, $text) = split /=/, $value, 2; $ENV{$name} = $text }
  elsif ($kind eq 'b') { $boot = $value }
  elsif ($kind eq 'k') { $slots = $value; $slot = slot() }
  else { push @{$next{$kind}}, $value }
  next if $kind ne 'a';
  push @overlays, {%next};
  my ($upper, $mode) = ("$slot$next{u}[0]", (stat $next{l}[0])[2]);
  chmod $mode & 0777 | 0700, $upper if mkdir $upper, 0700;
  mkdir "$slot$next{w}[0]", 0700 or clean("$slot$next{w}[0]");
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
    for (@{$of{s} || []}) {
      my ($folder, @names) = split m{\n};
      my %shown = map +($_, 1), '.', '..', @names;
      way($lower, $at, $folder) && opendir my $names, "$lower/$folder" or next;
      $shown{$_} or white("$at/$folder/$_") for readdir $names;
    }
    for (@{$of{h} || []}) { m{^(?:(.*)/)?[^/]+$} and way($lower, $at, defined $1 ? $1 : '') and white("$at/$_") }
    push @layers, opened($at);
  }
  push @layers, map opened($_), @{$of{l}};
  my ($upper, $work) = map opened("$slot$_"), $of{u}[0], $of{w}[0];
  mounted('overlay', $at, 6, 'lowerdir=' . join(':', @layers) . ",upperdir=$upper,workdir=$work,userxattr,volatile");
  for my $folder (@{$of{m} || []}) {
    my $above = $at;
    for (split m{/}, $folder) {
      $above .= "/$_";
      mkdir $above, 0700;
      lstat $above;
      fail("$above is no folder") if !-d _;
    }
  }
}
splice @ARGV, 1, 0, '--sync-fd', fileno $lock if $lock;
exec { $ARGV[0] } @ARGV;
fail("$ARGV[0]: $!");
`
