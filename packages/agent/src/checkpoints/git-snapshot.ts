import { isInside, searchPathOutside } from '@halting/policy/files'
import { existsSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { askForFilters, filtersIn, gitOutput, settingsWithout } from '../tools/git-output.ts'
import type { Environment } from '../tools/limits.ts'
import type { FileChange } from './change-log.ts'
import type { ContentStore } from './content-store.ts'
import { absent, isSameState, sha256Of, sizeText, stampOf, statsAt, type PathState } from './path-state.ts'
import {
  changesAt,
  type FileSnapshots,
  isNonUtf8Name,
  type SnapshotLimits,
  createdFoldersOf,
  nonUtf8NamesSkipped,
  type WorktreeSnapshot,
} from './worktree-snapshot.ts'
import { spawn } from 'node:child_process'

/** A file as recorded in the index. */
interface IndexEntry {
  readonly object: string
  readonly mode: number
  /** Size of the working file when git last read it. */
  readonly bytes: number
  /** Mode of the working file when the index was read. Git itself records only the executable bit. */
  readonly fileMode: number | null
}

type Index = ReadonlyMap<string, IndexEntry>

/** The state before a command. */
interface SnapshotState {
  readonly index: Index
  readonly states: ReadonlyMap<string, unknown>
  readonly contents: ContentStore
  readonly limits: SnapshotLimits
}

/** The top folder, the index and the configuration files. */
type PlacesOfGit = readonly [top: string, indexFile: string, ...configFiles: readonly string[]]

const plain: readonly string[] = ['--no-optional-locks', '-c', 'core.fsmonitor=false']

/**
 * Snapshots a folder of a git repository. Git's object store has what the index lists, so only files that differ from
 * it are read and staged. G1: nothing in the repository is written, no lock is taken, and no program that its
 * configuration names is run. G2: files that git ignores are not seen.
 */
export class GitProject {
  readonly #root: string
  readonly #top: string
  readonly #indexFile: string
  readonly #configFiles: readonly string[]
  readonly #env: Environment
  #index: { readonly stamp: string; readonly files: Index; readonly unwatched: readonly string[] } | undefined
  #filters: { readonly stamp: string; readonly off: readonly string[] | undefined } | undefined

  private constructor(root: string, [top, indexFile, ...configFiles]: PlacesOfGit, env: Environment) {
    this.#root = root
    this.#top = top
    this.#indexFile = resolve(root, indexFile)
    this.#configFiles = configFiles.map((file) => resolve(root, file))
    this.#env = env
  }

  /** Undefined if git or a repository is missing, or if the repository ignores the folder. */
  static async of(root: string, env: Environment): Promise<GitProject | undefined> {
    const quiet: Environment = {
      ...env,
      // Git must not be loaded from the project: a command could have installed it there, for example in
      // node_modules/.bin.
      PATH: searchPathOutside(root, env['PATH']),
      GIT_OPTIONAL_LOCKS: '0',
      GIT_NO_LAZY_FETCH: '1',
      // Older versions fetch missing objects anyway, with programs that the repository names.
      GIT_ALLOW_PROTOCOL: 'none',
      GIT_SSH_COMMAND: 'false',
      GIT_TERMINAL_PROMPT: '0',
      GIT_DIR: undefined,
      GIT_WORK_TREE: undefined,
      GIT_INDEX_FILE: undefined,
    }
    const files = ['index', 'config', 'config.worktree'].flatMap((file) => ['--git-path', file])
    const stdout = await output(root, [...plain, 'rev-parse', '--show-toplevel', ...files], quiet)
    const [top, indexFile, ...configFiles] = stdout?.split('\n').slice(0, 4) ?? []
    if (top === undefined || top === '' || indexFile === undefined) return undefined
    if ((await output(root, [...plain, 'check-ignore', '-q', '.'], quiet)) !== undefined) return undefined
    return new GitProject(root, [top, indexFile, ...configFiles], quiet)
  }

  /** Undefined if git fails or takes too long. */
  async snapshot(
    files: FileSnapshots,
    contents: ContentStore,
    limits: SnapshotLimits,
  ): Promise<WorktreeSnapshot | undefined> {
    const git = await this.#git()
    if (git === undefined) return undefined
    const index = await this.#readIndex(git, limits)
    const different = await this.#different(git, files, limits)
    const filtered = await this.#filtered(git)
    if (index === undefined || different === undefined || filtered === undefined) return undefined
    for (const path of [...(this.#index?.unwatched ?? []), ...filtered]) if (!files.isHidden(path)) different.add(path)
    const changedStates = await files.take(different)
    const startedMs = Date.now()
    return {
      changes: async () => {
        // The command may have configured filters.
        const after = await this.#git()
        const now = after === undefined ? undefined : await this.#readIndex(after, limits)
        const nowDifferent = after === undefined ? undefined : await this.#different(after, files, limits)
        if (after === undefined || now === undefined || nowDifferent === undefined)
          return { changes: [], unseen: [`git could not report the changes in ${this.#root}`] }
        const paths = new Set([...different, ...nowDifferent, ...differentIn(index, now)])
        const beforeOf = (path: string): PathState => indexedState(index.get(path))
        const seen = await changesAt(paths, changedStates, beforeOf)
        const changes = await this.#withContents(after, seen, { index, states: changedStates, contents, limits })
        const unseen = [...paths].some(isNonUtf8Name) ? [nonUtf8NamesSkipped] : []
        return { changes: changes.map((change) => withFolders(change, this.#root, startedMs)), unseen }
      },
    }
  }

  /** Reads earlier contents from git's object store, if they equal those of the working folder. */
  async #withContents(
    git: readonly string[],
    changes: readonly FileChange[],
    { index, states: changedStates, contents, limits }: SnapshotState,
  ): Promise<readonly FileChange[]> {
    const entriesByObject = new Map<string, IndexEntry>()
    for (const { path } of changes) {
      const indexed = changedStates.has(path) ? undefined : index.get(path)
      if (indexed !== undefined && indexed.bytes <= limits.fileBytes * 4) entriesByObject.set(path, indexed)
    }
    const objects = new Set([...entriesByObject.values()].map(({ object }) => object))
    const found = await readObjects(this.#root, git, this.#env, objects)
    const completed: FileChange[] = []
    for (const change of changes) {
      const indexed = changedStates.has(change.path) ? undefined : index.get(change.path)
      const content = found.get(entriesByObject.get(change.path)?.object ?? '')
      const before = indexed === undefined ? change.before : stateOf(indexed, content, change.before)
      if (before.kind === 'file' && content !== undefined) contents.stage(before.sha256, content)
      // The index records only the executable bit: other mode bits are those of the file now.
      const exact = withModeOf(before, change.after, indexed)
      if (!isSameState(exact, change.after)) completed.push({ ...change, before: exact })
    }
    return completed
  }

  /** Git arguments that disable all filters, since each filter is a command. Undefined if one cannot be disabled. */
  async #git(): Promise<readonly string[] | undefined> {
    const stamp = this.#configFiles.map(stampAt).join()
    if (this.#filters?.stamp !== stamp) this.#filters = { stamp, off: await this.#filtersOff() }
    const { off } = this.#filters
    return off === undefined ? undefined : [...plain, ...off]
  }

  async #filtersOff(): Promise<readonly string[] | undefined> {
    const filters = filtersIn((await output(this.#root, [...plain, ...askForFilters], this.#env)) ?? '')
    // In `-c`, the name would end at the `=`.
    if (filters.some((name) => name.includes('='))) return undefined
    return settingsWithout(filters).flatMap(([key, value]) => ['-c', `${key}=${value}`])
  }

  /** Files that a filter changes on checkout: the working file differs from git's object, whatever the index says. */
  async #filtered(git: readonly string[]): Promise<readonly string[] | undefined> {
    if (git.length === plain.length) return []
    const args = ['ls-files', '-z', '--full-name', '--', '.', ':(exclude,attr:!filter)']
    const stdout = await output(this.#root, [...git, ...args], this.#env)
    return stdout?.split('\0').flatMap((path) => (path === '' ? [] : [join(this.#top, path)]))
  }

  async #readIndex(git: readonly string[], limits: SnapshotLimits): Promise<Index | undefined> {
    const stamp = stampAt(this.#indexFile)
    if (this.#index?.stamp === stamp) return this.#index.files
    const args = [...git, 'ls-files', '--stage', '--debug', '-v', '-z', '--full-name', '--', '.']
    const text = await output(this.#root, args, this.#env, limits.ms * 2)
    if (text === undefined) return undefined
    const files = new Map<string, IndexEntry>()
    const unwatched: string[] = []
    const entries = /([A-Za-z?]) (\d+) ([0-9a-f]+) (\d)\t([^\0]*)\0[\s\S]*?size: (\d+)\tflags: [0-9a-f]+\n/g
    for (const [, tag, mode = '', object = '', stage, name = '', bytes] of text.matchAll(entries)) {
      // Others belong to another repository or are in conflict, which `status` reports.
      if (stage !== '0' || mode === '160000') continue
      const path = join(this.#top, name)
      // An index can be crafted so that its paths lead outside.
      if (!isInside(path, this.#top)) continue
      // Git was configured to ignore changes of these files; most files of a sparse checkout do not exist.
      if (tag !== 'H' && unwatched.length <= limits.files && statsAt(path) !== undefined) unwatched.push(path)
      if (tag !== 'H') continue
      files.set(path, {
        object,
        mode: Number.parseInt(mode, 8),
        bytes: Number(bytes),
        fileMode: files.size < limits.files ? fileModeAt(path) : null,
      })
    }
    this.#index = { stamp, files, unwatched }
    return files
  }

  /** Paths that differ from the index, and untracked ones. */
  async #different(
    git: readonly string[],
    files: FileSnapshots,
    limits: SnapshotLimits,
  ): Promise<Set<string> | undefined> {
    const args = ['status', '--porcelain=v2', '-z', '--untracked-files=all', '--no-renames', '--ignore-submodules=all']
    const bounds = { timeoutMs: limits.ms * 2, maxBytes: limits.files * bytesOfLine }
    const stdout = await gitOutput(this.#root, [...git, ...args, '--', '.'], this.#env, bounds)
    if (stdout === undefined || stdout.isCut) return undefined
    const paths = new Set<string>()
    for (const entry of stdout.text.split('\0')) {
      const fields = fieldsBefore[entry.charAt(0)]
      if (fields === undefined) continue
      const path = join(this.#top, entry.split(' ').slice(fields).join(' '))
      // A nested repository is listed with a trailing slash.
      if (!path.endsWith('/') && isInside(path, this.#top) && !files.isHidden(path)) paths.add(path)
      if (paths.size > limits.files) return undefined
    }
    return paths
  }
}

/** Upper estimate of git's output per path. Output beyond this limit means more paths than the inspection limit. */
const bytesOfLine = 512

/** Number of fields before the path in a line of `status --porcelain=v2`, by the first character of the line. */
const fieldsBefore: { readonly [sign: string]: number | undefined } = { '1': 8, u: 10, '?': 1 }

function* differentIn(before: Index, now: Index): Iterable<string> {
  if (before === now) return
  for (const [path, { object, mode }] of before) {
    const other = now.get(path)
    if (other?.object !== object || other.mode !== mode) yield path
  }
  for (const path of now.keys()) if (!before.has(path)) yield path
}

/** A placeholder that differs from every other state until the content is loaded. */
function indexedState(indexed: IndexEntry | undefined): PathState {
  return indexed === undefined ? absent : { kind: 'unkept', why: 'is stored in git', stamp: indexed.object }
}

function stateOf({ mode, bytes, fileMode }: IndexEntry, content: Buffer | undefined, otherwise: PathState): PathState {
  if (content === undefined)
    return otherwise.kind === 'unkept'
      ? { ...otherwise, why: `is only in git, and could not be read from there (${sizeText(bytes)})` }
      : otherwise
  if (mode === 0o120000) return { kind: 'link', target: content.toString() }
  if (content.length !== bytes)
    return { kind: 'unkept', why: 'is converted by git when it is checked out', stamp: `git ${sha256Of(content)}` }
  return { kind: 'file', sha256: sha256Of(content), bytes: content.length, mode: fileMode ?? mode & 0o777 }
}

function stampAt(path: string): string {
  const stats = statsAt(path)
  return stats === undefined ? 'none' : stampOf(stats)
}

function fileModeAt(path: string): number | null {
  const stats = statsAt(path)
  return stats?.isFile() === true ? Number(stats.mode) & 0o7777 : null
}

/** Without the file's mode only the executable bit is known. */
function withModeOf(before: PathState, after: PathState, indexed: IndexEntry | undefined): PathState {
  if (indexed === undefined || indexed.fileMode !== null || before.kind !== 'file') return before
  if (after.kind !== 'file' || after.mode === null) return { ...before, mode: before.mode === 0o755 ? 0o755 : null }
  const isSameKind = (after.mode & 0o100) === ((before.mode ?? 0) & 0o100)
  return isSameKind ? { ...before, mode: after.mode } : before
}

function withFolders(change: FileChange, root: string, startedMs: number): FileChange {
  if (change.before.kind !== 'absent') return change
  const madeFolders = createdFoldersOf(change.path, root, startedMs)
  return madeFolders.length === 0 ? change : { ...change, madeFolders }
}

/** Output of git; undefined if it fails or takes too long. */
async function output(
  cwd: string,
  args: readonly string[],
  env: Environment,
  timeoutMs = 5_000,
): Promise<string | undefined> {
  return (await gitOutput(cwd, args, env, { timeoutMs }))?.text
}

/** Whether a folder, or one above it, has a `.git`. */
export function isInRepository(root: string): boolean {
  for (let folder = root; ; folder = dirname(folder)) {
    if (existsSync(join(folder, '.git'))) return true
    if (dirname(folder) === folder) return false
  }
}

/** Contents of objects in git's store, unfiltered. Missing objects are omitted. */
async function readObjects(
  cwd: string,
  git: readonly string[],
  env: Environment,
  objects: ReadonlySet<string>,
): Promise<ReadonlyMap<string, Buffer>> {
  if (objects.size === 0) return new Map()
  const stdout = await new Promise<Buffer>((resolve) => {
    const child = spawn('git', [...git, 'cat-file', '--batch'], { cwd, env, stdio: ['pipe', 'pipe', 'ignore'] })
    const chunks: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
    child.once('error', () => resolve(Buffer.alloc(0)))
    child.once('close', () => resolve(Buffer.concat(chunks)))
    child.stdin.on('error', () => undefined)
    child.stdin.end([...objects].join('\n') + '\n')
  })
  const found = new Map<string, Buffer>()
  for (let at = 0; at < stdout.length;) {
    const end = stdout.indexOf(10, at)
    if (end < 0) break
    const [object = '', type, size] = stdout.toString('latin1', at, end).split(' ')
    at = end + 1
    // `<object> missing` has no content after it.
    if (type === 'missing' || size === undefined) continue
    const length = Number(size)
    if (type === 'blob' && at + length <= stdout.length) found.set(object, stdout.subarray(at, at + length))
    at += length + 1
  }
  return found
}
