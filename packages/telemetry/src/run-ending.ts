import type { Attributes } from '@opentelemetry/api'
import type { RunResult, GuardRemaining, RunEvent } from '@halting/core'
import { limitOfResult } from '@halting/core/adapters'
import { exportedName } from './content.ts'
import { ownAttributes as own } from './names.ts'

/** What is told of how a run ended. Its sentence is left out where a hook or a tool may have written it. */
export function endingAttributes(terminal: RunResult, sentence: string | undefined): Attributes {
  const { reason, signal, summary, costUsd, committedUsd, totalTokens, durationMs } = terminal
  return {
    [own.reason[0]]: reason,
    [own.category[0]]: signal.reason,
    ...(sentence !== undefined && { [own.message[0]]: sentence }),
    [own.costUsd[0]]: costUsd,
    [own.committedUsd[0]]: committedUsd,
    [own.tokens[0]]: totalTokens,
    [own.turns[0]]: summary.turns,
    [own.requests[0]]: summary.requests,
    [own.activeMs[0]]: durationMs,
    ...limitAttributes(terminal),
  }
}

/** The limit of the run that ended it, or the budget that it shared with others. */
function limitAttributes(terminal: RunResult): Attributes {
  const limit = limitOfResult(terminal)
  const { budget, resetsAt } = terminal.signal.context
  return {
    ...(limit !== null && { [own.limit[0]]: limit }),
    ...(typeof budget === 'string' && { [own.budget[0]]: exportedName(budget) }),
    ...(typeof resetsAt === 'string' && { [own.resetsAt[0]]: exportedName(resetsAt) }),
  }
}

/** Undefined for a run that did not fail. That a limit was reached, or that it was aborted, is no failure. */
export function errorTypeOf({ signal, reason, error }: RunResult): string | undefined {
  const isFailure = signal.reason === 'error' || signal.reason === 'retry_limit'
  return isFailure ? (error?.code ?? reason) : undefined
}

type Figures = Extract<RunEvent, { readonly type: 'figures' }>

/** How full each limit of a run is, as far as its events say it. */
export class LimitsUsed {
  #turnsLeft: number | null = null
  #figures: Figures | undefined
  #guards: readonly GuardRemaining[] = []
  #maxGoalTries = 0

  observe(event: RunEvent): void {
    if (event.type === 'figures') this.#figures = event
    else if (event.type === 'guards') this.#guards = event.remaining
    else if (event.type === 'goal_end') this.#maxGoalTries = event.maxTries
    else if (event.type === 'lap') this.#turnsLeft = event.left.next_turn
  }

  /** The part that was used, by limit: 0 to 1, and above it where a limit was overshot. */
  atEnd(terminal: RunResult): ReadonlyMap<string, number> {
    const { summary, committedUsd, totalTokens, durationMs, goal, signal } = terminal
    const used = new Map<string, number>()
    const put = (limit: string, part: number, all: number): void => {
      if (all > 0 && Number.isFinite(part) && Number.isFinite(all)) used.set(limit, part / all)
    }
    if (this.#turnsLeft !== null) put('maxTurns', summary.turns, this.#turnsAll(summary.turns, this.#turnsLeft))
    if (this.#figures !== undefined) {
      const { settledUsd, reservedUsd, leftUsd, settledTokens, reservedTokens, leftTokens, usedMs, leftMs } =
        this.#figures
      if (leftUsd !== null) put('maxBudgetUsd', committedUsd, settledUsd + reservedUsd + leftUsd)
      if (leftTokens !== null) put('maxTotalTokens', totalTokens, settledTokens + reservedTokens + leftTokens)
      if (leftMs !== null) put('maxDurationMs', durationMs, usedMs + leftMs)
    }
    // What the events say of dollars is the narrower of two limits, and of tool calls nothing: the signal of the ending has its own figures.
    const ended = limitOfResult(terminal)
    if (ended === 'maxRunUsd' || ended === 'maxToolCalls') {
      if (ended === 'maxRunUsd') used.delete('maxBudgetUsd')
      put(ended, Number(signal.context['used']), Number(signal.context['limit']))
    }
    if (goal !== undefined) put('maxGoalTries', goal.tries, this.#maxGoalTries)
    const now = { turns: summary.turns, usd: committedUsd, tokens: totalTokens, ms: durationMs } as const
    for (const { guard, used: before, limit, unit } of this.#guards) {
      const figure = unit === 'repeats' || unit === 'condition' ? before : Math.max(before, now[unit])
      put(guard, figure, limit)
    }
    return used
  }

  /** The last lap was told before the turn that it began. */
  #turnsAll(turns: number, left: number): number {
    return Math.max(turns, 1) + left
  }
}
