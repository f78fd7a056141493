import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { messageOf } from '@halting/core/adapters'
import { type EditMeans, tooBroadReason } from './edit-means.ts'
import { EditWall } from './edit-wall.ts'
import { findProgram } from './find-bubblewrap.ts'
import { readMemory, writeMemory } from './machine-memory.ts'

/** Options of `detectEdits`. */
export interface EditMeansOptions {
  /** The search path. */
  readonly path: string
  /** The directories of the session: programs in them are not trusted to confine commands. */
  readonly directories: readonly string[]
  /** The person's own folder. */
  readonly home: string
  /** The file that stores what worked since the machine started. Default: nowhere. */
  readonly memory?: string | undefined
}

/** Detects whether commands can be confined to the directories of the session, by running `true` in the same way. */
export function detectEdits({ path, directories, home, memory }: EditMeansOptions): EditMeans {
  const off = (why: string, lack?: MissingPart): EditMeans => ({
    kind: 'off',
    why,
    ...(lack !== undefined && { todo: editRemedy(lack) }),
  })
  if (process.platform !== 'linux') return off(`commands are not confined on ${process.platform}`)
  const tooMuch = tooBroadReason(directories, home)
  if (tooMuch !== undefined) return off(tooMuch, 'home')
  const file = findProgram('bwrap', path, directories)
  if (file === undefined)
    return findProgram('bwrap', path, []) === undefined
      ? off('bubblewrap is missing', 'bubblewrap')
      : off('the only bubblewrap is in a folder that commands can write', 'bubblewrap')
  const known = rememberedAnswer(memory, directories)
  if (known !== undefined) return { kind: 'bubblewrap', file, canDisableUserNamespaces: known }
  let reason = ''
  for (const canDisableUserNamespaces of [true, false]) {
    const means = { kind: 'bubblewrap', file, canDisableUserNamespaces } as const
    const failure = trialError(means, directories, home)
    if (failure === undefined) {
      writeMemory(memory, { canDisableUserNamespaces, directories })
      return means
    }
    reason = failure
  }
  const lack = missingPartIn(reason)
  if (lack === 'proc') return off('bubblewrap cannot give commands a /proc of their own here', lack)
  if (lack === 'namespaces')
    return off(`bubblewrap is not allowed to make namespaces${isNested() ? ' in this container or sandbox' : ''}`, lack)
  return off(`commands cannot be confined to this folder (${reason})`)
}

/** What is missing, from the error of bubblewrap. If a limit was reached, bubblewrap names the file in /proc with the limit. */
function missingPartIn(error: string): 'namespaces' | 'proc' | undefined {
  if (/new namespace|max_\S*_namespaces|uid map/i.test(error)) return 'namespaces'
  if (/proc/i.test(error)) return 'proc'
  return /namespace|permitted|permission|no space left/i.test(error) ? 'namespaces' : undefined
}

const tryMs = 5_000

/** The error of bubblewrap for a command that is started like real ones; undefined if it works. */
function trialError(
  means: Extract<EditMeans, { readonly kind: 'bubblewrap' }>,
  directories: readonly string[],
  home: string,
): string | undefined {
  const wall = new EditWall({ means, home, keptFolders: [] })
  try {
    const plain = { file: 'true', args: [], directory: directories[0] ?? '/', env: process.env, firstDescriptor: 3 }
    const denied = { read: [], edit: [] }
    const command = wall.confine(plain, { kind: 'edit', directories, readable: [], denied, writesGit: false })
    const { status, stderr, error } = spawnSync(command.file, command.args, {
      env: command.env,
      encoding: 'utf8',
      timeout: tryMs,
      stdio: ['ignore', 'ignore', 'pipe', ...command.descriptors],
    })
    command.started()
    return status === 0 ? undefined : (error?.message ?? stderr.trim().split('\n')[0] ?? '')
  } catch (thrown) {
    return messageOf(thrown)
  } finally {
    wall.dispose()
  }
}

/** Whether this program already runs in a user namespace. */
function isNested(): boolean {
  try {
    return !/^\s*0\s+0\s+4294967295\s*$/.test(readFileSync('/proc/self/uid_map', 'latin1'))
  } catch {
    return false
  }
}

/** Whether further namespaces can be forbidden, from a stored result for these directories. */
function rememberedAnswer(memory: string | undefined, directories: readonly string[]): boolean | undefined {
  const { canDisableUserNamespaces, directories: works } = readMemory(memory) ?? {}
  if (typeof canDisableUserNamespaces !== 'boolean' || !Array.isArray(works)) return undefined
  return directories.every((folder) => works.includes(folder)) ? canDisableUserNamespaces : undefined
}

/** What is missing to confine commands to the workspace. */
type MissingPart = 'bubblewrap' | 'namespaces' | 'proc' | 'home'

/** What a person can do about it, in a sentence. `read` returns the content of a file of `/proc/sys`, or undefined. */
export function editRemedy(lack: MissingPart, read: (file: string) => string | undefined = readTrimmed): string {
  switch (lack) {
    case 'bubblewrap':
      return 'Install bubblewrap (apt install bubblewrap, dnf install bubblewrap, pacman -S bubblewrap, apk add bubblewrap).'
    case 'namespaces':
      return namespacesRemedy(read)
    case 'proc':
      return 'This container masks /proc. Start it with --security-opt systempaths=unconfined (Docker, Podman) or procMount: Unmasked (Kubernetes).'
    case 'home':
      return 'Start halting in a folder below your home folder.'
  }
}

function namespacesRemedy(read: (file: string) => string | undefined): string {
  if (read('/proc/sys/user/max_user_namespaces') === '0')
    return 'Allow user namespaces: sudo sysctl user.max_user_namespaces=15000.'
  if (read('/proc/sys/kernel/unprivileged_userns_clone') === '0')
    return 'Allow user namespaces: sudo sysctl kernel.unprivileged_userns_clone=1.'
  if (read('/proc/sys/kernel/apparmor_restrict_unprivileged_userns') === '1')
    return 'AppArmor restricts user namespaces (Ubuntu 24.04). Give bwrap a profile that allows userns in /etc/apparmor.d, or run: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0.'
  return 'Allow user namespaces. In a container, start it with --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined (Docker), or in a pod of its own user namespace (Kubernetes: hostUsers: false).'
}

function readTrimmed(file: string): string | undefined {
  try {
    return existsSync(file) ? readFileSync(file, 'utf8').trim() : undefined
  } catch {
    return undefined
  }
}
