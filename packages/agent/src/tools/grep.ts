import type { Tool } from '@halting/core'
import { filledText, flag, inputForm, oneOf, optional, wholeNumber } from './input.ts'
import type { GrepInput } from './search-files.ts'
import { tellingFailures } from './telling-failures.ts'
import type { Workspace } from './workspace.ts'

/** Searches in files with ripgrep. */
export function createGrepTool(workspace: Workspace): Tool<GrepInput> {
  const form = inputForm<GrepInput>('Grep', {
    pattern: filledText('A regular expression as ripgrep reads it; literal braces are escaped'),
    path: optional(filledText('File or directory; the working directory when absent')),
    glob: optional(filledText('Only files such as *.ts or **/*.{js,jsx}')),
    type: optional(filledText('Only files of a type, such as js, py, rust')),
    output_mode: optional(
      oneOf('files_with_matches (when absent): paths; content: the lines, as -A to -n say; count: lines of each file', [
        'files_with_matches',
        'content',
        'count',
      ]),
    ),
    '-A': optional(wholeNumber('Lines after a match', { minimum: 0 })),
    '-B': optional(wholeNumber('Lines before a match', { minimum: 0 })),
    '-C': optional(wholeNumber('Lines around a match', { minimum: 0 })),
    '-n': optional(flag('Line numbers; true when absent')),
    '-i': optional(flag('Upper and lower case are the same')),
    head_limit: optional(wholeNumber('Only the first lines or files of the output; 0 for all', { minimum: 0 })),
    offset: optional(wholeNumber('Pass over so many lines or files of the output first', { minimum: 0 })),
    multiline: optional(flag('Patterns may span lines, and . matches line ends')),
  })
  return {
    name: 'Grep',
    description:
      'Searches files with ripgrep. Hidden files are searched, what .gitignore names is not. ' +
      `Output is bounded to ${workspace.limits.searchCharacters} characters; narrow the search when it is cut.`,
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: true,
    execute: (input, context) =>
      tellingFailures({ path: input.path ?? workspace.cwd, doing: 'searched' }, async () => {
        // Loaded when used.
        const { searchFiles } = await import('./search-files.ts')
        return searchFiles(input, workspace, context)
      }),
  }
}
