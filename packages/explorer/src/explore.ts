import type { IterationReason, EndingReason, StepRecord } from '@halting/core'
import { drawPaths, explorePaths, type Path } from './choices.ts'
import { everyKill, noKill, sampledKills, thinnedKills, type Kills } from './kills.ts'
import { skimPath, walkPath } from './walk.ts'
import type { Scenario } from './world.ts'

/** What an exploration saw. */
export interface Exploration {
  readonly scenario: string
  readonly paths: number
  /** Kills, each with resume and replay. */
  readonly kills: number
  readonly terminals: { readonly [reason in EndingReason]?: number }
  readonly transitions: { readonly [transition in IterationReason]?: number }
}

export interface ExploreOptions {
  /** After which records the run is killed: after every one unless said otherwise. One in so many and `sampled` (few) are the same choice every time. */
  readonly kills?: 'all' | 'sampled' | 'none' | { readonly oneIn: number }
  /** Only the paths of this part: `number` of `of`, from 0 on. All parts together are the whole. */
  readonly part?: { readonly number: number; readonly of: number }
  /** No more paths than these, drawn from all of them: the same ones every time. In place of `part`. */
  readonly mostPaths?: number
  /** Keeps the records of a run elsewhere and reads them back: what they tell then is looked at, too. */
  readonly keep?: (records: readonly StepRecord[]) => Promise<readonly StepRecord[]>
}

/** Takes every path of a scenario. Throws at the first one that breaks a promise, and names its deviations. */
export async function explore(scenario: Scenario, options: ExploreOptions = {}): Promise<Exploration> {
  const { kills: killOption = 'all', part = { number: 0, of: 1 }, mostPaths, keep: roundTrip } = options
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
  if (mostPaths === undefined) {
    let number = 0
    // The next path is known only after this one was taken.
    await explorePaths(scenario.deviations, (path) =>
      number++ % part.of === part.number ? check(path) : skimPath(scenario, path),
    )
  } else await drawPaths(scenario.deviations, mostPaths, check)
  return { scenario: scenario.name, paths, kills, terminals: byName(terminals), transitions: byName(transitions) }
}

function killsOf(killOption: NonNullable<ExploreOptions['kills']>): Kills {
  if (typeof killOption === 'object') return thinnedKills(killOption.oneIn)
  switch (killOption) {
    case 'all':
      return everyKill
    case 'sampled':
      // Each sampling begins anew.
      return sampledKills()
    case 'none':
      return noKill
  }
}

/** In which order a path first came to them says nothing. */
function byName(counts: { readonly [name: string]: number }): { readonly [name: string]: number } {
  return Object.fromEntries(Object.entries(counts).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}
