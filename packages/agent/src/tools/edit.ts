import type { Tool } from '@halting/core'
import { toolsOfCaller } from './available-tools.ts'
import { notRead, sameStrings } from './change-texts.ts'
import { loneSurrogate } from './input-texts.ts'
import { filledText, flag, inputForm, isWritable, optional, pathAliases, text } from './input.ts'
import type { EditInput } from './edit-file.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Replaces text in a file that was read and has not changed since. */
export function createEditTool(workspace: Workspace): Tool<EditInput> {
  const form = inputForm<EditInput>(
    'Edit',
    {
      file_path: filledText('Absolute or relative path'),
      old_string: text('Text to replace, exactly as in the file, without line numbers'),
      new_string: text('Replacement text'),
      replace_all: optional(flag('Replace all occurrences (default: false)')),
    },
    { ...pathAliases, old_str: 'old_string', new_str: 'new_string', old_text: 'old_string', new_text: 'new_string' },
  )
  return {
    name: 'Edit',
    description:
      'Replaces text in a file. Read the file first. old_string must occur exactly once, unless replace_all is true. ' +
      'An empty old_string creates a new file.',
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate(input) {
      const check = form.validate(input)
      if (!check.valid) return check
      const { old_string: oldText, new_string: newText } = check.input
      if (!isWritable(newText)) return invalid(loneSurrogate('new_string'))
      return oldText === newText ? invalid(sameStrings) : check
    },
    readOnly: false,
    editsFiles: true,
    async precheck(input, context) {
      const path = workspace.pathOf(input.file_path)
      const planning = { workspace, context }
      // Loaded on demand.
      const [{ whyNotChanged }, { whyNotEdited }] = await Promise.all([
        import('./precheck.ts'),
        import('./edit-file.ts'),
      ])
      return whyNotChanged(path, planning, {
        whyNot: (real) => whyNotEdited(path, real, input, planning),
        // Without old_string, the call may create a file.
        unseen: input.old_string === '' ? undefined : notRead(path, toolsOfCaller(context.rights)),
      })
    },
    execute(input, context) {
      const path = workspace.pathOf(input.file_path)
      return withErrorResults({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context)
        return workspace.files.inTurn(real, async () => {
          // Loaded on demand.
          const { editFile } = await import('./edit-file.ts')
          return editFile(path, real, input, { workspace, context })
        })
      })
    },
  }
}

function invalid(message: string): { readonly valid: false; readonly message: string } {
  return { valid: false, message }
}
