import type { Tool } from '@halting/core'
import { loneSurrogate } from './input-texts.ts'
import { filledText, inputForm, isWritable, pathAliases, text } from './input.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Input of the Write tool. */
export interface WriteInput {
  /** Path of the file. */
  readonly file_path: string
  /** The whole text of the file. */
  readonly content: string
}

/** Writes a whole file in one step. An existing file must have been read, and not changed since. */
export function createWriteTool(workspace: Workspace): Tool<WriteInput> {
  const form = inputForm<WriteInput>(
    'Write',
    {
      file_path: filledText('Absolute or relative path'),
      content: text('The whole new content of the file'),
    },
    { ...pathAliases, contents: 'content', file_text: 'content' },
  )
  return {
    name: 'Write',
    description:
      'Creates or replaces a file; creates missing directories. Read an existing file first. To change a part of it, use Edit.',
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate(input) {
      const check = form.validate(input)
      if (!check.valid || isWritable(check.input.content)) return check
      return { valid: false, message: loneSurrogate('content') }
    },
    readOnly: false,
    editsFiles: true,
    async precheck(input, context) {
      const path = workspace.pathOf(input.file_path)
      const planning = { workspace, context }
      // Loaded on demand.
      const [{ whyNotChanged }, { whyNotWritten }] = await Promise.all([
        import('./precheck.ts'),
        import('./write-file.ts'),
      ])
      return whyNotChanged(path, planning, {
        whyNot: (real) => whyNotWritten(path, real, input.content, planning),
        unseen: undefined,
      })
    },
    execute(input, context) {
      const path = workspace.pathOf(input.file_path)
      return withErrorResults({ path, doing: 'written' }, async () => {
        const real = workspace.realPathOf(path, context)
        return workspace.files.inTurn(real, async () => {
          // Loaded on demand.
          const { writeFile } = await import('./write-file.ts')
          return writeFile(path, real, input.content, { workspace, context })
        })
      })
    },
  }
}
