import { whatIf, type WhatIf } from './what-if.ts'
import type { OtherLimits } from './other-limits.ts'
import type { Trajectory } from './trajectory.ts'

// Shared by the terminal, reports and the page, which runs it in a browser.

/** Names of read-only tools in agents of this kind. A command may change something. */
const readOnlyTools: ReadonlySet<string> = new Set(
  (
    'Read Glob Grep LS NotebookRead WebFetch WebSearch TodoWrite TodoRead TaskCreate TaskUpdate TaskList TaskGet TaskOutput BashOutput ToolSearch ' +
    'update_plan view_image web_search read_file list_dir grep_files'
  ).split(' '),
)

/** Whether a call may have changed something, judged by the name of its tool. */
export function mayChange({
  tool,
}: {
  /** Name of the tool. */
  readonly tool: string
}): boolean {
  return !readOnlyTools.has(tool)
}

/** `whatIf` for a run with models without a price: dollar limits then have an unknown effect. */
export function whatIfPriced(trajectory: Trajectory, limits: OtherLimits, unpriced: readonly string[]): WhatIf {
  const answer = whatIf(trajectory, limits, { changes: mayChange })
  const isAskedInDollars = typeof limits.maxBudgetUsd === 'number' || typeof limits.maxRunUsd === 'number'
  const isKnown = unpriced.length === 0 || !isAskedInDollars || answer.verdict === 'stops'
  return isKnown ? answer : { ...answer, verdict: 'unknown', reason: null, unknownFrom: { turn: 1, why: 'unpriced' } }
}
