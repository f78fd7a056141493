import type { Tool } from '@halting/core'
import type { NotebookEditInput } from './edit-notebook.ts'
import { toolsOfCaller } from './available-tools.ts'
import { notRead } from './change-texts.ts'
import { filledText, inputForm, oneOf, optional, text } from './input.ts'
import { cellIdNeeded } from './notebook-texts.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Changes one cell of a notebook that was read and has not changed since. The rest of the file stays byte for byte. */
export function createNotebookEditTool(workspace: Workspace): Tool<NotebookEditInput> {
  const form = inputForm<NotebookEditInput>(
    'NotebookEdit',
    {
      notebook_path: filledText('Path of the .ipynb file'),
      cell_id: optional(
        filledText('As Read shows it. With insert: the cell before the new one (default: insert at the top)'),
      ),
      new_source: text('New content; empty with delete'),
      cell_type: optional(oneOf('Default: unchanged; code for a new cell', ['code', 'markdown'])),
      edit_mode: optional(oneOf('Default: replace', ['replace', 'insert', 'delete'])),
    },
    { path: 'notebook_path', file_path: 'notebook_path', source: 'new_source' },
  )
  return {
    name: 'NotebookEdit',
    description:
      'Replaces, inserts or deletes one cell of a Jupyter notebook. Read it first. Replacing a cell clears its outputs.',
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { cell_id: id, edit_mode: mode = 'replace' } = check.input
      if (id !== undefined || mode === 'insert') return check
      return { valid: false, message: cellIdNeeded(mode) }
    },
    readOnly: false,
    editsFiles: true,
    async precheck(input, context) {
      const path = workspace.pathOf(input.notebook_path)
      const planning = { workspace, context }
      // Loaded on demand.
      const [{ whyNotChanged }, { whyNotEdited }] = await Promise.all([
        import('./precheck.ts'),
        import('./edit-notebook.ts'),
      ])
      return whyNotChanged(path, planning, {
        whyNot: (real) => whyNotEdited(path, real, input, planning),
        unseen: notRead(path, toolsOfCaller(context.rights)),
      })
    },
    execute(input, context) {
      const path = workspace.pathOf(input.notebook_path)
      return withErrorResults({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context)
        const { editNotebook } = await import('./edit-notebook.ts')
        return workspace.files.inTurn(real, () => editNotebook(path, real, input, { workspace, context }))
      })
    },
  }
}
