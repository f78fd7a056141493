import { resolve } from 'node:path'
import type { ToolContext, ToolOutput } from '@halting/core'
import { bracesExpanded, fitsPath, globPattern } from '../glob-pattern.ts'
import { failed } from './result.ts'
import { runRipgrep, searchNote, withoutVersionControl } from './ripgrep.ts'
import { isHidden, type Root, searchRoot } from './search-root.ts'
import { shownName } from './shown-name.ts'
import type { Workspace } from './workspace.ts'

export interface GlobInput {
  readonly pattern: string
  readonly path?: string
}

/** The work of Glob. */
export async function findFiles(
  { pattern, path }: GlobInput,
  workspace: Workspace,
  context: ToolContext,
): Promise<ToolOutput> {
  const { signal, rights } = context
  const root = await searchRoot(path, workspace, context)
  if (root.kind === 'refused') return failed(root.why)
  if (!root.isDirectory) return failed(`${root.path} is a file. path must be a directory.`)
  return find(pattern, root, workspace, { signal, rights })
}

/** Tells whether a path relative to the root fits; undefined when the pattern has too many alternatives. */
function matcherOf(pattern: string): ((name: string) => boolean) | undefined {
  const alternatives = bracesExpanded(pattern)?.map((alternative) => {
    const isAnywhere = !alternative.replace(/^\.\//, '').includes('/')
    return globPattern(isAnywhere ? `**/${alternative}` : alternative)
  })
  if (alternatives === undefined) return undefined
  return (name) => {
    const segments = name.split('/')
    return alternatives.some((alternative) => fitsPath(alternative, segments))
  }
}

async function find(
  pattern: string,
  root: Root,
  workspace: Workspace,
  { signal, rights }: Pick<ToolContext, 'signal' | 'rights'>,
): Promise<ToolOutput> {
  const { globFiles, searchCharacters } = workspace.limits
  const isMatch = matcherOf(pattern)
  if (isMatch === undefined)
    return failed('Glob: the pattern has too many alternatives in braces. Use several patterns.')
  const files: string[] = []
  let count = 0
  let characters = 0
  let rest = ''
  // Not by ripgrep's --glob, which would bring back what .gitignore leaves out.
  const args = ['--files', '--null', '--sortr=modified']
  const end = await runRipgrep(
    { args: [...args, ...withoutVersionControl], cwd: root.real, signal, limitMs: workspace.limits.searchMs },
    (text) => {
      const names = (rest + text).split('\0')
      rest = names.pop() ?? ''
      for (const name of names) {
        if (!isMatch(name)) continue
        if (isHidden(name, root, workspace, rights)) continue
        count += 1
        const shown = shownName(resolve(root.path, name), workspace.cwd)
        characters += shown.length + 1
        if (files.length < globFiles && characters <= searchCharacters) files.push(shown)
      }
      return 'more'
    },
  )
  if (end.kind === 'aborted') return failed('Interrupted before the search was done.')
  if (end.kind === 'failed' && count === 0) return failed(`Glob failed: ${end.why}`)
  const problem = searchNote(end, workspace.limits.searchMs)
  const details = { filenames: files, numFiles: count, truncated: count > files.length }
  if (count === 0) return { content: `No file below ${root.path} matches ${pattern}.${problem}`, details }
  const note =
    count > files.length
      ? `\n\n[${files.length} of ${count} files, the ones changed last. Narrow the pattern to see others.]`
      : ''
  return { content: files.join('\n') + note + problem, details }
}
