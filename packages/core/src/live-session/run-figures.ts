import type { RunEvent } from '../state/events.ts'
import type { RunResult } from '../endings/run-result.ts'
import { figuresIn, innermostEvent } from '../state/event-figures.ts'
import { spendsTurn } from '../limits/transition-rules.ts'
import type { LeftOfRun } from './next-stop.ts'
import type { LimitsInForce, SessionFigures } from './session.ts'

type FiguresEvent = Extract<RunEvent, { readonly type: 'figures' }>

/** Figures at the start of a turn. */
type Mark = { readonly usd: number; readonly tokens: number; readonly ms: number }

/** Number of turns whose mean estimates the next turn. */
const turnsInMean = 5

const noFigures: Omit<SessionFigures, 'sessionUsd'> = {
  turns: 0,
  toolCalls: 0,
  settledUsd: 0,
  unknownUsd: 0,
  reservedUsd: 0,
  leftUsd: null,
  settledTokens: 0,
  reservedTokens: 0,
  leftTokens: null,
  waitingRequests: 0,
  contextTokens: 0,
  contextWindow: null,
  compactsAt: null,
  usedMs: 0,
  leftMs: null,
}

function searchesIn({ modelUsage }: RunResult['summary']): number {
  return Object.values(modelUsage).reduce(
    (sum, { usage }) => sum + (usage.server_tool_use?.web_search_requests ?? 0),
    0,
  )
}

/** The figures of a session, from the events of its runs. The loop reports their parts; nothing is counted twice. */
export class RunFigures {
  #figures: Omit<SessionFigures, 'sessionUsd'>
  #limits: LimitsInForce
  #marks: readonly Mark[] = []
  #repeats: number | null = null

  constructor(limits: LimitsInForce, contextWindow: number | null) {
    this.#limits = limits
    this.#figures = { ...noFigures, contextWindow }
  }

  /** Called when a run starts. The window usage is not reset. `sessionUsd`: spent before the run. */
  begin(limits: LimitsInForce, sessionUsd: number): void {
    const { contextTokens, contextWindow, compactsAt } = this.#figures
    this.#marks = []
    this.#repeats = null
    this.#figures = { ...noFigures, contextTokens, contextWindow, compactsAt }
    this.limit(limits, sessionUsd)
  }

  /** The run has ended: the figures of its result replace the earlier ones. */
  end({ summary, committedUsd, costUsd, totalTokens, durationMs }: RunResult): void {
    const { leftUsd, leftTokens, reservedUsd, reservedTokens } = this.#figures
    const { maxDurationMs } = this.#limits
    const webSearches = searchesIn(summary)
    this.#figures = {
      ...this.#figures,
      ...(webSearches > 0 && { webSearches }),
      turns: summary.turns,
      settledUsd: committedUsd,
      unknownUsd: committedUsd - costUsd,
      reservedUsd: 0,
      leftUsd: leftUsd === null ? null : leftUsd + reservedUsd,
      settledTokens: totalTokens,
      reservedTokens: 0,
      waitingRequests: 0,
      leftTokens: leftTokens === null ? null : leftTokens + reservedTokens,
      usedMs: durationMs,
      leftMs: leftOf(maxDurationMs, durationMs),
    }
  }

  /** Called when the limits changed. The next request reports what they leave; until then it is calculated here. `sessionUsd`: excluding this run. */
  limit(limits: LimitsInForce, sessionUsd: number): void {
    const { settledUsd, reservedUsd, settledTokens, reservedTokens, usedMs } = this.#figures
    this.#limits = limits
    this.#figures = {
      ...this.#figures,
      leftUsd: smallerLimit(
        leftOf(limits.maxBudgetUsd, sessionUsd + settledUsd + reservedUsd),
        leftOf(limits.maxRunUsd, settledUsd + reservedUsd),
      ),
      leftTokens: leftOf(limits.maxTotalTokens, settledTokens + reservedTokens),
      leftMs: leftOf(limits.maxDurationMs, usedMs),
    }
  }

  /** The conversation was replaced: the window usage is unknown until the next request. */
  forgetContext(): void {
    this.#figures = { ...this.#figures, contextTokens: 0 }
  }

  /** Processes an event and returns whether the figures changed. */
  onEvent(event: RunEvent): boolean {
    const reported = figuresIn(event)
    if (reported !== undefined) {
      const { contextTokens, contextWindow } = reported.isOwn ? reported.figures : this.#figures
      // Calls are counted when they start. A continued run also reports earlier calls.
      const toolCalls = Math.max(this.#figures.toolCalls, reported.figures.toolCalls ?? 0)
      this.#figures = { ...this.#figures, ...figuresOf(reported.figures), contextTokens, contextWindow, toolCalls }
      return true
    }
    const { toolCalls } = this.#figures
    switch (event.type) {
      case 'agent':
      case 'tool_start': {
        if (innermostEvent(event).type !== 'tool_start') return false
        this.#figures = { ...this.#figures, toolCalls: toolCalls + 1 }
        return true
      }
      case 'context': {
        const { compaction } = event.figures.thresholds
        this.#figures = { ...this.#figures, compactsAt: Number.isFinite(compaction) ? compaction : null }
        return true
      }
      case 'message': {
        if (event.entry.kind !== 'compact_boundary') return false
        // Updates the window usage now, instead of with the next request.
        const { preTokens, postTokens } = event.entry
        const contextTokens = Math.max(postTokens, this.#figures.contextTokens - preTokens + postTokens)
        this.#figures = { ...this.#figures, contextTokens }
        return true
      }
      case 'turn_start': {
        const { settledUsd: usd, settledTokens: tokens, usedMs: ms } = this.#figures
        this.#marks = [...this.#marks, { usd, tokens, ms }].slice(-turnsInMean - 1)
        if (this.#figures.turns === 0) this.#figures = { ...this.#figures, turns: Math.max(1, event.turn) }
        return true
      }
      case 'lap': {
        const { maxTurns } = this.#limits
        const [left] = event.after
        const isTurn = spendsTurn(event.transition)
        const turns =
          maxTurns !== null && Number.isFinite(left) ? maxTurns - left : this.#figures.turns + Number(isTurn)
        this.#figures = { ...this.#figures, turns }
        return true
      }
      case 'guards': {
        const near = event.remaining.find(({ unit }) => unit === 'repeats')
        // The first occurrence is not a repetition.
        this.#repeats = near === undefined || near.used < 2 ? null : near.limit - near.used
        return true
      }
      default:
        return false
    }
  }

  /** `sessionUsd`: including everything spent. */
  figures(sessionUsd: number): SessionFigures {
    const left = leftOf(this.#limits.maxBudgetUsd, sessionUsd)
    const { leftUsd } = this.#figures
    // Stages after a run also spend money, but report no figures.
    return {
      ...this.#figures,
      leftUsd: leftUsd === null || left === null ? leftUsd : Math.min(leftUsd, left),
      sessionUsd,
    }
  }

  get turns(): number {
    return this.#figures.turns
  }

  /** US dollars that were charged and reported by the service. */
  get knownUsd(): number {
    return this.#figures.settledUsd - this.#figures.unknownUsd
  }

  get left(): LeftOfRun {
    const { turns, leftUsd, leftTokens, leftMs } = this.#figures
    const { maxTurns } = this.#limits
    return {
      turns: maxTurns === null ? null : maxTurns - turns,
      usd: leftUsd,
      tokens: leftTokens,
      ms: leftMs,
      repeats: this.#repeats,
      perTurn: this.#perTurn(),
    }
  }

  #perTurn(): LeftOfRun['perTurn'] {
    const [first] = this.#marks
    const last = this.#marks.at(-1)
    const turns = this.#marks.length - 1
    if (first === undefined || last === undefined || turns < 1) return null
    return {
      usd: (last.usd - first.usd) / turns,
      tokens: (last.tokens - first.tokens) / turns,
      ms: (last.ms - first.ms) / turns,
    }
  }
}

function figuresOf({ type: _, toolCalls: __, ...figures }: FiguresEvent): Omit<FiguresEvent, 'type' | 'toolCalls'> {
  return figures
}

function leftOf(limit: number | null, used: number): number | null {
  return limit === null ? null : Math.max(0, limit - used)
}

/** The smaller of two remaining amounts; null if there is no limit. */
function smallerLimit(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}
