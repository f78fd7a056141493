import type { ToolContext } from '@halting/core'
import { hasCounterparts } from '@halting/policy/files'
import { BestNames, globOfPath, rankedGlob } from './ranked-names.ts'
import { runRipgrep, withoutVersionControl } from './ripgrep.ts'
import { isHidden, type Root } from './search-root.ts'
import { bracketsAsName, globNote, globSameLooking, noNameFitsGlob } from './search-texts.ts'
import { exactPath } from './shown-name.ts'
import type { Workspace } from './workspace.ts'

/** The globs that ripgrep is given, and what the model is told of how its own was read. */
export interface ChosenGlobs {
  readonly globs: readonly string[]
  readonly note: string
}

/**
 * How the glob of a search is read where it can be read in several ways: brackets may be part of a name, and a name may have characters that look the
 * same. The names that are there decide, as for Glob.
 */
export async function chosenGlobs(
  glob: string | undefined,
  root: Root,
  workspace: Workspace,
  { signal, rights }: Pick<ToolContext, 'signal' | 'rights'>,
): Promise<ChosenGlobs> {
  if (glob === undefined) return { globs: [], note: '' }
  const asWritten = { globs: [glob], note: '' }
  const isNegated = glob.startsWith('!')
  const ranked = rankedGlob(isNegated ? glob.slice(1) : glob)
  if (ranked === undefined || !root.isDirectory) return asWritten
  const { readings } = ranked
  if (readings.length === 1 && !hasCounterparts(glob)) return asWritten
  // To leave out too much of what was named is what was asked for.
  if (isNegated) return { globs: readings.map((reading) => `!${reading}`), note: '' }
  const names = new BestNames(ranked)
  let rest = ''
  const args = ['--files', '--null', ...withoutVersionControl]
  const end = await runRipgrep({ args, cwd: root.real, signal, limitMs: workspace.limits.searchMs }, (text) => {
    const found = (rest + text).split('\0')
    rest = found.pop() ?? ''
    for (const name of found)
      if (ranked.fitOf(name) !== undefined && !isHidden(name, root, workspace, rights)) names.take(name)
    return 'more'
  })
  const { best, passedOver, lookAlikes } = names
  if (end.kind !== 'done') return { globs: readings, note: '' }
  if (best !== undefined)
    return { globs: [best], note: passedOver > 0 ? `\n\n${globNote(bracketsAsName(passedOver))}` : '' }
  const [only, ...others] = lookAlikes
  if (only === undefined) return asWritten
  const shown = lookAlikes.map(exactPath).join(', ')
  return others.length > 0
    ? { globs: [glob], note: `\n\n${noNameFitsGlob(shown)}` }
    : { globs: [globOfPath(only)], note: `\n\n${globSameLooking(shown)}` }
}
