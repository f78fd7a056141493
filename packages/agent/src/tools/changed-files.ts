import { lstatSync, type Stats } from 'node:fs'
import { lstat } from 'node:fs/promises'
import type { ToolContext } from '@halting/core'
import { codeOf, type CallerRights, headOf } from '@halting/core/adapters'
import { isOnLocalDisk, openInPlace } from '@halting/policy/files'
import { diffCut, externalChanges, fileGone, moreFiles, whatHasChanged } from './change-texts.ts'
import { type FileStates, type LastSeen, hashOf, seenFile } from './file-state.ts'
import { readAtMost } from './read-at-most.ts'
import { displayName } from './display-name.ts'
import { decodedText } from './text-encoding.ts'
import type { LoadedFile } from './text-file.ts'
import type { Workspace } from './workspace.ts'

/** Number of most recently seen files that are checked. */
const maxFiles = 50
const maxNamed = 10
const maxShown = 3
const diffLines = 24
const diffCharacters = 1500
/** Maximum size of a file whose content is compared. Larger files are compared only by time and size. */
const comparedBytes = 1024 * 1024

/**
 * Returns a note about files that have changed since the model saw them, other than by its own Edit or Write; empty if
 * there are none. Each change is reported once.
 */
export async function changesNote(workspace: Workspace, context: ToolContext): Promise<string> {
  const files = workspace.filesOf(context)
  // Only one of several parallel calls reports.
  if (files.isLookedAt) return ''
  files.isLookedAt = true
  try {
    const looks = await checkFiles(files.newestFirst.slice(0, maxFiles), files)
    const changes = looks.flatMap(({ change, realPath, form }) =>
      files.markReported(realPath, form) && change !== undefined ? [change] : [],
    )
    return changes.length === 0 ? '' : await noteOf(changes, workspace, context.rights)
  } finally {
    files.isLookedAt = false
  }
}

interface Change {
  readonly seen: LastSeen
  /** The current text; undefined if unknown: too large, not text, or deleted. */
  readonly now: string | undefined
  readonly isGone: boolean
}

/** A file that differs by its stamp. */
interface CheckedFile {
  readonly realPath: string
  /** The state in which the file was found. */
  readonly form: string
  /** Undefined if the file's content is unchanged. */
  readonly change: Change | undefined
}

/** Threads of the pool that may wait for a file system that does not respond. The pool has four. */
const maxWaiting = 2
/** How long to wait for file systems that may not respond. */
const waitingMs = 500
/**
 * Number of checks that have not returned within `waitingMs`. While there is one, no other check is started: a hanging
 * mount blocks only so many threads.
 */
let overdue = 0

/**
 * Checks local files immediately, and other files within a time limit: files that do not respond are reported later.
 * Results are in the order of the files.
 */
async function checkFiles(seen: readonly LastSeen[], files: FileStates): Promise<readonly CheckedFile[]> {
  const found: (CheckedFile | undefined)[] = []
  const remote: (readonly [number, LastSeen])[] = []
  for (const [at, file] of seen.entries()) {
    if (!isOnLocalDisk(file.realPath)) remote.push([at, file])
    else if (!isUnchangedNow(file)) found[at] = await checkFile(file, files)
  }
  if (remote.length > 0 && overdue === 0) await checkRemoteFiles(remote.values(), files, found)
  return found.filter((look) => look !== undefined)
}

async function checkRemoteFiles(
  remote: Iterable<readonly [number, LastSeen]>,
  files: FileStates,
  found: (CheckedFile | undefined)[],
): Promise<void> {
  let isOver = false
  const lane = async (): Promise<void> => {
    for (const [at, file] of remote) {
      const there = await lstat(file.realPath).catch(() => undefined)
      const look = isUnchanged(file, there) || isOver ? undefined : await checkFile(file, files)
      if (isOver) return
      found[at] = look
    }
  }
  const lanes = Promise.all(Array.from({ length: maxWaiting }, lane))
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<'late'>((resolve) => {
    timer = setTimeout(resolve, waitingMs, 'late')
  })
  const end = await Promise.race([lanes, late])
  clearTimeout(timer)
  if (end !== 'late') return
  isOver = true
  overdue += 1
  void lanes.finally(() => {
    overdue -= 1
  })
}

function isUnchangedNow(seen: LastSeen): boolean {
  try {
    return isUnchanged(seen, lstatSync(seen.realPath, { throwIfNoEntry: false }))
  } catch {
    return false
  }
}

function isUnchanged({ file }: LastSeen, there: Stats | undefined): boolean {
  return there?.isFile() === true && there.mtimeMs === file.modifiedMs && there.size === file.bytes
}

/** What happened to a file; undefined if it was reported or is unknown. */
async function checkFile(seen: LastSeen, files: FileStates): Promise<CheckedFile | undefined> {
  const { realPath } = seen
  const gone = { seen, now: undefined, isGone: true }
  try {
    const found = await openInPlace(realPath)
    if (found.kind !== 'file') return { realPath, form: found.kind, change: gone }
    try {
      const { file, stats } = found
      const form = `${stats.mtimeMs} ${stats.size}`
      if (files.isReported(realPath, form)) return undefined
      const content = stats.size > comparedBytes ? undefined : await readAtMost(file, stats.size, comparedBytes)
      if (content === undefined) return { realPath, form, change: { seen, now: undefined, isGone: false } }
      const isSame = files.freshness(realPath, seenFile(stats, hashOf(content)), () => false) === 'fresh'
      const now = decodedText(content)?.text
      return { realPath, form, change: isSame ? undefined : { seen, now, isGone: false } }
    } finally {
      await found.file.close()
    }
  } catch (thrown) {
    const code = codeOf(thrown)
    const isGone = code === 'ENOENT' || code === 'ENOTDIR' || code === 'path_moved'
    return isGone ? { realPath, form: 'gone', change: gone } : undefined
  }
}

async function noteOf(
  changes: readonly Change[],
  { cwd, hides }: Workspace,
  rights: CallerRights | undefined,
): Promise<string> {
  const names: string[] = []
  for (const [index, { seen, now, isGone }] of changes.slice(0, maxNamed).entries()) {
    const name = displayName(seen.realPath, cwd)
    // A rule may deny reading the file by now.
    const known = index < maxShown && now !== undefined && seen.text !== undefined && !hides(seen.realPath, rights)
    const diff = known ? await shortDiff(seen.text, now) : ''
    names.push(isGone ? fileGone(name) : diff === '' ? name : `${name}:\n${diff}`)
  }
  const more = changes.length > maxNamed ? [moreFiles(changes.length - maxNamed)] : []
  return externalChanges([...names, ...more].join('\n'))
}

/** Returns the changed lines, as many as fit. */
async function shortDiff(before: string, after: string): Promise<string> {
  // Loaded on demand: takes 15 to 40 ms.
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context: 1, timeout: 200 })
  if (patch === undefined) return ''
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines.map((line) => headOf(line, 200)),
  ])
  const text = headOf(lines.slice(0, diffLines).join('\n'), diffCharacters)
  return lines.length > diffLines || text.length === diffCharacters ? `${text}\n${diffCut}` : text
}

/**
 * The change of a file since the model saw it, for the refusal of a call that did not know about it; empty if unknown.
 */
export async function whatChanged(real: string, now: LoadedFile, files: FileStates): Promise<string> {
  const before = files.textOf(real)
  if (now.kind !== 'text' || before === undefined) return ''
  files.markReported(real, `${now.seen.modifiedMs} ${now.seen.bytes}`)
  const diff = now.text.length > comparedBytes ? '' : await shortDiff(before, now.text)
  return diff === '' ? '' : whatHasChanged(diff)
}
