import { nothing, type Amount, type Reservation } from '../../budget/ledger.ts'
import { nanosOf } from '../../budget/prices.ts'
import { upperBoundOfMessages, upperBoundOfText } from '../../context/tokens.ts'
import { addUsage, totalTokensOf, type Usage } from '../../messages.ts'
import type { Model, ToolDefinition } from '../../model/model.ts'
import { withModelUsage, type RunProgress } from '../../state.ts'
import type { Run } from '../run.ts'

/** What one attempt was charged, as recorded. `known: false`: at worst case, since nobody said what it was. */
export type Charge = {
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  readonly known: boolean
  readonly usage: Usage | null
}

/** What an attempt took aside before it was made, as recorded in its intent. */
export type Grant = {
  readonly granted: true
  readonly model: string
  readonly nanos: number
  readonly tokens: number
  /** The reply's cap, lowered where the budget asked for it. */
  readonly maxTokens: number
  readonly lowered: 'usd' | 'tokens' | null
}

export type OverBudget = {
  readonly granted: false
  readonly currency: 'usd' | 'tokens'
  readonly needed: number
  readonly available: number
}

/** What services add to a request around what they were sent. */
const requestOverhead = 1_000

/**
 * The most input tokens that the next request can be billed for: the provider's own count, and bytes for what came
 * since. Each use of a tool of the service's own reads everything again, and what it found: at most the window.
 */
function inputUpperBound(run: Run, model: Model): number {
  const { counted } = run.spent
  const messages = run.transcript.messages()
  const isCounted = counted.tokens > 0 && counted.length <= messages.length
  const sent = isCounted
    ? counted.tokens + upperBoundOfMessages(messages, model, counted.length)
    : requestOverhead +
      upperBoundOfText(run.context.settings.system) +
      toolsUpperBound(run.context.toolDefinitions) +
      upperBoundOfMessages(messages, model)
  return sent + (model.maxServerToolUses ?? 0) * Math.max(sent, model.contextWindow)
}

const toolBounds = new WeakMap<readonly ToolDefinition[], number>()

function toolsUpperBound(definitions: readonly ToolDefinition[]): number {
  const known = toolBounds.get(definitions)
  if (known !== undefined) return known
  const bound = upperBoundOfText(JSON.stringify(definitions))
  toolBounds.set(definitions, bound)
  return bound
}

/**
 * Reserves the worst case of a request, lowering the reply's cap to what fits (spec R-BUD-2, R-BUD-3).
 * `cap` is what would be asked for; `holdBack` keeps room for the last answer that `wrapUp` wants.
 */
export function reserveRequest(
  run: Run,
  model: Model,
  cap: number,
  holdBack: boolean,
): { readonly grant: Grant | OverBudget; readonly reservation: Reservation | undefined } {
  const { ledger } = run.ports
  const free: Grant = { granted: true, model: model.id, nanos: 0, tokens: 0, maxTokens: cap, lowered: null }
  if (!ledger.limited) return { grant: free, reservation: undefined }
  const input = inputUpperBound(run, model)
  const available = ledger.available()
  const useful = Math.min(cap, run.context.settings.minUsefulTokens)
  const worst = (output: number): Amount => worstCase(run, model, input, output)
  // The last answer reads this reply too, and the words that ask for it.
  const heldFor = (output: number): Amount =>
    holdBack ? worstCase(run, model, input + output + requestOverhead, useful) : nothing
  const fits = (output: number): boolean => {
    const amount = worst(output)
    const held = heldFor(output)
    return amount.nanos + held.nanos <= available.nanos && amount.tokens + held.tokens <= available.tokens
  }
  if (!fits(useful)) {
    const needed = worst(useful)
    const held = heldFor(useful)
    const currency = needed.nanos + held.nanos > available.nanos ? 'usd' : 'tokens'
    const figures = currency === 'usd' ? [needed.nanos, available.nanos] : [needed.tokens, available.tokens]
    return {
      grant: { granted: false, currency, needed: figures[0] ?? 0, available: figures[1] ?? 0 },
      reservation: undefined,
    }
  }
  const maxTokens = fits(cap) ? cap : largest(useful, cap, fits)
  const amount = worst(maxTokens)
  const lowered = maxTokens === cap ? null : worst(cap).nanos + heldFor(cap).nanos > available.nanos ? 'usd' : 'tokens'
  return {
    grant: { granted: true, model: model.id, ...amount, maxTokens, lowered },
    reservation: ledger.reserve(amount),
  }
}

/** The largest number of tokens that fits; `low` does, `high` does not. */
function largest(low: number, high: number, fits: (tokens: number) => boolean): number {
  let fitting = low
  let failing = high
  while (failing - fitting > 1) {
    const middle = Math.floor((fitting + failing) / 2)
    if (fits(middle)) fitting = middle
    else failing = middle
  }
  return fitting
}

function worstCase({ context }: Run, model: Model, inputTokens: number, outputTokens: number): Amount {
  const serverToolUses = model.maxServerToolUses ?? 0
  const usd = context.prices.worstCase(model.id, { inputTokens, outputTokens, serverToolUses }) ?? 0
  return { nanos: nanosOf(usd), tokens: inputTokens + outputTokens }
}

export function chargeFor({ context }: Run, model: Model, usage: Usage): Charge {
  const usd = context.prices.cost(model.id, usage) ?? 0
  return { model: model.id, nanos: nanosOf(usd), tokens: totalTokensOf(usage), known: true, usage }
}

/** For an attempt that was aborted, dropped or lost: what was taken aside, or the worst case where nothing had to be. */
export function unknownCharge(run: Run, model: Model, grant: Grant): Charge {
  const worst = grant.tokens > 0 ? grant : unreservedWorstCase(run, model, grant)
  return { model: model.id, nanos: worst.nanos, tokens: worst.tokens, known: false, usage: null }
}

/** Only a run without a limit may use the service's own tools without end; its figures are to stay numbers. */
function unreservedWorstCase(run: Run, model: Model, { maxTokens }: Grant): Amount {
  const bounded = model.maxServerToolUses === Infinity ? { ...model, maxServerToolUses: 0 } : model
  return worstCase(run, bounded, inputUpperBound(run, bounded), maxTokens)
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
