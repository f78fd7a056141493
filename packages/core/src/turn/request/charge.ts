import type { Amount } from '../../budget/ledger.ts'
import { nanosOf } from '../../budget/prices.ts'
import { addUsage, totalTokensOf, type Usage } from '../../messages.ts'
import type { Model } from '../../model/model.ts'
import { withModelUsage, type RunProgress } from '../../state.ts'
import type { Run } from '../run.ts'
import type { Grant, RequestBounds } from './reserve.ts'

/** What one attempt was charged, as recorded. `known: false`: at worst case, since nobody said what it was. */
export type Charge = {
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  readonly known: boolean
  readonly usage: Usage | null
}

export function worstCase({ context }: Run, model: Model, inputTokens: number, outputTokens: number): Amount {
  const serverToolUses = model.maxServerToolUses ?? 0
  const usd = context.prices.worstCase(model.id, { inputTokens, outputTokens, serverToolUses }) ?? 0
  return { nanos: nanosOf(usd), tokens: inputTokens + outputTokens }
}

export function chargeFor({ context }: Run, model: Model, usage: Usage): Charge {
  const usd = context.prices.cost(model.id, usage) ?? 0
  return { model: model.id, nanos: nanosOf(usd), tokens: totalTokensOf(usage), known: true, usage }
}

/** For an attempt that was aborted, dropped or lost: what was taken aside, or the worst case where nothing had to be. */
export function unknownCharge(run: Run, bounds: RequestBounds, grant: Grant): Charge {
  const worst = grant.tokens > 0 ? grant : unreservedWorstCase(run, bounds, grant)
  return { model: grant.model, nanos: worst.nanos, tokens: worst.tokens, known: false, usage: null }
}

/** Only a run without a limit may use the service's own tools without end; its figures are to stay numbers. */
function unreservedWorstCase(run: Run, { model, inputBound }: RequestBounds, { maxTokens }: Grant): Amount {
  const bounded = model.maxServerToolUses === Infinity ? { ...model, maxServerToolUses: 0 } : model
  return worstCase(run, bounded, inputBound(bounded), maxTokens)
}

export function noCharge(model: Model): Charge {
  return { model: model.id, nanos: 0, tokens: 0, known: true, usage: null }
}

/** What a charge adds to the run's figures. `usage` is that of the run's own turns: a compaction's is not in it. */
export function chargeOf(spent: RunProgress, charge: Charge, of: 'turn' | 'compaction'): Partial<RunProgress> {
  const totalTokens = spent.totalTokens + charge.tokens
  if (charge.usage === null) return { totalTokens, unknownNanos: spent.unknownNanos + charge.nanos }
  return {
    usage: of === 'turn' ? addUsage(spent.usage, charge.usage) : spent.usage,
    modelUsage: withModelUsage(spent.modelUsage, charge.model, charge.usage, charge.nanos),
    totalTokens,
    nanos: spent.nanos + charge.nanos,
  }
}
