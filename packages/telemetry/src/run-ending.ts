import type { Attributes } from '@opentelemetry/api'
import type { RunResult, GuardRemaining, RunEvent } from '@halting/core'
import { limitOfResult } from '@halting/core/adapters'
import { exportedName } from './content.ts'
import { ownAttributes as own } from './names.ts'

/** Returns the attributes of an ending. The sentence is omitted if a hook or a tool may have written it. */
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

/** Returns the limit that ended the run, or the shared budget. */
function limitAttributes(terminal: RunResult): Attributes {
  const limit = limitOfResult(terminal)
  const { budget, resetsAt } = terminal.signal.context
  return {
    ...(limit !== null && { [own.limit[0]]: limit }),
    ...(typeof budget === 'string' && { [own.budget[0]]: exportedName(budget) }),
    ...(typeof resetsAt === 'string' && { [own.resetsAt[0]]: exportedName(resetsAt) }),
  }
}

/** Returns the error type; undefined for a run that did not fail. Reaching a limit and aborting are not failures. */
export function errorTypeOf({ signal, reason, error }: RunResult): string | undefined {
  const isFailure = signal.reason === 'error' || signal.reason === 'retry_limit'
  return isFailure ? (error?.code ?? reason) : undefined
}

type Figures = Extract<RunEvent, { readonly type: 'figures' }>

/** How much of each limit a run has used, according to its events. */
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

  /** Returns the used fraction of each limit, above 1 if it was exceeded. */
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
    // Events report dollars for the tighter of two limits, and no tool calls. The signal of the ending has its own
    // figures.
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

  /** The last `lap` event precedes the turn that it started. */
  #turnsAll(turns: number, left: number): number {
    return Math.max(turns, 1) + left
  }
}
