import { closeSync, existsSync, fstatSync, lstatSync, readFileSync } from 'node:fs'
import { userInfo } from 'node:os'
import { delimiter, dirname, isAbsolute, join, resolve } from 'node:path'
import { allEntries } from '../files/first-entries.ts'
import { controlFileIndexes } from '../control-files.ts'
import { bothEnds, homeFolder, isInside, realPath, statOf } from '../files/paths.ts'
import { openRegularSync } from '@halting/journal/files'

/** Whether writing a path needs approval even if edits are accepted or a rule allows edits without naming it. */
export function isProtected(path: string, directories: readonly string[]): boolean {
  return protectedNameIndexes(path, directories).size > 0
}

// Spec R-RULE-7n.
/**
 * The names in a path, counted from the root, that make it a control file: by the name itself, or because its path is in
 * a folder of settings or programs of the person or the system. An allow rule for writing must spell out each of them.
 */
export function protectedNameIndexes(path: string, directories: readonly string[]): ReadonlySet<number> {
  return protectionIn(directories)(path)
}

type Protection = (path: string) => ReadonlySet<number>

/** Cached for each list of directories, because one command checks many paths. */
const protections = new WeakMap<Surroundings, WeakMap<readonly string[], Protection>>()

function protectionIn(directories: readonly string[]): Protection {
  const around = surroundings()
  const made = protections.get(around) ?? new WeakMap<readonly string[], Protection>()
  protections.set(around, made)
  const protection = made.get(directories) ?? protectedAmong(directories, around)
  made.set(directories, protection)
  return protection
}

function protectedAmong(directories: readonly string[], around: Surroundings): Protection {
  const isOutside = (folder: string): boolean => !directories.some((directory) => isInside(folder, directory))
  const named = directories.flatMap(filesNamedByRepository)
  const all: Surroundings = { ...around, programs: [...systemFolders, ...around.programs.filter(isOutside), ...named] }
  const known = directories.map((directory) => ({ directory, ...surroundingsWithin(directory, all) }))
  return (path) => {
    const names = namesOf(path)
    const own = known.filter(({ directory }) => isInside(path, directory))
    const innermost = own.toSorted((one, other) => other.directory.length - one.directory.length)[0]
    const { settings, programs, homes } = innermost ?? all
    // Folders around the project do not protect the project itself, unless they contain other settings too.
    const isClosed = (folder: string): boolean =>
      isInside(path, folder) && (innermost === undefined || !isInside(innermost.directory, folder))
    const isBeside = (folder: string): boolean => dirname(path) === folder
    const folders = [
      ...[...programs, ...settingsOfHomes(path, names, homes)].filter(isClosed),
      ...settings.filter((folder) => isClosed(folder) || isBeside(folder)),
    ]
    const root = depthOf(own[0]?.directory ?? '/')
    return new Set([
      ...controlFileIndexes(names.slice(root)).map((at) => at + root),
      ...bareRepositoryIndexes(names).filter((at) => at >= root),
      ...(isInside(path, '/dev/shm') ? [] : folders).map((folder) => depthOf(folder) - 1),
    ])
  }
}

/** Hooks and further settings in the project that the settings of its repository name. */
function filesNamedByRepository(directory: string): readonly string[] {
  const git = join(directory, '.git')
  const text = ['config', 'config.worktree'].map((name) => smallText(join(git, name))).join('\n')
  return [...text.matchAll(/(?:^|\])[ \t]*(hookspath|path)[ \t]*=[ \t]*("[^"\n]*"|[^\n#;]*)/gim)].flatMap(
    ([, key = '', value = '']) => {
      const given = value.replaceAll('"', '').trim()
      const path = resolve(key.toLowerCase() === 'path' ? git : directory, given)
      return given !== '' && path !== directory && isInside(path, directory) ? bothEnds(path) : []
    },
  )
}

const maxBytes = 1_000_000

function smallText(path: string): string {
  try {
    const file = openRegularSync(path)
    try {
      return fstatSync(file).size > maxBytes ? '' : readFileSync(file, 'utf8')
    } finally {
      closeSync(file)
    }
  } catch {
    return ''
  }
}

/** git treats a folder with a `HEAD` as a repository: then its settings and hooks have an effect. */
function bareRepositoryIndexes(names: readonly string[]): readonly number[] {
  return names.flatMap((name, at) => {
    const isHead = at === names.length - 1 && /^head$/i.test(name)
    const isPart = /^(?:config|config\.worktree|commondir|gitdir|hooks)$/i.test(name)
    return isHead || (isPart && existsSync(`/${[...names.slice(0, at), 'HEAD'].join('/')}`)) ? [at] : []
  })
}

/** The surroundings inside a directory, and the settings folders that contain it. */
function surroundingsWithin(directory: string, { homes, settings, programs }: Surroundings): Surroundings {
  const isIn = (folder: string): boolean => isInside(folder, directory)
  return {
    homes: homes.filter(isIn),
    settings: settings.filter((folder) => isIn(folder) || isInside(directory, folder)),
    programs: programs.filter(isIn),
  }
}

function namesOf(path: string): readonly string[] {
  return path.split('/').filter(Boolean)
}

export function depthOf(path: string): number {
  return namesOf(path).length
}

/** Folders of system settings and programs. */
const systemFolders: readonly string[] =
  '/etc /boot /bin /sbin /lib /lib32 /lib64 /libx32 /usr /dev /proc /sys /var/spool /private/etc /private/var/at /System /Library /mnt/c/Windows'.split(
    ' ',
  )

/** Variables that name folders of settings and trust, whatever their names are. */
const folderVariables: readonly string[] =
  'HALTING_CONFIG_DIR CLAUDE_CONFIG_DIR CODEX_HOME XDG_CONFIG_HOME ZDOTDIR GNUPGHOME CARGO_HOME'.split(' ')

/** In a home folder, all names with a leading dot are settings, and so are these names. */
const settingsOfHome: ReadonlySet<string> = new Set(['bin', 'library', 'appdata'])

/** The settings in home folders that are the path or contain it. */
function settingsOfHomes(path: string, names: readonly string[], homes: readonly string[]): readonly string[] {
  // Matches home folders of other users, and of users on a Windows disk.
  const [ofOther] = /^\/(?:root|(?:mnt\/[a-z]\/)?(?:home|Users)\/[^/]+)(?=\/)/i.exec(path) ?? []
  const ofOthers = ofOther === undefined ? [] : [ofOther]
  return [...homes, ...ofOthers].flatMap((home) => {
    const name = isInside(path, home) ? names[depthOf(home)] : undefined
    const isOfSettings = name !== undefined && (name.startsWith('.') || settingsOfHome.has(name.toLowerCase()))
    return isOfSettings ? [join(home, name)] : []
  })
}

interface Surroundings {
  readonly homes: readonly string[]
  readonly settings: readonly string[]
  readonly programs: readonly string[]
}

/** How long the surroundings are cached, in milliseconds, because one command checks many paths. */
const cacheMs = 1_000
let surroundingsCache: { readonly key: string; readonly untilMs: number; readonly is: Surroundings } | undefined

function surroundings(): Surroundings {
  const { env } = process
  const folders = folderVariables.flatMap((name) => env[name] || [])
  const key = JSON.stringify([env['HOME'], env['PATH'], ...folders])
  const now = performance.now()
  if (surroundingsCache?.key === key && now < surroundingsCache.untilMs) return surroundingsCache.is
  const ends = (paths: readonly string[]): readonly string[] =>
    paths.flatMap((path) => bothEnds(path)).filter((path) => path !== '/')
  const is: Surroundings = {
    homes: ends([homeFolder, () => userInfo().homedir].flatMap(pathIfKnown)),
    settings: ends(folders.map((folder) => resolve(folder))),
    programs: ends((env['PATH'] ?? '').split(delimiter).filter(isAbsolute)),
  }
  surroundingsCache = { key, untilMs: now + cacheMs, is }
  return is
}

/** A user may have no home, and may be unknown to the system. */
function pathIfKnown(find: () => string): readonly string[] {
  try {
    return [resolve(find())]
  } catch {
    return []
  }
}

/** Whether a file has several hard links: a write changes it at all of its paths. */
export function isHardLinked(path: string): boolean {
  const stats = statOf(path)
  return stats?.isFile() === true && stats.nlink > 1
}

const maxEntries = 5000

/**
 * Whether a folder contains, at any depth, a protected file or a link that leads outside. Also true if there is too much to check, or a name that is
 * not UTF-8.
 */
export function containsProtected(folder: string, directories: readonly string[]): boolean {
  const protection = protectionIn(directories)
  const open = [folder]
  let left = maxEntries
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if ((left -= 1) < 0) return true
    const kind = kindOf(next)
    if (kind === 'none') continue
    if (protection(next).size > 0) return true
    if (kind === 'link') {
      const end = realPath(next)
      if (!directories.some((directory) => isInside(end, directory)) || protection(end).size > 0) return true
    }
    if (kind === 'folder') {
      const names = namesIn(next, left)
      if (names === undefined) return true
      for (const name of names) open.push(join(next, name))
    }
  }
  return false
}

function kindOf(path: string): 'none' | 'link' | 'folder' | 'file' {
  try {
    const stats = lstatSync(path)
    return stats.isSymbolicLink() ? 'link' : stats.isDirectory() ? 'folder' : 'file'
  } catch {
    return 'none'
  }
}

/** The names in a folder. Undefined if there are too many, or if one is not UTF-8. */
function namesIn(folder: string, most: number): readonly string[] | undefined {
  try {
    return allEntries(folder, Math.max(0, most))?.map(({ name }) => name)
  } catch {
    return undefined
  }
}
