import { lstatSync } from 'node:fs'
import { resolve } from 'node:path'
import type { ToolContext, ToolOutput } from '@halting/core'
import { toolsOfCaller } from './available-tools.ts'
import { BestNames, rankedGlob } from './ranked-names.ts'
import { errorResult } from './result.ts'
import { runRipgrep, searchNote, withoutVersionControl } from './ripgrep.ts'
import { isHidden, type Root, searchRoot } from './search-root.ts'
import {
  bracketsAsName,
  filesCut,
  ignoredFiles,
  interrupted,
  noFiles,
  noRipgrep,
  onlySameLooking,
  patternIsFolder,
  rootIsFile,
  sameLookingFiles,
  searchByBash,
  searchFailed,
  tooManyAlternatives,
  tryPattern,
} from './search-texts.ts'
import { exactPath, displayName } from './display-name.ts'
import type { Workspace } from './workspace.ts'

/** Input of the Glob tool. */
export interface GlobInput {
  /** A glob pattern, such as `*.ts`. */
  readonly pattern: string
  /** The folder to search (default: the working directory). */
  readonly path?: string
}

/** Executes Glob. */
export async function findFiles(
  { pattern, path }: GlobInput,
  workspace: Workspace,
  context: ToolContext,
): Promise<ToolOutput> {
  const { signal, rights } = context
  const root = await searchRoot(path, workspace, context)
  if (root.kind === 'refused') return errorResult(root.why)
  if (!root.isDirectory) return errorResult(rootIsFile(root.path, toolsOfCaller(rights)))
  return find(pattern, root, workspace, { signal, rights })
}

async function find(
  pattern: string,
  root: Root,
  workspace: Workspace,
  { signal, rights }: Pick<ToolContext, 'signal' | 'rights'>,
): Promise<ToolOutput> {
  const { globFiles, searchCharacters } = workspace.limits
  const glob = rankedGlob(pattern)
  if (glob === undefined) return errorResult(tooManyAlternatives)
  const names = new BestNames(glob)
  let files: string[] = []
  let characters = 0
  let rest = ''
  const list = (name: string): void => {
    const display = displayName(resolve(root.path, name), workspace.cwd)
    characters += display.length + 1
    if (files.length < globFiles && characters <= searchCharacters) files.push(display)
  }
  // Does not use ripgrep's --glob, which would include files that .gitignore excludes.
  const args = ['--files', '--null', '--sortr=modified']
  const end = await runRipgrep(
    { args: [...args, ...withoutVersionControl], cwd: root.real, signal, limitMs: workspace.limits.searchMs },
    (text) => {
      const found = (rest + text).split('\0')
      rest = found.pop() ?? ''
      for (const name of found) {
        if (glob.fitOf(name) === undefined || isHidden(name, root, workspace, rights)) continue
        const taken = names.take(name)
        if (taken === 'no') continue
        if (taken === 'restarts') {
          files = []
          characters = 0
        }
        list(name)
      }
      return 'more'
    },
  )
  if (end.kind === 'aborted') return errorResult(interrupted)
  const { lookAlikes, passedOver } = names
  const [only, ...others] = lookAlikes
  // A search that ended early may have missed another match.
  const isOnly = only !== undefined && others.length === 0 && end.kind === 'done'
  if (isOnly) list(only)
  const count = isOnly ? 1 : names.count
  if (end.kind === 'failed' && count === 0) {
    const hint = end.why === noRipgrep && toolsOfCaller(rights)('Bash') ? searchByBash : ''
    return errorResult(searchFailed('Glob', end.why) + hint)
  }
  const problem = searchNote(end, workspace.limits.searchMs)
  const details = { filenames: files, numFiles: count, truncated: count > files.length }
  if (count === 0) {
    const hints =
      lookAlikes.length === 0
        ? hintsFor(pattern, root, workspace, rights)
        : sameLookingFiles(lookAlikes.map(exactPath).join(', '))
    return { content: noFiles(pattern, root.path, hints) + problem, details }
  }
  const notes = [
    ...(count > files.length ? [filesCut(files.length, count)] : []),
    ...(passedOver > 0 ? [`[${bracketsAsName(passedOver)}]`] : []),
    ...(isOnly ? [`[${onlySameLooking(exactPath(only))}]`] : []),
  ]
  return { content: files.join('\n') + notes.map((note) => `\n\n${note}`).join('') + problem, details }
}

/** Suggests the next call if nothing matches. */
function hintsFor(pattern: string, root: Root, workspace: Workspace, rights: ToolContext['rights']): string {
  const path = root.path === workspace.cwd ? undefined : root.path
  const last = pattern.split('/').at(-1) ?? ''
  const isAnywhere = !pattern.includes('/') || pattern.startsWith('**/')
  if (isFolder(pattern, root) && !isHidden(pattern, root, workspace, rights))
    return patternIsFolder(pattern, resolve(root.path, pattern))
  return (isAnywhere || /^\**$/.test(last) ? '' : tryPattern(`**/${last}`, path)) + ignoredFiles(toolsOfCaller(rights))
}

function isFolder(name: string, { real }: Root): boolean {
  try {
    return lstatSync(resolve(real, name), { throwIfNoEntry: false })?.isDirectory() === true
  } catch {
    return false
  }
}
