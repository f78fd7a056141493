import { figuresIn, innermostEvent, noFigures, type HookFigures } from '@halting/core/adapters'
import { countedRuns, type EndedRun, foldRun, type FoldedSession, usdOf } from '@halting/core/steps'
import type { RunEvent, RunResult } from '@halting/core'

/** Usage of a session, without the remaining limits. */
type Used = Omit<HookFigures, 'left'>

/**
 * The cost limit of a session in US dollars (null: none), and its cost so far if it is counted, including stages after
 * its runs.
 */
export interface SessionSpending {
  readonly maxBudgetUsd: number | null
  readonly costUsd: number
}

interface SessionTotalsOptions {
  readonly spending: () => SessionSpending
}

// Spec R-LIM-51.
/** The usage of a session's runs so far, for hooks that are not about one run. */
export class SessionTotals {
  readonly #options: SessionTotalsOptions
  /** Usage of runs that ended before the last run. */
  #ended: Used = noFigures
  /** The next run may continue its counters. */
  #last: { readonly runId: string | undefined; readonly used: Used } | undefined
  /** The current run. */
  #run: { readonly runId: string; readonly used: Used } | undefined
  /** The session as earlier processes left it; undefined until it is read. */
  #before: FoldedSession | undefined

  constructor(options: SessionTotalsOptions) {
    this.#options = options
  }

  /** Sets the state of the session that earlier processes left, before the first event. */
  begin(before: FoldedSession | undefined): void {
    this.#before = before
  }

  onEvent(event: RunEvent): void {
    this.#read()
    if (event.type === 'run_start') {
      const { runId, continues } = event.run
      const carried = continues !== undefined && this.#last?.runId === continues ? this.#last.used : undefined
      if (carried !== undefined) this.#last = undefined
      // A run that another process left open has already used something.
      if (this.#run?.runId !== runId) this.#run = { runId, used: carried ?? noFigures }
    }
    if (event.type === 'run_end') this.#end(this.#run?.runId, usedBy(event.terminal, this.#run?.used.toolCalls ?? 0))
    else if (this.#run !== undefined) {
      const used = usedWith(this.#run.used, event)
      if (used !== this.#run.used) this.#run = { ...this.#run, used }
    }
  }

  /** Adds a finished run that emits no events. */
  ended(terminal: RunResult, { toolCalls }: HookFigures): void {
    this.#read()
    this.#end(undefined, usedBy(terminal, toolCalls))
  }

  /** @param run Usage of the current run, if the caller has more recent figures. */
  figures(run?: HookFigures): HookFigures {
    this.#read()
    const sum = [this.#ended, this.#last?.used, run ?? this.#run?.used].reduce<Used>(plus, noFigures)
    const { maxBudgetUsd, costUsd } = this.#options.spending()
    const usd = Math.max(sum.usd, costUsd)
    const isLimited = maxBudgetUsd !== null && maxBudgetUsd !== Infinity
    return { ...usedOf(sum), usd, left: isLimited ? { usd: Math.max(0, maxBudgetUsd - usd) } : {} }
  }

  #end(runId: string | undefined, used: Used): void {
    if (this.#last !== undefined) this.#ended = plus(this.#ended, this.#last.used)
    this.#last = { runId, used }
    this.#run = undefined
  }

  /** Deferred until needed: most hooks belong to one run. */
  #read(): void {
    const before = this.#before
    if (before === undefined) return
    this.#before = undefined
    for (const run of countedRuns(before)) this.#end(run.runId, usedByRecorded(run))
    const open = before.open === undefined ? undefined : foldRun(before.open)
    if (open?.kind !== 'open') return
    const { run, spent } = open.state
    const { turns, toolCalls = 0, totalTokens, nanos, unknownNanos, now, startedAt } = spent
    this.#run = {
      runId: run.runId,
      used: {
        turns,
        toolCalls,
        tokens: totalTokens,
        usd: usdOf(nanos + unknownNanos),
        elapsedMs: now - startedAt,
      },
    }
  }
}

function usedByRecorded({ terminal, spent }: EndedRun): Used {
  return usedBy(terminal, spent.toolCalls ?? 0)
}

function usedBy({ summary, totalTokens, committedUsd, durationMs }: RunResult, toolCalls: number): Used {
  return { turns: summary.turns, toolCalls, tokens: totalTokens, usd: committedUsd, elapsedMs: durationMs }
}

function usedWith(used: Used, event: RunEvent): Used {
  const reported = figuresIn(event)?.figures
  if (reported !== undefined)
    return { ...used, tokens: reported.settledTokens, usd: reported.settledUsd, elapsedMs: reported.usedMs }
  if (event.type === 'turn_start') return { ...used, turns: Math.max(0, event.turn - 1) }
  return innermostEvent(event).type === 'tool_start' ? { ...used, toolCalls: used.toolCalls + 1 } : used
}

function plus(one: Used, other: Used | undefined): Used {
  if (other === undefined) return one
  return {
    turns: one.turns + other.turns,
    toolCalls: one.toolCalls + other.toolCalls,
    tokens: one.tokens + other.tokens,
    usd: one.usd + other.usd,
    elapsedMs: one.elapsedMs + other.elapsedMs,
  }
}

function usedOf({ turns, toolCalls, tokens, usd, elapsedMs }: Used): Used {
  return { turns, toolCalls, tokens, usd, elapsedMs }
}
