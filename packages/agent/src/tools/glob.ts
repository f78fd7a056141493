import { isAbsolute, join } from 'node:path'
import type { JsonObject, Tool } from '@halting/core'
import { filledText, inputForm, optional, searchAliases } from './input.ts'
import type { GlobInput } from './find-files.ts'
import { unsupportedPattern } from './search-texts.ts'
import { withErrorResults } from './error-results.ts'
import type { Workspace } from './workspace.ts'

/** Finds files by name, most recently changed first. */
export function createGlobTool(workspace: Workspace): Tool<GlobInput> {
  const { globFiles } = workspace.limits
  const form = inputForm<GlobInput>(
    'Glob',
    {
      pattern: filledText('For example src/**/*.ts. Without a slash it matches at any depth'),
      path: optional(filledText('Directory to search (default: working directory)')),
    },
    searchAliases,
  )
  return {
    name: 'Glob',
    description:
      `Finds files by glob pattern. Returns at most ${globFiles} paths, most recently changed first. ` +
      'Skips files that .gitignore excludes. To search file contents, use Grep.',
    inputSchema: form.schema,
    canonicalInput: (input) => withoutRoot(form.canonicalInput(input)),
    validate(input) {
      const check = form.validate(input)
      const isOutside =
        check.valid && (isAbsolute(check.input.pattern) || check.input.pattern.split('/').includes('..'))
      if (!isOutside) return check
      return { valid: false, message: unsupportedPattern }
    },
    readOnly: true,
    execute: (input, context) =>
      withErrorResults({ path: input.path ?? workspace.cwd, doing: 'searched' }, async () => {
        // Loaded on demand.
        const { findFiles } = await import('./find-files.ts')
        return findFiles(input, workspace, context)
      }),
  }
}

const wildcards = /[*?[\]{}!\\]/

/**
 * Handles a pattern that begins with an absolute path, `~/` or `..`: the pattern searches that directory. The
 * directory is moved to `path`, which rules judge; the other segments remain the pattern.
 */
function withoutRoot(input: JsonObject): JsonObject {
  const { pattern, path } = input
  if (typeof pattern !== 'string' || !/^(?:\/|~\/|(?:\.\/)*\.\.\/)/.test(pattern)) return input
  if (path !== undefined && typeof path !== 'string') return input
  const segments = pattern.split('/')
  const wild = segments.findIndex((segment) => wildcards.test(segment))
  const count = wild === -1 ? segments.length - 1 : wild
  const root = segments.slice(0, count).join('/')
  const rest = segments.slice(count).join('/')
  if (rest === '') return input
  const base = path === undefined || !root.startsWith('.') ? root || '/' : join(path, root)
  // Without a slash, the pattern would match at any depth.
  return { ...input, pattern: rest.includes('/') ? rest : `./${rest}`, path: base }
}
