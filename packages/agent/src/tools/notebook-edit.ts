import type { Tool } from '@halting/core'
import type { NotebookEditInput } from './edit-notebook.ts'
import { filledText, inputForm, oneOf, optional, text } from './input.ts'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** Changes one cell of a notebook that was read and has not changed since. All else of the file stays byte for byte. */
export function createNotebookEditTool(workspace: Workspace): Tool<NotebookEditInput> {
  const form = inputForm<NotebookEditInput>('NotebookEdit', {
    notebook_path: filledText(
      'The .ipynb file, as an absolute path or relative to the working directory of the session',
    ),
    cell_id: optional(
      filledText(
        'The cell, by the id that Read shows. With insert the new cell comes behind it; at the top when absent',
      ),
    ),
    new_source: text('The new source of the cell; with delete an empty text'),
    cell_type: optional(
      oneOf('The type of the cell; that which it has when absent, code for a new one', ['code', 'markdown']),
    ),
    edit_mode: optional(oneOf('What to do; replace when absent', ['replace', 'insert', 'delete'])),
  })
  return {
    name: 'NotebookEdit',
    description:
      'Replaces, inserts or deletes one cell of a Jupyter notebook. The notebook must have been read before, and not changed since. ' +
      'The outputs of a code cell that is replaced are cleared.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { cell_id: id, edit_mode: mode = 'replace' } = check.input
      if (id !== undefined || mode === 'insert') return check
      return { valid: false, message: `NotebookEdit: cell_id is missing: ${mode} needs the id of a cell.` }
    },
    readOnly: false,
    execute(input, context) {
      const path = workspace.pathOf(input.notebook_path)
      return tellingFailures({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context.callId)
        const { editNotebook } = await import('./edit-notebook.ts')
        return workspace.files.inTurn(real, () => editNotebook(path, real, input, { workspace, context }))
      })
    },
  }
}
