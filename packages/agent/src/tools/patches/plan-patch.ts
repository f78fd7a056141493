import { lstat } from 'node:fs/promises'
import { headOf, type PrecheckContext } from '@halting/core/adapters'
import { redactedMark } from '@halting/core/redact'
import { isInside, isInsideAny, type PatchedFile } from '@halting/policy/files'
import { notAFile, notText } from '../change-texts.ts'
import { toolsOfCaller } from '../available-tools.ts'
import { askedEditor } from '../editor-files.ts'
import { numberedLines } from '../numbered-lines.ts'
import { isShownIn } from '../shown-text.ts'
import { closestLines } from '../similar-lines.ts'
import { type LoadedFile, loadFile } from '../text-file.ts'
import type { Workspace } from '../workspace.ts'
import { losesSecrets } from '../write-file.ts'
import {
  changedSince,
  existsAlready,
  hiddenFile,
  insideOther,
  isLink,
  misplaced,
  missing,
  sameFile,
  secretLost,
  targetExists,
  unread,
} from './patch-texts.ts'
import { type InexactPlace, patchedText } from './place-hunks.ts'

export type TextFile = Extract<LoadedFile, { readonly kind: 'text' }>

/** A path in a patch, and its real path. */
export interface PatchPath {
  readonly path: string
  readonly real: string
}

/** A section of a patch with the paths of its files. */
export interface LocatedFile {
  readonly file: PatchedFile
  readonly at: PatchPath
  readonly moveTo: PatchPath | undefined
}

/** The change of one file, computed before anything is written. */
export type PlannedFile =
  | { readonly kind: 'add'; readonly at: PatchPath; readonly text: string }
  | { readonly kind: 'delete'; readonly at: PatchPath; readonly before: TextFile }
  | {
      readonly kind: 'update'
      readonly at: PatchPath
      readonly moveTo: PatchPath | undefined
      readonly before: TextFile
      readonly text: string
      readonly firstLine: number
      readonly inexact: readonly InexactPlace[]
    }

/** The changes of a patch, or the problems of all files that cannot be changed. */
export type PatchPlan =
  | { readonly kind: 'planned'; readonly files: readonly PlannedFile[] }
  | { readonly kind: 'refused'; readonly problems: readonly string[] }

interface Planning {
  readonly workspace: Workspace
  readonly context: PrecheckContext
}

/** The sections of a patch with their paths. `realOf` resolves a path. */
export function locatedFiles(
  files: readonly PatchedFile[],
  workspace: Workspace,
  realOf: (path: string) => string,
): readonly LocatedFile[] {
  const located = (patchPath: string): PatchPath => {
    const path = workspace.pathOf(patchPath)
    return { path, real: realOf(path) }
  }
  return files.map((file) => ({
    file,
    at: located(file.path),
    moveTo: file.kind === 'update' && file.moveTo !== undefined ? located(file.moveTo) : undefined,
  }))
}

/** All changed paths. */
export function pathsOf(files: readonly LocatedFile[]): readonly PatchPath[] {
  return files.flatMap(({ at, moveTo }) => (moveTo === undefined ? [at] : [at, moveTo]))
}

/** Whether the model may read a file without asking, or has read the file. */
export function mayQuote({ path, real }: PatchPath, { workspace, context }: Planning): boolean {
  if ([path, real].some((place) => workspace.hides(place, context.rights))) return false
  if (workspace.filesOf(context).hasSeen(real)) return true
  return isInsideAny(path, workspace.directories) && !workspace.asksToRead(path, context.rights)
}

/** Computes every change and writes nothing. */
export async function planPatch(files: readonly LocatedFile[], planning: Planning): Promise<PatchPlan> {
  const conflicts = conflictsOf(pathsOf(files))
  if (conflicts.length > 0) return { kind: 'refused', problems: conflicts }
  const planned: PlannedFile[] = []
  const problems: string[] = []
  for (const located of files) {
    const plan = await planFile(located, planning)
    if (typeof plan === 'string') problems.push(plan)
    else planned.push(plan)
  }
  return problems.length === 0 ? { kind: 'planned', files: planned } : { kind: 'refused', problems }
}

/** Files that a patch names twice, and files inside other files. */
function conflictsOf(paths: readonly PatchPath[]): readonly string[] {
  const seen: PatchPath[] = []
  const problems: string[] = []
  for (const each of paths) {
    const other = seen.find(({ real }) => isInside(real, each.real) || isInside(each.real, real))
    if (other?.real === each.real) problems.push(sameFile(each.path))
    else if (other !== undefined && isInside(each.real, other.real)) problems.push(insideOther(each.path, other.path))
    else if (other !== undefined) problems.push(insideOther(other.path, each.path))
    seen.push(each)
  }
  return problems
}

/** Plans the change of one file; a returned text says why the change is not possible. */
async function planFile({ file, at, moveTo }: LocatedFile, planning: Planning): Promise<PlannedFile | string> {
  const { workspace, context } = planning
  const { path, real } = at
  const has = toolsOfCaller(context.rights)
  const editor = askedEditor(workspace.editor, context.signal)
  const before = await loadFile(real, workspace.limits.editBytes, editor)
  if (file.kind === 'add')
    return before.kind === 'absent' ? { kind: 'add', at, text: file.content } : existsAlready(path)
  if (before.kind === 'absent') return missing(path, workspace.lookAlikesNote(real, context.rights), has)
  if (before.kind === 'not a file') return notAFile(path, before.what, 'apply_patch')
  if (before.kind === 'not text') return notText(path, before.why, 'apply_patch', has)
  // Whether lines match would reveal what the file contains.
  if ([path, real].some((place) => workspace.hides(place, context.rights))) return hiddenFile(path)
  // The target of the link would be removed, and the link would remain.
  if ((file.kind === 'delete' || moveTo !== undefined) && (await isLinkAt(path))) return isLink(path, real, has)
  if (file.kind === 'delete') {
    const freshness = workspace.filesOf(context).freshness(real, before.seen, isShownIn(context))
    if (freshness === 'never read') return unread(path, has)
    return freshness === 'changed' ? changedSince(path) : { kind: 'delete', at, before }
  }
  if (moveTo !== undefined && (await loadFile(moveTo.real, workspace.limits.editBytes)).kind !== 'absent')
    return targetExists(path, moveTo.path)
  const patched = patchedText(before.text, file.hunks)
  if (patched.kind === 'misplaced') {
    const oldLines = 'old' in patched.why ? patched.why.old : []
    return misplaced(path, patched.why, mayQuote(at, planning) ? nearestLines(before.text, oldLines) : '')
  }
  if (losesSecrets(before.text, patched.text, workspace.redact)) return secretLost(path, redactedMark)
  const { text, firstLine, inexact } = patched
  return { kind: 'update', at, moveTo, before, text, firstLine, inexact }
}

async function isLinkAt(path: string): Promise<boolean> {
  return (await lstat(path).catch(() => undefined))?.isSymbolicLink() === true
}

const maxLines = 12
const lineCharacters = 200
const snippetCharacters = 2000
/** Longer texts are not searched, because the search would take seconds. */
const longestText = 1_000_000

function nearestLines(fileText: string, oldLines: readonly string[]): string {
  if (oldLines.length === 0 || fileText.length > longestText) return ''
  const lines = fileText.split(/\r?\n/)
  const found = closestLines(lines, oldLines)
  if (found === undefined) return ''
  const excerpt = lines.slice(found.line, found.line + Math.min(oldLines.length, maxLines))
  return headOf(numberedLines(excerpt, found.line + 1, lineCharacters), snippetCharacters)
}
