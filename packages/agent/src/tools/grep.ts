import type { Tool } from '@halting/core'
import { filledText, flag, inputForm, oneOf, optional, searchAliases, wholeNumber } from './input.ts'
import type { GrepInput } from './search-files.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Searches file contents with ripgrep. */
export function createGrepTool(workspace: Workspace): Tool<GrepInput> {
  const form = inputForm<GrepInput>(
    'Grep',
    {
      pattern: filledText(String.raw`ripgrep regular expression; escape literal braces: \{`),
      path: optional(filledText('File or directory (default: working directory)')),
      glob: optional(filledText('File filter, e.g. *.ts')),
      type: optional(filledText('File type, e.g. js, py')),
      output_mode: optional(
        oneOf('Paths (default), matching lines, or lines per file', ['files_with_matches', 'content', 'count']),
      ),
      '-A': optional(wholeNumber('Lines after each match', { minimum: 0 })),
      '-B': optional(wholeNumber('Lines before', { minimum: 0 })),
      '-C': optional(wholeNumber('Lines before and after', { minimum: 0 })),
      '-n': optional(flag('Line numbers (default: true)')),
      '-i': optional(flag('Ignore case')),
      head_limit: optional(wholeNumber('Maximum lines or files (default: 0, all)', { minimum: 0 })),
      offset: optional(wholeNumber('Skip this many lines or files', { minimum: 0 })),
      multiline: optional(flag('Match across lines; . matches line breaks')),
    },
    { ...searchAliases, context: '-C', include: 'glob' },
  )
  return {
    name: 'Grep',
    description:
      'Searches file contents with ripgrep, including hidden files, excluding those in .gitignore. ' +
      `Returns at most ${workspace.limits.searchCharacters} characters. -A, -B, -C and -n need output_mode content.`,
    inputSchema: form.schema,
    canonicalInput: (input) => form.canonicalInput(input),
    validate: (input) => form.validate(input),
    readOnly: true,
    execute: (input, context) =>
      withErrorResults({ path: input.path ?? workspace.cwd, doing: 'searched' }, async () => {
        // Loaded on demand.
        const { searchFiles } = await import('./search-files.ts')
        return searchFiles(input, workspace, context)
      }),
  }
}
