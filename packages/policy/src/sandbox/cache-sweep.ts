import { spawn } from 'node:child_process'
import { mkdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const dayMs = 24 * 60 * 60 * 1_000
/** Number of days without a confined command after which the caches of a project are removed. */
const unusedDays = 30
/** Number of days without use after which extra slots are removed. Concurrent commands created them, and they are seldom used again. */
const spareDays = 3

/**
 * Starts to remove unused caches, at most once per day, in the background. Never throws.
 * @param folder The folder of all caches, with one folder per project.
 */
export function sweepCaches(folder: string, perl: string): void {
  const mark = join(folder, 'swept')
  try {
    const last = statSync(mark, { throwIfNoEntry: false })
    if (last !== undefined && Date.now() - last.mtimeMs < dayMs) return
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    writeFileSync(mark, '')
    // Backup programs skip folders with this file.
    writeFileSync(join(folder, 'CACHEDIR.TAG'), 'Signature: 8a477f597d28d172789f06886806bc55\n')
    const child = spawn(perl, ['-e', sweeper, '--', folder, String(unusedDays), String(spareDays)], {
      detached: true,
      stdio: 'ignore',
      cwd: '/',
      env: { PERL_BADLANG: '0' },
    })
    child.once('error', () => undefined)
    child.unref()
  } catch {
    // The next start of the program tries again.
  }
}

/** Marks the caches of a project as used. */
export function markUsed(folder: string): void {
  const mark = join(folder, 'used')
  const now = new Date()
  try {
    utimesSync(mark, now, now)
  } catch {
    writeFileSync(mark, '', { mode: 0o600 })
  }
}

/**
 * Moves old entries away under the lock of their slot, then removes them, so that no command uses or starts to use them. Lock files remain as long
 * as the folder of the project.
 */
const sweeper = String.raw`
($root, $days, $spare) = @ARGV;
umask 077;
sub gone {
  my ($path) = @_;
  if (!-l $path && -d _) {
    chmod 0700, $path;
    opendir my $names, $path or return;
    for (grep !/^\.\.?$/, readdir $names) { gone("$path/$_") }
    rmdir $path;
  } else { unlink $path }
}
sub names { opendir my $names, $_[0] or return; grep !/^\./, readdir $names }
sub aside { my ($path) = @_; $count++; my $to = "$root/.trash-$$-$count"; rename $path, $to }
sub used { (stat "$_[0]/used")[9] }
sub locked { open my $lock, '<', "$_[0]/lock" or return; flock($lock, 6) ? $lock : undef }
setpriority 0, 0, 19;
for my $project (grep -d "$root/$_/slots", names($root)) {
  my $place = "$root/$project";
  my @slots = grep /^\d+$/, names("$place/slots");
  my $isOld = used($place) < time - $days * 86400;
  my @held;
  for (@slots) {
    my $slot = "$place/slots/$_";
    my $lock = locked($slot);
    if (!$lock) { $isOld = 0; next }
    push @held, $lock;
    aside("$slot/data") if $_ > 0 && (stat $lock)[9] < time - $spare * 86400;
  }
  aside("$place/slots/$_") for grep /^trash/, names("$place/slots");
  aside($place) if $isOld && used($place) < time - $days * 86400;
}
opendir $names, $root;
gone("$root/$_") for grep /^\.trash-/, readdir $names;
`
