import { zeroAmount, addAmounts, type Amount, type Room } from '../limits/ledger.ts'
import { maxOfGrant } from '../limits/recorded-amount.ts'
import { askPrices, nanosOf, usdOf, type RequestBound } from '../model/prices.ts'
import { HaltingError } from '../values/errors.ts'
import { isJsonObject } from '../values/json.ts'
import { addUsage, noUsage, totalTokensOf, type Usage } from '../model/messages.ts'
import { billedParts, type BilledPart } from '../model/billed-parts.ts'
import { extraBounds } from '../model/extra-passes.ts'
import type { LookedUpUsage, Model } from '../model/model.ts'
import { modelFacts } from '../model/model-facts.ts'
import { withWebSearches } from '../model/web-search.ts'
import { checkReportedUsage, type ReportedUsage } from '../model/reported-usage.ts'
import { needsPrice } from '../run/check-settings.ts'
import { withModelUsage, type RunProgress } from '../state/state.ts'
import type { AbandonedStep } from '../steps/step-engine.ts'
import type { Run } from '../run/run.ts'
import type { Grant, RequestBounds } from './grant.ts'
import type { Charge } from '../run/request-bill.ts'
import { byteBoundOf } from './input-bound.ts'

/**
 * The maximum cost of a request, including what the service may add by itself. Zero without a price; under a dollar
 * budget such a run ends before the request.
 * @throws HaltingError `callback` for prices that fail under a dollar budget.
 */
export function worstCase(
  run: Pick<Run, 'context' | 'transcript'>,
  model: Model,
  inputTokens: number,
  outputTokens: number,
): Amount {
  const { context } = run
  const serverToolUses = model.maxServerToolUses ?? 0
  const reply = worstAmount(context, model.id, { inputTokens, outputTokens, serverToolUses })
  if (model.extraPasses === undefined) return reply
  return extraBounds(model, inputTokens, outputTokens, inputTokens + byteBoundOf(run, model)).reduce(
    (sum, bound) => addAmounts(sum, worstAmount(context, bound.model, bound)),
    reply,
  )
}

function worstAmount(context: Run['context'], model: string, bound: RequestBound): Amount {
  const answer = askPrices(() => context.prices.worstCase(model, bound))
  const tokens = bound.inputTokens + bound.outputTokens
  if (answer.kind === 'usd') return { nanos: nanosOf(answer.usd), tokens }
  if (!needsPrice(context.settings, model)) return { nanos: 0, tokens }
  const problem = answer.kind === 'broken' ? answer.problem : 'they know none'
  throw new HaltingError('callback', `The prices returned no worst case for ${model}: ${problem}. No request was made.`)
}

/** The charge of an attempt with reported usage. `named` is the service's name of the model that answered. */
export function chargeFor(
  run: Run,
  bounds: RequestBounds,
  grant: Grant,
  reported: ReportedUsage,
  named: string,
): Charge {
  if (!reported.isUsable) {
    const note = `${grant.model} reported a usage that cannot be counted (${reported.problem}): it is charged at its worst case.`
    return { ...unknownCharge(run, bounds, grant), note }
  }
  const { usage } = reported
  const charge =
    usage.iterations === undefined
      ? chargeForOne(run, bounds, grant, usage)
      : chargeForPasses(run, bounds, grant, billedParts(usage, grant.model, named))
  return withOverchargeNotice(charge, grant)
}

/** The charge of a reply without separate passes, which is the common case. */
function chargeForOne(run: Run, bounds: RequestBounds, grant: Grant, usage: Usage): Charge {
  const { model } = grant
  const cost = costOf(run, grant, model, usage)
  const tokens = totalTokensOf(usage)
  if (cost.isKnown) return { model, nanos: cost.nanos, tokens, known: true, usage }
  return { ...unknownCharge(run, bounds, grant), tokens, usage, note: missingCostNote(model, cost.problem) }
}

function chargeForPasses(run: Run, bounds: RequestBounds, grant: Grant, parts: readonly BilledPart[]): Charge {
  const figures = new Map([[grant.model, { usage: noUsage, nanos: 0 }]])
  const notes: string[] = []
  let nanos = 0
  let tokens = 0
  for (const { model, usage } of parts) {
    const cost = costOf(run, grant, model, usage)
    if (!cost.isKnown) notes.push(missingCostNote(model, cost.problem))
    const nanosOfModel = cost.isKnown ? cost.nanos : 0
    nanos += nanosOfModel
    tokens += totalTokensOf(usage)
    const before = figures.get(model) ?? { usage: noUsage, nanos: 0 }
    figures.set(model, { usage: addUsage(before.usage, usage), nanos: before.nanos + nanosOfModel })
  }
  const { usage } = figures.get(grant.model) ?? { usage: noUsage }
  const otherModels = [...figures].flatMap(([model, figure]) => (model === grant.model ? [] : [{ model, ...figure }]))
  const charge = {
    model: grant.model,
    nanos,
    tokens,
    known: true,
    usage,
    ...(otherModels.length > 0 && { others: otherModels }),
  }
  if (notes.length === 0) return charge
  const worst = unknownCharge(run, bounds, grant)
  return { ...charge, nanos: Math.max(nanos, worst.nanos), known: false, note: [...new Set(notes)].join(' ') }
}

type Cost = { readonly isKnown: true; readonly nanos: number } | { readonly isKnown: false; readonly problem: string }

/**
 * The cost of a usage. A model without a price costs nothing, unless dollars were reserved for it, or a dollar limit
 * applies and nobody named the model.
 */
function costOf({ context }: Run, grant: Grant, model: string, usage: Usage): Cost {
  const answer = askPrices(() => context.prices.cost(model, usage))
  if (answer.kind === 'usd') return { isKnown: true, nanos: nanosOf(answer.usd) }
  if (answer.kind === 'broken') return { isKnown: false, problem: answer.problem }
  const isFree = grant.nanos === 0 && (model === grant.model || !needsPrice(context.settings, model))
  return isFree ? { isKnown: true, nanos: 0 } : { isKnown: false, problem: 'they know none' }
}

function missingCostNote(model: string, problem: string): string {
  return `The prices returned no cost for ${model} (${problem}): it is charged at its worst case.`
}

// Spec R-BUD-15.
/** If a service bills more than was reserved, some usage was not declared. This adds a notice, because the budget was calculated without it. */
function withOverchargeNotice(charge: Charge, grant: Grant): Charge {
  const isDearer = grant.nanos > 0 && charge.nanos > grant.nanos
  if (grant.tokens === 0 || !(isDearer || charge.tokens > grant.tokens)) return charge
  const figuresOf = ({ nanos, tokens }: Amount): string =>
    `${grant.nanos > 0 ? `$${usdOf(nanos).toFixed(4)}, ` : ''}${tokens} tokens`
  const notice = `${charge.model} billed more for one request (${figuresOf(charge)}) than it can come to by all that is declared (${figuresOf(grant)}).`
  return { ...charge, note: charge.note === undefined ? notice : `${charge.note} ${notice}` }
}

/** The charge of a complete reply without reported usage. */
export function unreportedCharge(run: Run, bounds: RequestBounds, grant: Grant, problem: string): Charge {
  const note = `${grant.model} reported ${problem}: its reply is charged at its worst case.`
  return { ...unknownCharge(run, bounds, grant), note }
}

/** The charge of an attempt that was aborted, dropped or lost: its reservation, or the worst case if nothing was reserved. */
export function unknownCharge(run: Run, bounds: RequestBounds, grant: Grant): Charge {
  const worst = grant.tokens > 0 ? grant : (grant.most ?? unreservedWorstCase(run, bounds)(grant.maxTokens))
  return { model: grant.model, nanos: worst.nanos, tokens: worst.tokens, known: false, usage: null }
}

// Spec R-BUD-21b.
/** The charge of a lost attempt according to its service: the reported amount if there is one, otherwise its usage multiplied by the prices. */
export function lookedUpCharge(run: Run, bounds: RequestBounds, grant: Grant, { usd, usage }: LookedUpUsage): Charge {
  const reported = usage === undefined ? undefined : checkReportedUsage(usage)
  if (usd === undefined)
    return reported === undefined
      ? unknownCharge(run, bounds, grant)
      : chargeFor(run, bounds, grant, reported, grant.model)
  const tokens = reported?.isUsable === true ? totalTokensOf(reported.usage) : unknownCharge(run, bounds, grant).tokens
  const counted = reported?.isUsable === true ? reported.usage : null
  return withOverchargeNotice({ model: grant.model, nanos: nanosOf(usd), tokens, known: true, usage: counted }, grant)
}

/** The maximum cost of a request, as a function of the reply tokens. The bound of the input is computed once. */
export function worstCaseByReply(run: Run, bounds: RequestBounds, model: Model = bounds.model): Room {
  const searching = withWebSearches(model, bounds.webSearch)
  const input = bounds.inputBound(searching)
  return (output) => worstCase(run, searching, input, output)
}

/** Works like `worstCaseByReply`, for a run without a limit. Only there may the number of passes be unbounded, and the figures must stay finite. */
export function unreservedWorstCase(run: Run, bounds: RequestBounds): Room {
  const { model } = bounds
  const { maxServerToolUses = 0, extraPasses = [] } = model
  const isEndless = maxServerToolUses === Infinity || extraPasses.some(({ uses }) => uses === Infinity)
  return worstCaseByReply(run, bounds, isEndless ? withoutServerTools(model) : model)
}

/** The model without its server-side tools. Only for computing bounds. */
function withoutServerTools(model: Model): Model {
  return { ...modelFacts(model), maxServerToolUses: 0, extraPasses: [], call: (...args) => model.call(...args) }
}

export function noCharge(model: Model): Charge {
  return { model: model.id, nanos: 0, tokens: 0, known: true, usage: null }
}

// Spec R-RES-5.
/** The charges of a recorded step that was abandoned. An open request is charged at its reservation, as in any other case. */
export function chargeOfStep({ isDone, value }: AbandonedStep): readonly Charge[] {
  if (!isJsonObject(value)) return []
  if (isDone) {
    // The `charge` of a step is always the charge of an attempt.
    return isJsonObject(value['charge']) ? [value['charge'] as unknown as Charge] : []
  }
  if (value['granted'] !== true || typeof value['model'] !== 'string') return []
  return [{ model: value['model'], ...(maxOfGrant(value) ?? zeroAmount), known: false, usage: null }]
}

// Spec R-SUB-3f.
/**
 * Adds what was paid before a resume to the limits of a subagent. It is already on the ledger of the run, but not on
 * that of the subagent. Called when the record of an attempt is read, or of a composite step whose attempts are no
 * longer read.
 */
export function restoreForAgent(
  { identity, ports }: Pick<Run, 'identity' | 'ports'>,
  charges: readonly Charge[],
): void {
  if (identity.depth > 0) for (const charge of charges) ports.ledger.restoreAgent(charge)
}

/** What a charge adds to the figures of the run. `usage` covers the run's own turns only, not side questions. */
export function chargeOf(spent: RunProgress, charge: Charge, of: 'turn' | 'question'): Partial<RunProgress> {
  const { nanos, known, usage } = charge
  return {
    totalTokens: spent.totalTokens + charge.tokens,
    nanos: known ? spent.nanos + nanos : spent.nanos,
    unknownNanos: known ? spent.unknownNanos : spent.unknownNanos + nanos,
    usage: usage === null || of === 'question' ? spent.usage : addUsage(spent.usage, usage),
    modelUsage: usage === null ? spent.modelUsage : modelUsageWith(spent.modelUsage, charge, usage),
  }
}

function modelUsageWith(before: RunProgress['modelUsage'], charge: Charge, usage: Usage): RunProgress['modelUsage'] {
  const { model, nanos, known, others = [] } = charge
  let nanosOfModel = known ? nanos : 0
  let after = before
  for (const other of others) {
    nanosOfModel -= known ? other.nanos : 0
    after = withModelUsage(after, other.model, other.usage, known ? other.nanos : 0)
  }
  return withModelUsage(after, model, usage, nanosOfModel)
}
