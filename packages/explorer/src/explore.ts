import type { IterationReason, EndingReason, StepRecord } from '@halting/core'
import { drawPaths, explorePaths, type Path } from './choices.ts'
import { everyKill, noKill, sampledKills, thinnedKills, type Kills } from './kills.ts'
import { skimPath, walkPath } from './walk.ts'
import type { Scenario } from './world.ts'

/** Figures of an exploration. */
export interface Exploration {
  readonly scenario: string
  readonly paths: number
  /** Number of kills, each with resume and replay. */
  readonly kills: number
  readonly terminals: { readonly [reason in EndingReason]?: number }
  readonly transitions: { readonly [transition in IterationReason]?: number }
}

export interface ExploreOptions {
  /** After which records the run is killed. Default: after every record. `oneIn` and `sampled` (few) choose the same ones every time. */
  readonly kills?: 'all' | 'sampled' | 'none' | { readonly oneIn: number }
  /** Explores only the paths of this part: `number` of `of`, from 0 on. All parts together are the whole. */
  readonly part?: { readonly number: number; readonly of: number }
  /** Explores at most this many paths, drawn from all of them, the same ones every time. Replaces `part`. */
  readonly maxPaths?: number
  /** Stores the records of a run elsewhere and reads them back; the checks apply to those, too. */
  readonly roundTrip?: (records: readonly StepRecord[]) => Promise<readonly StepRecord[]>
}

/** Explores every path of a scenario. Throws at the first path that breaks a promise, and names its deviations. */
export async function explore(scenario: Scenario, options: ExploreOptions = {}): Promise<Exploration> {
  const { kills: killOption = 'all', part = { number: 0, of: 1 }, maxPaths, roundTrip } = options
  const killed = killsOf(killOption)
  const terminals: { [reason: string]: number } = {}
  const transitions: { [transition: string]: number } = {}
  let kills = 0
  let paths = 0
  const check = async (path: Path): Promise<void> => {
    try {
      const report = await walkPath(scenario, path, killed, roundTrip)
      paths++
      terminals[report.terminal] = (terminals[report.terminal] ?? 0) + 1
      for (const transition of report.transitions) transitions[transition] = (transitions[transition] ?? 0) + 1
      kills += report.kills
    } catch (error) {
      throw new Error(
        `${scenario.name}, path ${path.describe()}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      )
    }
  }
  if (maxPaths === undefined) {
    let number = 0
    // The next path is known only after this one was taken.
    await explorePaths(scenario.deviations, (path) =>
      number++ % part.of === part.number ? check(path) : skimPath(scenario, path),
    )
  } else await drawPaths(scenario.deviations, maxPaths, check)
  return { scenario: scenario.name, paths, kills, terminals: byName(terminals), transitions: byName(transitions) }
}

function killsOf(killOption: NonNullable<ExploreOptions['kills']>): Kills {
  if (typeof killOption === 'object') return thinnedKills(killOption.oneIn)
  switch (killOption) {
    case 'all':
      return everyKill
    case 'sampled':
      // Each sampling starts afresh.
      return sampledKills()
    case 'none':
      return noKill
  }
}

/** Sorts the counts by name: the order in which paths first reached them has no meaning. */
function byName(counts: { readonly [name: string]: number }): { readonly [name: string]: number } {
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
