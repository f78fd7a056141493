import { whatIf, type WhatIf } from './what-if.ts'
import type { OtherLimits } from './other-limits.ts'
import type { Trajectory } from './trajectory.ts'

// The same in the terminal, in reports and on the page, which runs it in a browser.

/** Tools that only look, by the names that agents of this kind give them. Of a command it is not known. */
const looking: ReadonlySet<string> = new Set(
  (
    'Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskOutput BashOutput ToolSearch ' +
    'update_plan view_image web_search read_file list_dir grep_files'
  ).split(' '),
)

/** Whether a call may have changed something, by the name of its tool. */
export function changes({
  tool,
}: {
  /** Name of the tool. */
  readonly tool: string
}): boolean {
  return !looking.has(tool)
}

/** What other limits would have made of a run in which these models have no price: dollars stop no run of which they are not known. */
export function whatIfPriced(trajectory: Trajectory, limits: OtherLimits, unpriced: readonly string[]): WhatIf {
  const answer = whatIf(trajectory, limits, { changes })
  const isAskedInDollars = typeof limits.maxBudgetUsd === 'number' || typeof limits.maxRunUsd === 'number'
  const isKnown = unpriced.length === 0 || !isAskedInDollars || answer.verdict === 'stops'
  return isKnown ? answer : { ...answer, verdict: 'unknown', reason: null, unknownFrom: { turn: 1, why: 'unpriced' } }
}
