import { addUsage, noUsage, totalTokensOf } from '@halting/core/adapters'
import type { Usage } from '@halting/core'
import type { PastRequest } from '../account/recorded-work.ts'
import type { ModelRow, Spent, SpentRow } from './report-model.ts'

// Money is summed in integer nano-dollars, so that all breakdowns add up exactly.

/** Cost of requests. `tokens` and `nanos` were reported; `unknownTokens` and `worst` were not, and are charged at worst case. */
export interface Paid {
  readonly requests: number
  readonly tokens: number
  readonly unknownTokens: number
  readonly nanos: number
  readonly worst: number
}

/** Totals of some runs. */
export class Sum {
  readonly sessions: Set<string> = new Set()
  runs = 0
  turns = 0
  requests = 0
  tokens = 0
  unknownTokens = 0
  nanos = 0
  worst = 0
  activeMs = 0

  addRun(session: string, turns: number, activeMs: number): void {
    this.sessions.add(session)
    this.runs++
    this.turns += turns
    this.activeMs += activeMs
  }

  pay({ requests, tokens, unknownTokens, nanos, worst }: Paid): void {
    this.requests += requests
    this.tokens += tokens
    this.unknownTokens += unknownTokens
    this.nanos += nanos
    this.worst += worst
  }

  get spent(): Spent {
    const { runs, turns, requests, tokens, unknownTokens, activeMs } = this
    const cost = { costUsd: this.nanos / 1e9, unknownUsd: this.worst / 1e9 }
    return { runs, turns, requests, tokens, unknownTokens, ...cost, activeMs }
  }
}

/** Totals by name: of days, folders, programs or endings. */
export class SumsBy {
  readonly #sums = new Map<string, Sum>()

  of(name: string): Sum {
    let sum = this.#sums.get(name)
    if (sum === undefined) this.#sums.set(name, (sum = new Sum()))
    return sum
  }

  get entries(): readonly (readonly [name: string, sum: Sum])[] {
    return [...this.#sums]
  }

  /** Rows, the most expensive first. */
  get rows(): readonly SpentRow[] {
    return this.entries
      .map(([name, sum]) => ({ name, sessions: sum.sessions.size, ...sum.spent }))
      .toSorted((a, b) => b.costUsd - a.costUsd || b.tokens - a.tokens || a.name.localeCompare(b.name))
  }
}

/** Cost of the requests of a run. An open request counts with its worst case, but not as an attempt. */
export function paidFor(requests: readonly PastRequest[]): Paid {
  let [count, tokens, unknownTokens, nanos, worst] = [0, 0, 0, 0, 0]
  for (const request of requests) {
    if (request.outcome !== 'open') count++
    if (request.isAtWorst) {
      unknownTokens += request.tokens
      worst += request.nanos
    } else {
      tokens += request.tokens
      nanos += request.nanos
    }
  }
  return { requests: count, tokens, unknownTokens, nanos, worst }
}

interface ModelSum {
  requests: number
  failed: number
  tokens: number
  unknownTokens: number
  usage: Usage
  nanos: number
  worst: number
  ms: number
}

/** Totals by the model that was paid, including models that a service used on its own. */
export class SumsByModel {
  readonly #sums = new Map<string, ModelSum>()
  usage: Usage = noUsage

  add({ model, outcome: came, tokens, nanos, isAtWorst, usage, others, durationMs }: PastRequest): void {
    const sum = this.#of(model)
    let [own, ownTokens] = [nanos, tokens]
    for (const other of others) {
      const otherTokens = totalTokensOf(other.usage)
      const part = { tokens: otherTokens, unknownTokens: 0, nanos: isAtWorst ? 0 : other.nanos, worst: 0 }
      this.addOther(other.model, part, other.usage)
      own -= part.nanos
      ownTokens -= otherTokens
    }
    sum.ms += durationMs
    if (isAtWorst) sum.worst += own
    else sum.nanos += own
    sum[isAtWorst ? 'unknownTokens' : 'tokens'] += ownTokens
    if (came === 'open') return
    sum.requests++
    if (came === 'failed') sum.failed++
    sum.usage = addUsage(sum.usage, usage)
    this.usage = addUsage(this.usage, usage)
  }

  /** Adds cost without a recorded request: of a model that a service used on its own, or of a stage after a run. */
  addOther(model: string, { tokens, unknownTokens, nanos, worst }: Omit<Paid, 'requests'>, usage: Usage): void {
    const sum = this.#of(model)
    sum.tokens += tokens
    sum.unknownTokens += unknownTokens
    sum.nanos += nanos
    sum.worst += worst
    sum.usage = addUsage(sum.usage, usage)
    this.usage = addUsage(this.usage, usage)
  }

  #of(model: string): ModelSum {
    let sum = this.#sums.get(model)
    if (sum === undefined) {
      sum = { requests: 0, failed: 0, tokens: 0, unknownTokens: 0, usage: noUsage, nanos: 0, worst: 0, ms: 0 }
      this.#sums.set(model, sum)
    }
    return sum
  }

  /** Rows, the most expensive first. */
  get rows(): readonly ModelRow[] {
    return [...this.#sums]
      .map(([model, { requests, failed, tokens, unknownTokens, usage, nanos, worst, ms }]) => {
        const { input_tokens: input, output_tokens: output } = usage
        const { cache_read_input_tokens: cacheRead, cache_creation_input_tokens: cacheWrite } = usage
        const paid = { costUsd: nanos / 1e9, unknownUsd: worst / 1e9 }
        const searches = usage.server_tool_use?.web_search_requests ?? 0
        const searched = searches > 0 && { searches }
        return {
          model,
          requests,
          failed,
          tokens,
          unknownTokens,
          input,
          cacheRead,
          cacheWrite,
          output,
          ...paid,
          ms,
          ...searched,
        }
      })
      .toSorted((a, b) => b.costUsd - a.costUsd || b.tokens - a.tokens || a.model.localeCompare(b.model))
  }
}
