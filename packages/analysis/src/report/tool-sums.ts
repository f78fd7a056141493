import type { CallOutcome, PastRequest } from '../account/recorded-work.ts'
import type { ToolFigures } from '../account/tools.ts'
import type { ToolRow } from './report-model.ts'

interface ToolTally {
  calls: number
  failed: number
  denied: number
  invalid: number
  cut: number
  ms: number
  tokens: number
  nanos: number
  worst: number
  resultCharacters: number
}

/** Totals of tool calls over many runs. */
export class ToolSums {
  readonly #rows = new Map<string | null, ToolTally>()

  add(figures: readonly ToolFigures[], calls: readonly CallOutcome[]): void {
    for (const { tool, ms, tokens, costUsd, unknownUsd, resultCharacters } of figures) {
      const row = this.#of(tool)
      row.ms += ms
      row.tokens += tokens
      row.nanos += Math.round(costUsd * 1e9)
      row.worst += Math.round(unknownUsd * 1e9)
      row.resultCharacters += resultCharacters
    }
    for (const { tool, status } of calls) {
      const row = this.#of(tool)
      row.calls++
      if (status === 'failed' || status === 'denied' || status === 'invalid') row[status]++
      else if (status !== 'done') row.cut++
    }
  }

  #of(tool: string | null): ToolTally {
    let row = this.#rows.get(tool)
    if (row === undefined) {
      row = {
        calls: 0,
        failed: 0,
        denied: 0,
        invalid: 0,
        cut: 0,
        ms: 0,
        tokens: 0,
        nanos: 0,
        worst: 0,
        resultCharacters: 0,
      }
      this.#rows.set(tool, row)
    }
    return row
  }

  /** Rows, the most called first. */
  get rows(): readonly ToolRow[] {
    return [...this.#rows]
      .map(([tool, { nanos, worst, ...row }]) => ({ tool, ...row, costUsd: nanos / 1e9, unknownUsd: worst / 1e9 }))
      .toSorted((a, b) => b.calls - a.calls || b.costUsd + b.unknownUsd - a.costUsd - a.unknownUsd)
  }
}

/** Counts failed attempts by kind, retried requests, and attempts whose usage was never reported. */
export class ServiceSums {
  retried = 0
  withoutUsage = 0
  unreported = 0
  readonly #failures = new Map<string, { attempts: number; nanos: number; worst: number }>()

  add(requests: readonly PastRequest[]): void {
    const attempts = new Map<string, number>()
    for (const { scope, name, failure, outcome: came, nanos, isAtWorst } of requests) {
      const request = `${scope}|${name}`
      attempts.set(request, (attempts.get(request) ?? 0) + 1)
      if (isAtWorst) this.withoutUsage++
      if (isAtWorst && came === 'answered') this.unreported++
      if (came !== 'failed') continue
      const kind = failure ?? 'unknown'
      const row = this.#failures.get(kind) ?? { attempts: 0, nanos: 0, worst: 0 }
      this.#failures.set(kind, row)
      row.attempts++
      row[isAtWorst ? 'worst' : 'nanos'] += nanos
    }
    for (const count of attempts.values()) if (count > 1) this.retried++
  }

  get failures(): readonly {
    readonly kind: string
    readonly attempts: number
    readonly costUsd: number
    readonly unknownUsd: number
  }[] {
    return [...this.#failures]
      .map(([kind, { attempts, nanos, worst }]) => ({ kind, attempts, costUsd: nanos / 1e9, unknownUsd: worst / 1e9 }))
      .toSorted((a, b) => b.attempts - a.attempts)
  }
}
