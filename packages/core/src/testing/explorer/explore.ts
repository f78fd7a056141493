import type { Transition } from '../../allowance.ts'
import type { TerminalReason } from '../../stop/terminal.ts'
import { explorePaths } from './choices.ts'
import { walkPath } from './walk.ts'
import type { Scenario } from './world.ts'

/** What an exploration saw. */
export interface Exploration {
  readonly scenario: string
  readonly paths: number
  /** Kills, each with resume and replay. */
  readonly kills: number
  readonly terminals: { readonly [reason in TerminalReason]?: number }
  readonly transitions: { readonly [transition in Transition]?: number }
}

/** Goes every path of a scenario. Throws at the first that breaks a promise, with its deviations. */
export async function explore(scenario: Scenario, options: { readonly kill?: boolean } = {}): Promise<Exploration> {
  const terminals: { [reason: string]: number } = {}
  const transitions: { [transition: string]: number } = {}
  let kills = 0
  const paths = await explorePaths(scenario.deviations, async (path) => {
    try {
      const report = await walkPath(scenario, path, options.kill ?? true)
      terminals[report.terminal] = (terminals[report.terminal] ?? 0) + 1
      for (const transition of report.transitions) transitions[transition] = (transitions[transition] ?? 0) + 1
      kills += report.kills
    } catch (error) {
      throw new Error(
        `${scenario.name}, path ${path.describe()}: ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      )
    }
  })
  return { scenario: scenario.name, paths, kills, terminals, transitions }
}
