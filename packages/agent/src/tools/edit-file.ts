import type { ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import {
  changedSinceRead,
  emptyOldString,
  fileEdited,
  hardLinks,
  missingToEdit,
  notAFile,
  notRead,
  notText,
  oldStringAmbiguous,
  oldStringMissing,
  placesSeparator,
} from './change-texts.ts'
import { toolsOfCaller } from './available-tools.ts'
import { askedEditor } from './editor-files.ts'
import { numberedLines } from './numbered-lines.ts'
import { changeOf } from './patch.ts'
import { type Planning, type RefusedChange, refusedChange } from './precheck.ts'
import { type Replaced, replaceIn } from './replace.ts'
import { errorResult } from './result.ts'
import { isShownIn } from './shown-text.ts'
import { type LoadedFile, loadFile, saveFile } from './text-file.ts'
import type { Workspace } from './workspace.ts'
import { createFile, type WriteContext } from './write-file.ts'

/** Input of the Edit tool. */
export interface EditInput {
  /** Path of the file. */
  readonly file_path: string
  /** The text to replace. The text must occur once, unless `replace_all` is set. */
  readonly old_string: string
  /** The replacement. */
  readonly new_string: string
  /** Replace every occurrence (default: false). */
  readonly replace_all?: boolean
}

type TextFile = Extract<LoadedFile, { readonly kind: 'text' }>

/** The planned edit: the file is created, or this text replaces its content. */
type EditPlan =
  | RefusedChange
  | { readonly kind: 'create' }
  | {
      readonly kind: 'change'
      readonly file: TextFile
      readonly replaced: Extract<Replaced, { readonly kind: 'replaced' }>
    }

/** Reads the file and changes nothing. */
async function planEdit(
  path: string,
  real: string,
  input: EditInput,
  { workspace, context }: Planning,
): Promise<EditPlan> {
  const has = toolsOfCaller(context.rights)
  const editor = askedEditor(workspace.editor, context.signal)
  const file = await loadFile(real, workspace.limits.editBytes, editor)
  const { old_string: oldText, new_string: newText, replace_all: all = false } = input
  if (file.kind === 'absent')
    return oldText === ''
      ? { kind: 'create' }
      : refusedChange(missingToEdit(path, await hintsFor(real, workspace, context), has))
  if (file.kind === 'not a file') return refusedChange(notAFile(path, file.what, 'Edit'))
  const freshness = workspace.filesOf(context).freshness(real, file.seen, isShownIn(context))
  if (freshness === 'never read') return refusedChange(notRead(path, has))
  if (freshness === 'changed') {
    const { whatChanged } = await import('./changed-files.ts')
    const what = await whatChanged(real, file, workspace.filesOf(context))
    return refusedChange(changedSinceRead(path, has) + what)
  }
  if (file.kind === 'not text') return refusedChange(notText(path, file.why, 'Edit', has))
  if (oldText === '' && file.text !== '') return refusedChange(emptyOldString(path))
  const replaced = replaceIn(file.text, { oldText, newText, all })
  if (replaced.kind === 'not found') {
    // Loaded on demand: most edits match.
    const { whyNotFound } = await import('./nearest-place.ts')
    return refusedChange(oldStringMissing(path, whyNotFound({ path, text: file.text, has }, oldText)))
  }
  return replaced.kind === 'ambiguous'
    ? refusedChange(ambiguous(path, file.text, oldText, replaced))
    : { kind: 'change', file, replaced }
}

/** Why an edit of the file at a real path is currently not possible. */
export async function whyNotEdited(
  path: string,
  real: string,
  input: EditInput,
  planning: Planning,
): Promise<string | undefined> {
  const plan = await planEdit(path, real, input, planning)
  return plan.kind === 'refused' ? plan.why : undefined
}

/** Executes Edit. */
export async function editFile(
  path: string,
  real: string,
  input: EditInput,
  { workspace, context }: WriteContext,
): Promise<ToolOutput> {
  const { old_string: oldText, new_string: newText, replace_all: all = false } = input
  const plan = await planEdit(path, real, input, { workspace, context })
  if (plan.kind === 'refused') return errorResult(plan.why)
  if (plan.kind === 'create') return createFile(path, real, newText, { workspace, context })
  const { file, replaced } = plan
  const editor = askedEditor(workspace.editor, context.signal)
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const { hasMark, encoding, stats: over } = file
  const saved = await saveFile(real, replaced.text, { hasMark, encoding, over, keeping, editor })
  const shownFrom = Math.max(1, replaced.firstLine - linesBefore)
  const memo = workspace.filesOf(context).recordSeen(real, saved, shownFrom, replaced.text)
  const change = await changeOf(path, file.text, replaced.text)
  return {
    content: fileEdited(
      path,
      replaced.count,
      hardLinks(file.names),
      snippet(replaced.text, replaced.firstLine, newText),
    ),
    details: { filePath: path, oldString: oldText, newString: newText, replaceAll: all, ...change },
    memo,
  }
}

/** Loaded on demand: most files exist. */
async function hintsFor(real: string, workspace: Workspace, { rights }: Planning['context']): Promise<string> {
  const { nameHints } = await import('./name-hints.ts')
  return nameHints(real, workspace, rights)
}

const maxPlaces = 3
const linesOfPlace = 8

/** Shows the lines around the first matches, so that the next call can name one of them. */
function ambiguous(
  path: string,
  text: string,
  oldText: string,
  { count, lines: found }: Extract<Replaced, { readonly kind: 'ambiguous' }>,
): string {
  const lines = linesOf(text)
  const length = Math.min(oldText.split('\n').length, linesOfPlace)
  const ranges: { start: number; end: number }[] = []
  for (const line of found.slice(0, maxPlaces)) {
    const [start, end] = [Math.max(0, line - 1 - linesBeforePlace), line - 1 + length + linesBeforePlace]
    const last = ranges.at(-1)
    // Overlapping matches are shown as one.
    if (last !== undefined && start <= last.end) last.end = end
    else ranges.push({ start, end })
  }
  const places = ranges.map(({ start, end }) => headOf(numberedLines(lines.slice(start, end), start + 1, 300), 2_000))
  const numbers = found.join(', ') + (count > found.length ? ', ...' : '')
  return oldStringAmbiguous(path, count, numbers, places.join(`\n${placesSeparator}\n`))
}

const linesBeforePlace = 2

/** Splits lines as Read counts them: a final line break starts no new line. */
function linesOf(text: string): readonly string[] {
  const lines = text.split(/\r?\n/)
  return lines.length > 1 && lines.at(-1) === '' ? lines.slice(0, -1) : lines
}

/** Number of lines above a change that are shown again. */
const linesBefore = 20
const linesAround = 4
const longestSnippetLines = 60
const longestSnippetCharacters = 8000

/** The changed lines and a few around them, as Read would show them. */
function snippet(text: string, firstLine: number, newText: string): string {
  const lines = linesOf(text)
  const changedLines = Math.min(newText.split('\n').length, longestSnippetLines)
  const start = Math.max(firstLine - 1 - linesAround, 0)
  const end = Math.min(firstLine - 1 + changedLines + linesAround, lines.length)
  return headOf(numberedLines(lines.slice(start, end), start + 1, 500), longestSnippetCharacters)
}
