import { turnsBegun } from '../limits/transition-rules.ts'
import { toolCallsTaken } from '../state/agent-figures.ts'
import type { HookFigures } from '../hooks/hook-figures.ts'
import type { FinishedRun } from './run-context.ts'
import { activeMs, committedUsd, type Run } from './run.ts'

/** The figures of a run that a limit may apply to. */
type LimitedFigure = 'turns' | 'toolCalls' | 'tokens' | 'usd' | 'ms'

/** How much of a limit is used. */
export interface LimitUse {
  readonly of: LimitedFigure
  readonly used: number
  /** Infinity for no limit. */
  readonly limit: number
}

type LimitedRun = Pick<Run, 'spent' | 'context' | 'identity'> & { readonly ports: Pick<Run['ports'], 'spentBeforeUsd'> }

/** Turns that were made before the next one. */
function turnsMade({ spent }: Pick<Run, 'spent'>): number {
  return turnsBegun(spent.laps) - 1
}

/**
 * How much of each limit is used. Based on the record, so that a replay reports the same. An agent reports only turns
 * and calls, since the run that started it reports its money and time.
 */
export function limitsInUse(run: LimitedRun): readonly LimitUse[] {
  const { spent, context, identity } = run
  const { maxToolCalls, maxTotalTokens, maxDurationMs, maxTurns } = context.settings
  const counted: readonly LimitUse[] = [
    { of: 'turns', used: turnsMade(run), limit: maxTurns },
    { of: 'toolCalls', used: toolCallsTaken(spent), limit: maxToolCalls },
  ]
  if (identity.depth > 0) return counted
  return [
    ...counted,
    { of: 'tokens', used: spent.totalTokens, limit: maxTotalTokens },
    dollarsInUse(run),
    { of: 'ms', used: activeMs(spent), limit: maxDurationMs },
  ]
}

/** Uses the session's budget or the run's, whichever leaves less. */
function dollarsInUse(run: LimitedRun): LimitUse {
  const { maxBudgetUsd, maxRunUsd } = run.context.settings
  const used = committedUsd(run.spent)
  const { spentBeforeUsd } = run.ports
  return isRunNarrower(run)
    ? { of: 'usd', used, limit: maxRunUsd }
    : { of: 'usd', used: spentBeforeUsd + used, limit: maxBudgetUsd }
}

/** Whether the dollar limit of the run leaves less than that of the session. */
export function isRunNarrower({ context, ports }: Pick<LimitedRun, 'context' | 'ports'>): boolean {
  const { maxBudgetUsd, maxRunUsd } = context.settings
  return maxRunUsd < maxBudgetUsd - ports.spentBeforeUsd
}

/** Never below 0: a limit may be lowered below what is used. */
export function leftOf({ used, limit }: LimitUse): number {
  return Math.max(0, limit - used)
}

/** The figures of the run so far, for hooks. */
export function hookFigures(run: LimitedRun): HookFigures {
  const { spent } = run
  const left: { [figure: string]: number } = {}
  for (const use of limitsInUse(run)) if (use.limit !== Infinity) left[use.of] = leftOf(use)
  return {
    turns: turnsMade(run),
    toolCalls: spent.toolCalls ?? 0,
    tokens: spent.totalTokens,
    usd: committedUsd(spent),
    elapsedMs: activeMs(spent),
    left,
  }
}

/** The figures of a run that has ended, for hooks. */
export function finalFigures(
  { terminal, state }: FinishedRun,
  context: LimitedRun['context'],
  ports: LimitedRun['ports'],
): HookFigures {
  const figures = hookFigures({ spent: state.spent, identity: state.run, context, ports })
  return { ...figures, turns: terminal.summary.turns }
}

// The limit on tool calls of a run, including those of its agents (spec R-CALLS-1).

/** Calls that may still be made, based on the record; Infinity for no limit. */
export function callsLeft({ context, spent }: Pick<Run, 'context' | 'spent'>): number {
  const { maxToolCalls } = context.settings
  return maxToolCalls === Infinity ? Infinity : Math.max(0, maxToolCalls - toolCallsTaken(spent))
}
