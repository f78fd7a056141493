import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmdirSync,
  type Stats,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { identityOf, nodeOf } from './folder-scan.ts'
import { isInside } from '../files/paths.ts'
import { holdsSpecialFiles, liveSockets } from './live-sockets.ts'
import { abandonedFolders, processFolderName } from './process-folders.ts'
import { removeTree } from './remove-tree.ts'
import { SandboxError } from './sandbox-error.ts'
import { namesIn, ignoreErrors } from './on-disk.ts'

/** The temporary folder of the machine. */
export const realTmp = '/tmp'

/** An entry that is created only as a mount point. */
interface Stub {
  readonly name: string
  readonly node: string
}

/** What one command sees as `/tmp`. */
export interface EnteredTemporary {
  /** The folder that is mounted there. */
  readonly folder: string
  /** Names in the real `/tmp` that are mounted read-only. */
  readonly shown: readonly string[]
  readonly stubs: readonly Stub[]
}

/** Maximum number of entries of the real `/tmp` that a command sees without naming them. */
const maxShown = 20
/** In a larger folder (about a thousand entries), a command sees only the entries that it names. */
const maxBytes = 40_000
/** Maximum number of folders that are searched for sockets and pipes: first in each entry that the command names, then in all other entries together. */
const [searchedOfNamed, searchedOfOthers, searchedOfOwn] = [2_000, 60, 60]

/**
 * What other programs run or read as settings if they find it in `/tmp`, such as caches of compiled code, and folders with sockets of services. It
 * remains with the confined commands of this session.
 */
const foldersOfOthers = new RegExp(
  `^(?:${(
    'jest haste-map metro node-compile-cache v8-compile-cache tsx ts-node jiti babel esbuild swc vite rollup parcel webpack pip uv npm yarn pnpm phpstan ' +
    'psalm bazel _bazel gradle maven hsperfdata kotlin scala sbt ccache sccache tmux screens ssh gpg dbus systemd snap vscode runtime com org mozilla ' +
    'pyright mypy ruff numba matplotlib torch triton joblib composer symfony bootsnap'
  ).replaceAll(' ', '|')})(?:[-_.]|$)`,
  'i',
)

/** The `/tmp` of the confined commands of one session. Between commands, their files are in the real one. */
export class EditTemporary {
  readonly #folder: string
  /** Entries that confined commands created and that are in the real `/tmp` now, by name. */
  readonly #own = new Map<string, string>()
  /** Entries that they created and that are set aside, by name. */
  readonly #aside = new Map<string, { readonly path: string; readonly isTaken: boolean }>()
  /** Empty folders of ended commands: removing one and creating another takes milliseconds on some systems. */
  readonly #free: string[] = []
  #count = 0

  /** @throws SandboxError if no folder can be created. */
  constructor() {
    try {
      this.#folder = mkdtempSync(join(realTmp, processFolderName('confined')))
    } catch {
      throw new SandboxError(
        `No folder can be created in ${realTmp}, so the command did not run. Make ${realTmp} writable, or set confineJudged to off.`,
      )
    }
    removeAbandoned()
  }

  /** The folder of the session in the real `/tmp`. */
  get folder(): string {
    return this.#folder
  }

  /**
   * @param text The command: it sees what it names in `/tmp`.
   * @param needed Names in `/tmp` that contain other mounts.
   * @throws SandboxError if no folder can be created.
   */
  enter(text: string, needed: ReadonlySet<string>): EnteredTemporary {
    const folder = this.#emptyFolder()
    chmodSync(folder, 0o1777)
    for (const [name, node] of this.#own) {
      const real = join(realTmp, name)
      if (needed.has(name) || identityOf(real)?.node !== node || isUsedByOthers(real)) continue
      ignoreErrors(() => renameSync(real, join(folder, name)))
    }
    for (const [name, { path }] of this.#aside)
      if (!needed.has(name)) ignoreErrors(() => renameSync(path, join(folder, name)))
    const shown = visibleNames(text).filter((name) => !needed.has(name) && identityOf(join(folder, name)) === undefined)
    const stubs = [...new Set([...shown, ...needed])].flatMap((name) => stubAt(folder, name))
    return { folder, stubs, shown }
  }

  /** Moves what the command created to the real `/tmp`, and removes the folder. */
  leave({ folder, stubs }: Pick<EnteredTemporary, 'folder' | 'stubs'>): void {
    const isStub = new Map(stubs.map(({ name, node }) => [name, node]))
    for (const name of namesIn(folder)) {
      const path = join(folder, name)
      const stats = lstatSync(path, { throwIfNoEntry: false })
      if (stats === undefined) continue
      if (isStub.get(name) === nodeOf(stats))
        ignoreErrors(() => (stats.isDirectory() ? rmdirSync(path) : unlinkSync(path)))
      // No process listens on this socket any more.
      else if (stats.isSocket()) ignoreErrors(() => unlinkSync(path))
      else {
        if (stats.isDirectory()) unlinkSockets(path, { left: searchedOfOwn })
        this.#release(name, path, stats)
      }
    }
    if (dirname(folder) === this.#folder && isEmpty(folder)) this.#free.push(folder)
    else ignoreErrors(() => rmdirSync(folder))
  }

  /** Removes the folder of the session. A file is renamed if its name already exists. */
  dispose(): void {
    for (const [name, { path, isTaken }] of this.#aside) {
      let free = join(realTmp, `${name}.confined`)
      for (let count = 2; identityOf(free) !== undefined; count += 1) free = join(realTmp, `${name}.confined${count}`)
      if (isTaken) ignoreErrors(() => renameSync(path, free))
    }
    removeTree(this.#folder)
  }

  #emptyFolder(): string {
    const free = this.#free.pop()
    if (free !== undefined && isEmpty(free)) return free
    this.#count += 1
    const folder = join(this.#folder, String(this.#count))
    mkdirSync(folder)
    return folder
  }

  #release(name: string, path: string, stats: Stats): void {
    const node = nodeOf(stats)
    this.#own.delete(name)
    this.#aside.delete(name)
    const isHidden = /^(?:\.|halting-)/.test(name) || (stats.isDirectory() && foldersOfOthers.test(name))
    const isPrivate = isHidden || !(stats.isFile() || stats.isDirectory())
    if (!isPrivate && tryMove(path, join(realTmp, name), stats)) {
      this.#own.set(name, node)
      return
    }
    const aside = join(this.#folder, 'aside')
    ignoreErrors(() => mkdirSync(aside, { mode: 0o700 }))
    const to = join(aside, name)
    ignoreErrors(() => {
      renameSync(path, to)
      this.#aside.set(name, { path: to, isTaken: !isPrivate })
    })
  }
}

/** Whether another program has created a socket or a pipe in a folder of a command: commands can write to it. */
function isUsedByOthers(folder: string): boolean {
  const budget = { left: searchedOfOwn }
  const isSpecial = lstatSync(folder).isDirectory() && holdsSpecialFiles(folder, budget)
  return (isSpecial && budget.left >= 0) || liveSockets().some((path) => isInside(path, folder))
}

/** For a folder of an ended command: no process listens there any more. */
function unlinkSockets(folder: string, budget: { left: number }): void {
  budget.left -= 1
  if (budget.left < 0) return
  ignoreErrors(() => {
    for (const entry of readdirSync(folder, { withFileTypes: true })) {
      const path = join(folder, entry.name)
      if (entry.isDirectory()) unlinkSockets(path, budget)
      else if (entry.isSocket()) ignoreErrors(() => unlinkSync(path))
    }
  })
}

/** Never replaces an existing file. */
function tryMove(path: string, to: string, stats: Stats): boolean {
  if (identityOf(to) !== undefined) return false
  try {
    if (stats.isDirectory()) renameSync(path, to)
    else {
      linkSync(path, to)
      unlinkSync(path)
    }
    return true
  } catch {
    return false
  }
}

/** What the command names, and the newest entries of this user, without sockets, pipes and folders that contain these. */
function visibleNames(text: string): readonly string[] {
  const named = new Set([...text.matchAll(/\/tmp\/+([^\s/'"`;|&<>()$\\*?[\]{},:]+)/g)].map(([, name = '']) => name))
  const own = process.getuid?.()
  // The size of a folder shows how many entries it has or had, without reading it.
  const isSmall = lstatSync(realTmp).size <= maxBytes
  const look = isSmall ? namesIn(realTmp) : [...named]
  const entries = look.flatMap((name) => {
    const stats = /^(?:halting-|\.)/.test(name) ? undefined : lstatSync(join(realTmp, name), { throwIfNoEntry: false })
    if (stats === undefined || !(stats.isFile() || stats.isDirectory())) return []
    return named.has(name) || stats.uid === own ? [{ name, stats }] : []
  })
  const others = { left: searchedOfOthers }
  const isSafe = (name: string, stats: Stats): boolean =>
    stats.isFile() || !holdsSpecialFiles(join(realTmp, name), named.has(name) ? { left: searchedOfNamed } : others)
  const ordered = entries.toSorted(
    (left, right) =>
      Number(named.has(right.name)) - Number(named.has(left.name)) || right.stats.mtimeMs - left.stats.mtimeMs,
  )
  return ordered
    .slice(0, Math.max(maxShown, named.size))
    .flatMap(({ name, stats }) => (isSafe(name, stats) ? [name] : []))
}

function stubAt(folder: string, name: string): readonly Stub[] {
  const real = lstatSync(join(realTmp, name), { throwIfNoEntry: false })
  const path = join(folder, name)
  if (real?.isFile() === true) writeFileSync(path, '', { flag: 'wx', mode: 0o600 })
  else mkdirSync(path, { mode: 0o700 })
  return [{ name, node: identityOf(path)?.node ?? '' }]
}

/** Removes what killed processes left, unless it contains files of a command: the next command in the same directories handles those. */
function removeAbandoned(): void {
  for (const folder of abandonedFolders(realTmp, 'confined'))
    if (namesIn(folder).every((name) => name === 'etc' || isEmpty(join(folder, name)))) removeTree(folder)
}

/** Whether a folder exists, can be read and is empty. */
function isEmpty(folder: string): boolean {
  try {
    return readdirSync(folder).length === 0
  } catch {
    return false
  }
}
