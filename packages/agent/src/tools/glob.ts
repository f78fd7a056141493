import { isAbsolute } from 'node:path'
import type { Tool } from '@halting/core'
import { filledText, inputForm, optional } from './input.ts'
import type { GlobInput } from './find-files.ts'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** Finds files by name, the ones changed last first. */
export function createGlobTool(workspace: Workspace): Tool<GlobInput> {
  const { globFiles } = workspace.limits
  const form = inputForm<GlobInput>('Glob', {
    pattern: filledText(
      'What the path of a file must look like, such as src/**/*.ts; without a slash it holds at any depth',
    ),
    path: optional(filledText('The directory; the working directory when absent')),
  })
  return {
    name: 'Glob',
    description:
      `Finds files by a glob pattern, the ones changed last first, ${globFiles} at most. ` +
      'What .gitignore names is left out. To look into files use Grep.',
    inputSchema: form.schema,
    validate(input) {
      const check = form.validate(input)
      const isOutside =
        check.valid && (isAbsolute(check.input.pattern) || check.input.pattern.split('/').includes('..'))
      if (!isOutside) return check
      return { valid: false, message: 'Glob: pattern must be relative and without "..". Put the directory into path.' }
    },
    readOnly: true,
    execute: (input, context) =>
      tellingFailures({ path: input.path ?? workspace.cwd, doing: 'searched' }, async () => {
        // Loaded when used.
        const { findFiles } = await import('./find-files.ts')
        return findFiles(input, workspace, context)
      }),
  }
}
