import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import { findProgram } from './find-bubblewrap.ts'
import { readMemory, writeMemory } from './machine-memory.ts'
import { machineNumbers } from './system-calls.ts'

/** What confines commands that were judged read-only. */
export type WallMeans =
  | {
      readonly kind: 'landlock'
      /** Path of the perl that applies Landlock. */
      readonly perl: string
      /** The Landlock version of the kernel. */
      readonly version: number
    }
  | {
      readonly kind: 'bubblewrap'
      /** Path of bubblewrap. */
      readonly file: string
      /** Whether it can mount its own `/proc`; not in containers that mask theirs. */
      readonly hasOwnProc: boolean
      /** Whether it can forbid further user namespaces. */
      readonly canDisableUserNamespaces: boolean
    }
  /** Linux, but neither works. */
  | {
      readonly kind: 'none'
      /** Why neither works, in a sentence. */
      readonly why: string
    }
  /** Turned off by a setting, or unsupported by the system: commands run if they were judged read-only. */
  | {
      readonly kind: 'off'
      /** Why it is off, in a sentence. */
      readonly why: string
    }

/** The exit code of a launcher that could not confine a command and did not run it. */
export const notConfinedCode = 126
/** What such a launcher prints. */
export const notConfinedMark = 'this command cannot be confined'

export interface DetectOptions {
  readonly path: string
  /** Folders that commands can write: programs in them are not used to confine. */
  readonly writable: readonly string[]
  /** The file that stores the result until the next boot. Default: nowhere. */
  readonly memory?: string | undefined
  readonly platform?: NodeJS.Platform
}

const tryMs = 5_000
/** From this version on, Landlock limits signals. */
const signalsVersion = 6

/** Detects what works on this machine, by trying. Takes some milliseconds for the first time after boot. */
export function detectWall(options: DetectOptions): WallMeans {
  const { platform = process.platform, memory } = options
  if (platform !== 'linux') return { kind: 'off', why: `commands are not confined on ${platform}` }
  const known = rememberedMeans(options)
  if (known !== undefined) return known
  const means = findMeans(options)
  if (means.kind !== 'none') writeMemory(memory, means)
  return means
}

function findMeans({ path, writable }: DetectOptions): WallMeans {
  const landlock = findLandlock(path, writable)
  if (landlock?.kind === 'landlock' && landlock.version >= signalsVersion) return landlock
  const bubblewrap = findNamespaces(path, writable)
  if (bubblewrap !== undefined) return bubblewrap
  return (
    landlock ?? {
      kind: 'none',
      why: 'the kernel has no Landlock or perl is missing, and bubblewrap is missing or not allowed to create namespaces',
    }
  )
}

/** Whether Landlock can confine commands on this machine, and by which program. */
export function findLandlock(path: string, writable: readonly string[]): WallMeans | undefined {
  const perl = findPerl(path, writable)
  if (perl === undefined || machineNumbers() === undefined) return undefined
  const { status, stdout } = spawnSync(perl, ['-e', 'print syscall 444, 0, 0, 1'], {
    encoding: 'utf8',
    timeout: tryMs,
    env: { PERL_BADLANG: '0' },
  })
  const version = status === 0 ? Number(stdout) : 0
  return version >= 1 ? { kind: 'landlock', perl, version } : undefined
}

/** Prefers the perl of the system: version managers install one that starts others. */
export function findPerl(path: string, writable: readonly string[]): string | undefined {
  return findProgram('perl', `/usr/bin:${path}`, writable)
}

/** Whether bubblewrap can confine commands on this machine, and by which program. */
export function findNamespaces(path: string, writable: readonly string[]): WallMeans | undefined {
  const file = findProgram('bwrap', path, writable)
  if (file === undefined) return undefined
  for (const hasOwnProc of [true, false])
    for (const canDisableUserNamespaces of [true, false]) {
      const args = [
        ...namespaceArguments({ hasOwnProc, canDisableUserNamespaces }, 'read'),
        '--ro-bind',
        '/',
        '/',
        '--dev',
        '/dev',
        ...procArguments({ hasOwnProc }),
      ]
      if (spawnSync(file, [...args, 'true'], { timeout: tryMs, stdio: 'ignore' }).status === 0)
        return { kind: 'bubblewrap', file, hasOwnProc, canDisableUserNamespaces }
    }
  return undefined
}

type Bubblewrap = Extract<WallMeans, { readonly kind: 'bubblewrap' }>

/** With `look`, commands see the processes of the machine. Memory and environments belong to another user namespace and remain inaccessible. */
export function namespaceArguments(
  { hasOwnProc, canDisableUserNamespaces }: Pick<Bubblewrap, 'hasOwnProc' | 'canDisableUserNamespaces'>,
  kind: 'read' | 'look',
): readonly string[] {
  return [
    '--unshare-user',
    '--unshare-net',
    '--unshare-ipc',
    '--die-with-parent',
    '--new-session',
    '--cap-drop',
    'ALL',
    ...(kind === 'read' && hasOwnProc ? ['--unshare-pid'] : []),
    ...(canDisableUserNamespaces ? ['--disable-userns'] : []),
  ]
}

export function procArguments({ hasOwnProc }: Pick<Bubblewrap, 'hasOwnProc'>): readonly string[] {
  return hasOwnProc ? ['--proc', '/proc'] : ['--ro-bind', '/proc', '/proc']
}

/** One line for a person about what confines commands. */
export function wallSummary(means: WallMeans): string {
  switch (means.kind) {
    case 'landlock':
      return `commands that only read run confined by Landlock (version ${means.version}) and seccomp`
    case 'bubblewrap':
      return 'commands that only read run confined by bubblewrap and seccomp'
    case 'none':
      return `nothing confines commands: ${means.why}. Only plain lines run without a rule`
    case 'off':
      return `${means.why}: commands that only read run without a rule and are not confined`
  }
}

/** Resolves the programs again: the file belongs to the person, and the programs are started. */
function rememberedMeans({ memory, path, writable }: DetectOptions): WallMeans | undefined {
  const stored = readMemory(memory)
  if (stored === undefined) return undefined
  const { version, hasOwnProc, canDisableUserNamespaces } = stored
  if (typeof version === 'number') {
    const perl = findPerl(path, writable)
    return perl === undefined ? undefined : { kind: 'landlock', perl, version }
  }
  const file = findProgram('bwrap', path, writable)
  if (file === undefined || typeof hasOwnProc !== 'boolean' || typeof canDisableUserNamespaces !== 'boolean')
    return undefined
  return { kind: 'bubblewrap', file, hasOwnProc, canDisableUserNamespaces }
}

/** The stored result was wrong: the next start detects it again. */
export function forgetMeans(memory: string | undefined): void {
  if (memory !== undefined) rmSync(memory, { force: true })
}
