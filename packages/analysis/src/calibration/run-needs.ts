import { usdOf } from '@halting/core/steps'
import type { RunUse } from '../grades/graded-run.ts'
import { leastBudget } from '../what-if/least-budget.ts'
import type { Trajectory } from '../what-if/trajectory.ts'

/**
 * The least limits under which a run would have gone the same way: what it used, and more where its requests reserve more than they cost, or where a
 * subagent took more turns than the run. No dollars where a model has no price.
 */
export function runNeeds(trajectory: Trajectory, unpriced: readonly string[]): RunUse {
  const { turns, carried } = trajectory
  const own = turns.filter(({ countsAsTurn }) => countsAsTurn).length
  return {
    usd: unpriced.length > 0 ? null : usdOf(leastBudget(trajectory, 'nanos')),
    tokens: leastBudget(trajectory, 'tokens'),
    activeMs: carried.ms + turns.reduce((latest, { endMs }) => Math.max(latest, endMs), 0),
    turns: turns.reduce((most, { agentTurns }) => Math.max(most, agentTurns), carried.turns + own),
  }
}
