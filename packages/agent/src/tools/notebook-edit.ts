import type { Tool } from '@halting/core'
import type { NotebookEditInput } from './edit-notebook.ts'
import { filledText, inputForm, oneOf, optional, text } from './input.ts'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** Changes one cell of a notebook that was read and has not changed since. All else of the file stays byte for byte. */
export function createNotebookEditTool(workspace: Workspace): Tool<NotebookEditInput> {
  const form = inputForm<NotebookEditInput>('NotebookEdit', {
    notebook_path: filledText('The .ipynb file'),
    cell_id: optional(filledText('As Read shows it. With insert the new cell comes behind it; at the top when absent')),
    new_source: text('Empty with delete'),
    cell_type: optional(oneOf('When absent that which it has; code for a new one', ['code', 'markdown'])),
    edit_mode: optional(oneOf('replace when absent', ['replace', 'insert', 'delete'])),
  })
  return {
    name: 'NotebookEdit',
    description:
      'Replaces, inserts or deletes one cell of a Jupyter notebook that was read before. The outputs of a replaced cell are cleared.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { cell_id: id, edit_mode: mode = 'replace' } = check.input
      if (id !== undefined || mode === 'insert') return check
      return { valid: false, message: `NotebookEdit: cell_id is missing: ${mode} needs the id of a cell.` }
    },
    readOnly: false,
    async precheck(input, context) {
      const path = workspace.pathOf(input.notebook_path)
      const planning = { workspace, context }
      // Loaded when used.
      const [{ notRead, whyNotChanged }, { whyNotEdited }] = await Promise.all([
        import('./precheck.ts'),
        import('./edit-notebook.ts'),
      ])
      return whyNotChanged(path, planning, {
        whyNot: (real) => whyNotEdited(path, real, input, planning),
        unseen: notRead(path),
      })
    },
    execute(input, context) {
      const path = workspace.pathOf(input.notebook_path)
      return tellingFailures({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context)
        const { editNotebook } = await import('./edit-notebook.ts')
        return workspace.files.inTurn(real, () => editNotebook(path, real, input, { workspace, context }))
      })
    },
  }
}
