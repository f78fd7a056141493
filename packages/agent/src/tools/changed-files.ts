import { lstat } from 'node:fs/promises'
import type { ToolContext } from '@halting/core'
import { codeOf, type CallerRights, headOf } from '@halting/core/adapters'
import { openInPlace } from '@halting/policy/files'
import { diffCut, externalChanges, fileGone, moreFiles, whatHasChanged } from './change-texts.ts'
import { type FileStates, type LastSeen, hashOf, seenFile } from './file-state.ts'
import { shownName } from './shown-name.ts'
import { decodedText } from './text-encoding.ts'
import type { LoadedFile } from './text-file.ts'
import type { Workspace } from './workspace.ts'

/** So many of the files that were seen last are looked at. */
const mostFiles = 50
const mostNamed = 10
const mostShown = 3
const diffLines = 24
const diffCharacters = 1500
/** Beyond this time and size alone are compared. */
const comparedBytes = 1024 * 1024

/** Which files have changed since the model saw them, other than by its own Edit or Write; empty for none. Each change is told once. */
export async function changesNote(workspace: Workspace, context: ToolContext): Promise<string> {
  const files = workspace.filesOf(context)
  // Of calls that run beside each other one tells.
  if (files.isLookedAt) return ''
  files.isLookedAt = true
  try {
    const looked = await Promise.all(files.newestFirst.slice(0, mostFiles).map((seen) => changeOf(seen, files)))
    const changes = looked.filter((change) => change !== undefined)
    return changes.length === 0 ? '' : await noteOf(changes, workspace, context.rights)
  } finally {
    files.isLookedAt = false
  }
}

interface Change {
  readonly seen: LastSeen
  /** Undefined where it is not known: too large, no text, gone. */
  readonly now: string | undefined
  readonly isGone: boolean
}

/** How a file has changed, if it has and that was not told. */
async function changeOf(seen: LastSeen, files: FileStates): Promise<Change | undefined> {
  try {
    const { modifiedMs, bytes } = seen.file
    const there = await lstat(seen.realPath)
    if (there.isFile() && there.mtimeMs === modifiedMs && there.size === bytes) return undefined
    const found = await openInPlace(seen.realPath)
    if (found.kind !== 'file')
      return files.tells(seen.realPath, found.kind) ? { seen, now: undefined, isGone: true } : undefined
    try {
      const { file, stats } = found
      if (!files.tells(seen.realPath, `${stats.mtimeMs} ${stats.size}`)) return undefined
      if (stats.size > comparedBytes) return { seen, now: undefined, isGone: false }
      const content = await file.readFile()
      const now = seenFile(stats, hashOf(content))
      return files.freshness(seen.realPath, now, () => false) === 'fresh'
        ? undefined
        : { seen, now: decodedText(content)?.text, isGone: false }
    } finally {
      await found.file.close()
    }
  } catch (thrown) {
    const code = codeOf(thrown)
    const isGone = code === 'ENOENT' || code === 'ENOTDIR' || code === 'path_moved'
    return isGone && files.tells(seen.realPath, 'gone') ? { seen, now: undefined, isGone } : undefined
  }
}

async function noteOf(
  changes: readonly Change[],
  { cwd, hides }: Workspace,
  rights: CallerRights | undefined,
): Promise<string> {
  const told: string[] = []
  for (const [index, { seen, now, isGone }] of changes.slice(0, mostNamed).entries()) {
    const name = shownName(seen.realPath, cwd)
    // A rule may have come to deny it since.
    const known = index < mostShown && now !== undefined && seen.text !== undefined && !hides(seen.realPath, rights)
    const diff = known ? await shortDiff(seen.text, now) : ''
    told.push(isGone ? fileGone(name) : diff === '' ? name : `${name}:\n${diff}`)
  }
  const more = changes.length > mostNamed ? [moreFiles(changes.length - mostNamed)] : []
  return externalChanges([...told, ...more].join('\n'))
}

/** The lines that changed, as far as there is room for them. */
async function shortDiff(before: string, after: string): Promise<string> {
  // Loaded when used: 15 to 40 ms.
  const { structuredPatch } = await import('diff')
  const patch = structuredPatch('', '', before, after, undefined, undefined, { context: 1, timeout: 200 })
  if (patch === undefined) return ''
  const lines = patch.hunks.flatMap((hunk) => [
    `@@ -${hunk.oldStart},${hunk.oldLines} +${hunk.newStart},${hunk.newLines} @@`,
    ...hunk.lines.map((line) => headOf(line, 200)),
  ])
  const shown = headOf(lines.slice(0, diffLines).join('\n'), diffCharacters)
  return lines.length > diffLines || shown.length === diffCharacters ? `${shown}\n${diffCut}` : shown
}

/** The change of a file since the model saw it, for the refusal of a call that did not know of it; nothing where it is not known. */
export async function whatChanged(real: string, now: LoadedFile, files: FileStates): Promise<string> {
  const before = files.textOf(real)
  if (now.kind !== 'text' || before === undefined) return ''
  files.tells(real, `${now.seen.modifiedMs} ${now.seen.bytes}`)
  const diff = now.text.length > comparedBytes ? '' : await shortDiff(before, now.text)
  return diff === '' ? '' : whatHasChanged(diff)
}
