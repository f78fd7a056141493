import type { Tool } from '@halting/core'
import { filledText, flag, inputForm, isWritable, optional, text } from './input.ts'
import type { EditInput } from './edit-file.ts'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** Replaces text in a file that was read and has not changed since. */
export function createEditTool(workspace: Workspace): Tool<EditInput> {
  const form = inputForm<EditInput>('Edit', {
    file_path: filledText('Absolute, or from the working directory'),
    old_string: text('The text to replace, exactly as it stands in the file, without line numbers'),
    new_string: text('The text to put in its place'),
    replace_all: optional(flag('Replace every place where it occurs')),
  })
  return {
    name: 'Edit',
    description:
      'Replaces text in a file. old_string must be in the file exactly once, unless replace_all is true. ' +
      'The file must have been read before, and not changed since. An empty old_string makes a new file.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { old_string: oldText, new_string: newText } = check.input
      if (!isWritable(newText)) return invalid('new_string has half a character in it (a lone surrogate)')
      return oldText === newText ? invalid('old_string and new_string are the same: there is nothing to change') : check
    },
    readOnly: false,
    async precheck(input, context) {
      const path = workspace.pathOf(input.file_path)
      const planning = { workspace, context }
      // Loaded when used.
      const [{ notRead, whyNotChanged }, { whyNotEdited }] = await Promise.all([
        import('./precheck.ts'),
        import('./edit-file.ts'),
      ])
      return whyNotChanged(path, planning, {
        whyNot: (real) => whyNotEdited(path, real, input, planning),
        // Without a text to replace it may make a file.
        unseen: input.old_string === '' ? undefined : notRead(path),
      })
    },
    execute(input, context) {
      const path = workspace.pathOf(input.file_path)
      return tellingFailures({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context)
        return workspace.files.inTurn(real, async () => {
          // Loaded when used.
          const { editFile } = await import('./edit-file.ts')
          return editFile(path, real, input, { workspace, context })
        })
      })
    },
  }
}

function invalid(why: string): { readonly valid: false; readonly message: string } {
  return { valid: false, message: `Edit: ${why}.` }
}
