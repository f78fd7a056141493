import { randomUUID } from 'node:crypto'
import type { JsonObject, ToolContext, ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import { redactedMark } from '@halting/core/redact'
import { type HasTool, toolsOfCaller } from './available-tools.ts'
import { withCell, withoutCell, withNewCell } from './notebook-text.ts'
import { type Cell, type Notebook, parseNotebook, placeOf } from './notebook.ts'
import { changeOf } from './patch.ts'
import { changedSinceRead, losesSecretsOfCell, notAFile, notRead, notText } from './change-texts.ts'
import { nameHints } from './name-hints.ts'
import { cellChanged, cellIdNeeded, cellTooDeep, missingNotebook, notANotebook, unknownCell } from './notebook-texts.ts'
import { type Planning, type RefusedChange, refusedChange } from './precheck.ts'
import { errorResult } from './result.ts'
import { isShownIn } from './shown-text.ts'
import { type LoadedFile, loadFile, saveFile } from './text-file.ts'
import type { Workspace } from './workspace.ts'
import { losesSecrets } from './write-file.ts'

/** Input of the NotebookEdit tool. */
export interface NotebookEditInput {
  /** Path of the notebook. */
  readonly notebook_path: string
  /** Id of the cell, or of the cell after which to insert. */
  readonly cell_id?: string
  /** The new text of the cell. */
  readonly new_source: string
  /** Type of the cell; required for insertion. */
  readonly cell_type?: 'code' | 'markdown'
  /** The operation (default: `replace`). */
  readonly edit_mode?: 'replace' | 'insert' | 'delete'
}

interface Where {
  readonly workspace: Workspace
  readonly context: ToolContext
}

/** The planned edit of a cell: this text replaces the content of the file. */
type NotebookPlan =
  | RefusedChange
  | {
      readonly kind: 'change'
      readonly file: Extract<LoadedFile, { readonly kind: 'text' }>
      readonly changed: Extract<Changed, { readonly kind: 'changed' }>
    }

/** Reads the notebook and changes nothing. */
async function planNotebookEdit(
  path: string,
  real: string,
  input: NotebookEditInput,
  { workspace, context }: Planning,
): Promise<NotebookPlan> {
  const file = await loadFile(real, workspace.limits.editBytes)
  const has = toolsOfCaller(context.rights)
  if (file.kind === 'absent')
    return refusedChange(missingNotebook(path, await nameHints(real, workspace, context.rights)))
  if (file.kind === 'not a file') return refusedChange(notAFile(path, file.what, 'NotebookEdit'))
  const freshness = workspace.filesOf(context).freshness(real, file.seen, isShownIn(context))
  if (freshness === 'never read') return refusedChange(notRead(path, has))
  if (freshness === 'changed') return refusedChange(changedSinceRead(path, has))
  if (file.kind === 'not text') return refusedChange(notText(path, file.why, 'NotebookEdit', has))
  const notebook = parseNotebook(file.text)
  if (notebook.kind === 'none') return refusedChange(notANotebook(path, notebook.why, has))
  const changed = changedWhole(has, path, file.text, notebook, input)
  if (changed.kind === 'refused') return refusedChange(changed.why)
  return losesSecrets(changed.before, input.new_source, workspace.redact)
    ? refusedChange(losesSecretsOfCell(redactedMark))
    : { kind: 'change', file, changed }
}

/** Why a cell of the notebook at a real path currently cannot be changed. */
export async function whyNotEdited(
  path: string,
  real: string,
  input: NotebookEditInput,
  planning: Planning,
): Promise<string | undefined> {
  const plan = await planNotebookEdit(path, real, input, planning)
  return plan.kind === 'refused' ? plan.why : undefined
}

/** Executes NotebookEdit; loaded on demand. */
export async function editNotebook(
  path: string,
  real: string,
  input: NotebookEditInput,
  { workspace, context }: Where,
): Promise<ToolOutput> {
  const plan = await planNotebookEdit(path, real, input, { workspace, context })
  if (plan.kind === 'refused') return errorResult(plan.why)
  const { file, changed } = plan
  const keeping = { checkpoints: workspace.checkpoints, call: context }
  const { hasMark, encoding, stats: over } = file
  const saved = await saveFile(real, changed.text, { hasMark, encoding, over, keeping })
  const memo = workspace.filesOf(context).recordSeen(real, saved, 1, changed.text)
  const change = await changeOf(path, file.text, changed.text)
  const details: JsonObject = {
    notebook_path: path,
    cell_id: changed.id,
    edit_mode: input.edit_mode ?? 'replace',
    new_source: input.new_source,
    ...change,
  }
  const content = cellChanged(input.edit_mode ?? 'replace', changed.id, input.cell_type ?? 'code', path)
  return { content, details, memo }
}

type Changed =
  | {
      readonly kind: 'changed'
      readonly text: string
      readonly id: string
      readonly before: string
    }
  | { readonly kind: 'refused'; readonly why: string }

/** Handles a very deeply nested cell, which can be parsed but not serialized. */
function changedWhole(has: HasTool, ...changeArguments: Parameters<typeof changedText>): Changed {
  try {
    return changedText(...changeArguments)
  } catch (thrown) {
    if (!(thrown instanceof RangeError)) throw thrown
    return { kind: 'refused', why: cellTooDeep(changeArguments[0], has) }
  }
}

function changedText(
  path: string,
  text: string,
  notebook: Extract<Notebook, { kind: 'notebook' }>,
  input: NotebookEditInput,
): Changed {
  const { cell_id: id, new_source: source, cell_type: type, edit_mode: mode = 'replace' } = input
  const { cells } = notebook
  const place = id === undefined ? -1 : placeOf(cells, id)
  const cell = cells[place]
  if (id !== undefined && cell === undefined) return { kind: 'refused', why: noCell(path, id, cells) }
  if (mode === 'insert') {
    const added = newCell(notebook.json, type ?? 'code', source)
    const its = typeof added['id'] === 'string' ? added['id'] : `cell-${place + 1}`
    return { kind: 'changed', text: withNewCell(text, place + 1, added), id: its, before: '' }
  }
  // The input was checked to name a cell.
  if (cell === undefined) return { kind: 'refused', why: cellIdNeeded(mode) }
  const about = { kind: 'changed', id: cell.id, before: cell.source } as const
  if (mode === 'delete') return { ...about, text: withoutCell(text, place) }
  return { ...about, text: withCell(text, place, replacedCell(cell, type ?? cell.type, source)) }
}

function noCell(path: string, id: string, cells: readonly Cell[]): string {
  const known = cells.map((cell) => cell.id)
  const listed = known.slice(0, 20).join(', ')
  const more = known.length > 20 ? ', ...' : ''
  return unknownCell(path, headOf(id, 100), headOf(listed, 1000) + more)
}

/** A cell in the required form: only code has outputs, and from nbformat 4.5 on cells have ids. */
function newCell({ nbformat, nbformat_minor: minor }: JsonObject, type: string, source: string): JsonObject {
  const hasId = Number(nbformat) > 4 || (Number(nbformat) === 4 && Number(minor) >= 5)
  return {
    cell_type: type,
    ...(type === 'code' && { execution_count: null }),
    ...(hasId && { id: randomUUID().slice(0, 8) }),
    metadata: {},
    ...(type === 'code' && { outputs: [] }),
    source: linesOf(source),
  }
}

function replacedCell({ json }: Cell, type: string, source: string): JsonObject {
  const made: Record<string, JsonObject[string]> = {
    ...json,
    cell_type: type,
    source: typeof json['source'] === 'string' ? source : linesOf(source),
  }
  delete made['outputs']
  delete made['execution_count']
  return type === 'code' ? { ...made, execution_count: null, outputs: [] } : made
}

/** Returns a source as a list of lines, as in most notebooks, so that diffs are by line. */
function linesOf(source: string): readonly string[] {
  return source === '' ? [] : source.split(/(?<=\n)/)
}
