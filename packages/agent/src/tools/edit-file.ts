import type { ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { askedEditor } from './editor-files.ts'
import { numberedLines } from './numbered-lines.ts'
import { changeOf } from './patch.ts'
import { notRead, type Planning, type Refused, refused } from './precheck.ts'
import { type Replaced, replaceIn } from './replace.ts'
import { failed } from './result.ts'
import { isShownIn } from './shown.ts'
import { type LoadedFile, loadFile, saveFile } from './text-file.ts'
import { createFile, namesNote, type Where } from './write-file.ts'

/** Input of the Edit tool. */
export interface EditInput {
  readonly file_path: string
  readonly old_string: string
  readonly new_string: string
  readonly replace_all?: boolean
}

type TextFile = Extract<LoadedFile, { readonly kind: 'text' }>

/** What an edit comes to: the file is made, or this text takes the place of what it has. */
type EditPlan =
  | Refused
  | { readonly kind: 'create' }
  | {
      readonly kind: 'change'
      readonly file: TextFile
      readonly replaced: Extract<Replaced, { readonly kind: 'replaced' }>
    }

/** Looks at the file, and changes nothing. */
async function planEdit(
  path: string,
  real: string,
  input: EditInput,
  { workspace, context }: Planning,
): Promise<EditPlan> {
  const editor = askedEditor(workspace.editor, context.signal)
  const file = await loadFile(real, workspace.limits.editBytes, editor)
  const { old_string: oldText, new_string: newText, replace_all: all = false } = input
  if (file.kind === 'absent')
    return oldText === ''
      ? { kind: 'create' }
      : refused(`There is no file ${path}. Use Write to make it.${workspace.lookAlikesNote(real, context.rights)}`)
  if (file.kind === 'not a file') return refused(`${path} ${file.why}; Edit changes files.`)
  const freshness = workspace.filesOf(context).freshness(real, file.seen, isShownIn(context))
  if (freshness === 'never read') return refused(notRead(path))
  if (freshness === 'changed') {
    const { whatChanged } = await import('./changed-files.ts')
    const what = await whatChanged(real, file, workspace.filesOf(context))
    return refused(`${path} has changed since it was read. Read it again, then edit it.${what}`)
  }
  if (file.kind === 'not text')
    return refused(`${path} ${file.why}, so Edit would damage it. Use Bash with a program for it.`)
  if (oldText === '' && file.text !== '')
    return refused(`${path} is there and is not empty, and old_string is. Name the text to replace.`)
  const replaced = replaceIn(file.text, { oldText, newText, all })
  if (replaced.kind === 'not found') {
    // Loaded when used: most edits match.
    const { whyNotFound } = await import('./nearest-place.ts')
    return refused(`${path}: old_string is not in the file. ${whyNotFound(file.text, oldText)}`)
  }
  return replaced.kind === 'ambiguous' ? refused(`${path}: ${whyNot(replaced)}`) : { kind: 'change', file, replaced }
}

/** Why an edit of the file at a real path cannot be made as things are now. */
export async function whyNotEdited(
  path: string,
  real: string,
  input: EditInput,
  planning: Planning,
): Promise<string | undefined> {
  const plan = await planEdit(path, real, input, planning)
  return plan.kind === 'refused' ? plan.why : undefined
}

/** The work of Edit. */
export async function editFile(
  path: string,
  real: string,
  input: EditInput,
  { workspace, context }: Where,
): Promise<ToolOutput> {
  const { old_string: oldText, new_string: newText, replace_all: all = false } = input
  const plan = await planEdit(path, real, input, { workspace, context })
  if (plan.kind === 'refused') return failed(plan.why)
  if (plan.kind === 'create') return createFile(path, real, newText, { workspace, context })
  const { file, replaced } = plan
  const editor = askedEditor(workspace.editor, context.signal)
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const { hasMark, encoding, stats: over } = file
  const saved = await saveFile(real, replaced.text, { hasMark, encoding, over, keeping, editor })
  const shownFrom = Math.max(1, replaced.firstLine - linesBefore)
  const memo = workspace.filesOf(context).saw(real, saved, shownFrom, replaced.text)
  const count = replaced.count === 1 ? '' : ` in ${replaced.count} places`
  const change = await changeOf(path, file.text, replaced.text)
  return {
    content: `Edited ${path}${count}.${namesNote(file)} It now reads:\n${snippet(replaced.text, replaced.firstLine, newText)}`,
    details: { filePath: path, oldString: oldText, newString: newText, replaceAll: all, ...change },
    memo,
  }
}

function whyNot(replaced: Extract<Replaced, { readonly kind: 'ambiguous' }>): string {
  const more = replaced.count > replaced.lines.length ? ', ...' : ''
  return (
    `old_string is in the file ${replaced.count} times (lines ${replaced.lines.join(', ')}${more}). ` +
    'Take more of the lines around it so that it is there once, or set replace_all.'
  )
}

/** How far above a change the model is shown the file again. */
const linesBefore = 20
const linesAround = 4
const longestSnippetLines = 60
const longestSnippetCharacters = 8000

/** The changed lines and a few around them, as Read would show them. */
function snippet(text: string, firstLine: number, newText: string): string {
  const lines = text.split(/\r?\n/)
  const changedLines = Math.min(newText.split('\n').length, longestSnippetLines)
  const start = Math.max(firstLine - 1 - linesAround, 0)
  const end = Math.min(firstLine - 1 + changedLines + linesAround, lines.length)
  return headOf(numberedLines(lines.slice(start, end), start + 1, 500), longestSnippetCharacters)
}
