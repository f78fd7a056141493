import type { Amount } from '../../budget/ledger.ts'
import { askPrices, nanosOf } from '../../budget/prices.ts'
import { HaltingError } from '../../errors.ts'
import { addUsage, totalTokensOf, type Usage } from '../../messages.ts'
import type { Model } from '../../model/model.ts'
import type { ToldUsage } from '../../model/told-usage.ts'
import { withModelUsage, type RunProgress } from '../../state.ts'
import type { Run } from '../run.ts'
import type { Grant, RequestBounds } from './grant.ts'

/** The recorded charge of one attempt. `known: false`: the service did not report its usage, so the worst case is charged. */
export type Charge = {
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  readonly known: boolean
  readonly usage: Usage | null
  /** For people: what was wrong with the usage of the service, or with the prices. */
  readonly note?: string
}

/**
 * The most that a request can come to. Without a price it is nothing; in a run under a dollar budget that ends the run before the request.
 * @throws HaltingError `callback` for prices that fail under a dollar budget.
 */
export function worstCase({ context }: Run, model: Model, inputTokens: number, outputTokens: number): Amount {
  const serverToolUses = model.maxServerToolUses ?? 0
  const bound = { inputTokens, outputTokens, serverToolUses }
  const answer = askPrices(() => context.prices.worstCase(model.id, bound))
  const tokens = inputTokens + outputTokens
  if (answer.kind === 'usd') return { nanos: nanosOf(answer.usd), tokens }
  if (!isInDollars(context)) return { nanos: 0, tokens }
  const problem = answer.kind === 'broken' ? answer.problem : 'they know none'
  throw new HaltingError('callback', `The prices gave no worst case for ${model.id}: ${problem}. Nothing was asked.`)
}

function isInDollars({ settings }: Run['context']): boolean {
  return Math.min(settings.maxBudgetUsd, settings.maxRunUsd) !== Infinity
}

/** The charge of an attempt whose usage the service reported. */
export function chargeFor(run: Run, bounds: RequestBounds, grant: Grant, told: ToldUsage): Charge {
  if (!told.isUsable) {
    const note = `${grant.model} told a usage that cannot be counted (${told.problem}): it is charged at its worst case.`
    return { ...unknownCharge(run, bounds, grant), note }
  }
  const { usage } = told
  const answer = askPrices(() => run.context.prices.cost(grant.model, usage))
  const tokens = totalTokensOf(usage)
  if (answer.kind === 'usd') return { model: grant.model, nanos: nanosOf(answer.usd), tokens, known: true, usage }
  if (answer.kind === 'none' && grant.nanos === 0) return { model: grant.model, nanos: 0, tokens, known: true, usage }
  const problem = answer.kind === 'broken' ? answer.problem : 'they know none'
  const note = `The prices gave no cost for ${grant.model} (${problem}): it is charged at its worst case.`
  return { ...unknownCharge(run, bounds, grant), tokens, usage, note }
}

/** The charge of an attempt that was aborted, dropped or lost: its reservation, or the worst case where nothing was reserved. */
export function unknownCharge(run: Run, bounds: RequestBounds, grant: Grant): Charge {
  const worst = grant.tokens > 0 ? grant : unreservedWorstCase(run, bounds, grant)
  return { model: grant.model, nanos: worst.nanos, tokens: worst.tokens, known: false, usage: null }
}

/** Only a run without a limit may use the service's own tools without end; its figures must stay finite. */
function unreservedWorstCase(run: Run, bounds: RequestBounds, { maxTokens }: Grant): Amount {
  const { model } = bounds
  const bounded = model.maxServerToolUses === Infinity ? { ...model, maxServerToolUses: 0 } : model
  return worstCase(run, bounded, bounds.inputBound(bounded), maxTokens)
}

export function noCharge(model: Model): Charge {
  return { model: model.id, nanos: 0, tokens: 0, known: true, usage: null }
}

/** What a charge adds to the run's figures. `usage` is that of the run's own turns: a compaction's is not in it. */
export function chargeOf(spent: RunProgress, charge: Charge, of: 'turn' | 'compaction'): Partial<RunProgress> {
  const { nanos, known, usage } = charge
  return {
    totalTokens: spent.totalTokens + charge.tokens,
    nanos: known ? spent.nanos + nanos : spent.nanos,
    unknownNanos: known ? spent.unknownNanos : spent.unknownNanos + nanos,
    usage: usage === null || of === 'compaction' ? spent.usage : addUsage(spent.usage, usage),
    modelUsage:
      usage === null ? spent.modelUsage : withModelUsage(spent.modelUsage, charge.model, usage, known ? nanos : 0),
  }
}
