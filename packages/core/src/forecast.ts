import { plus, nothing, type Amount } from './budget/ledger.ts'
import { askPrices, nanosOf, usdOf } from './budget/prices.ts'
import { estimateMessages } from './context/tokens.ts'
import { noUsage, type MessageContent, type Usage } from './messages.ts'
import { contextOf, type RunOptions } from './options.ts'
import { startRun } from './start.ts'
import { worstCase } from './turn/request/charge.ts'
import { outputCap } from './turn/request/current-model.ts'
import { inputBoundOf, type Asking } from './turn/request/input-bound.ts'
import { heldForLastAnswer } from './turn/request/reserve.ts'

/** What a run with these options is likely to come to: an estimate, where the certificate has bounds. */
export interface Forecast {
  readonly model: string
  /** What the first request needs at least, as it is reserved. `usd` is null for a model without a price. */
  readonly first: { readonly usd: number | null; readonly tokens: number }
  /** Whether the limits leave room for it. */
  readonly canBegin: boolean
  /** Turns until a limit stops the run, what they cost, and which it is; null when none does within 1,000 turns. */
  readonly likely: {
    readonly turns: number
    readonly usd: number | null
    readonly tokens: number
    readonly endsBy: 'maxBudgetUsd' | 'maxTokens' | 'maxTurns' | null
  }
  /** What a turn is taken to be. */
  readonly assumes: { readonly writtenTokens: number; readonly readTokens: number }
}

const writtenTokens = 400
const readTokens = 1_500
const mostTurns = 1_000

/** Estimates a run before it begins: asks nobody. @throws ConfigurationError for options that cannot be run. */
export function forecast(options: RunOptions, prompt: MessageContent = ''): Forecast {
  const { spent, transcript } = startRun({ prompt })
  const asking: Asking = { context: contextOf(options), spent, transcript }
  const { settings, model } = asking.context
  const input = inputBoundOf(asking, model)
  const needs = needsOf(asking)
  const limits = {
    nanos: nanosOf(Math.min(settings.maxBudgetUsd - (options.spentBeforeUsd ?? 0), settings.maxRunUsd)),
    tokens: settings.maxTotalTokens,
  }
  const first = needs(input)
  const canBegin = isWithin(first, limits)
  return {
    model: model.id,
    first: { usd: isPriced(asking) ? usdOf(first.nanos) : null, tokens: first.tokens },
    canBegin,
    likely: likelyRun(asking, limits, needs),
    assumes: { writtenTokens, readTokens },
  }
}

/** The least that must be left for a request of so many tokens: its worst case with a useful reply, and the last answer. */
function needsOf(asking: Asking): (inputTokens: number) => Amount {
  const { model, settings } = asking.context
  const useful = Math.min(outputCap(asking, model), settings.minUsefulTokens)
  const held = heldForLastAnswer(asking)?.(useful) ?? nothing
  return (inputTokens) => plus(worstCase(asking, model, inputTokens, useful), held)
}

function isWithin(needed: Amount, limits: Amount): boolean {
  return needed.nanos <= limits.nanos && needed.tokens <= limits.tokens
}

function isPriced({ context: { prices, model } }: Asking): boolean {
  return askPrices(() => prices.worstCase(model.id, { inputTokens: 1, outputTokens: 1 })).kind === 'usd'
}

/** Turn after turn as they are taken to be: what was there is read from the cache, what is new is written to it. */
function likelyRun(asking: Asking, limits: Amount, needs: (inputTokens: number) => Amount): Forecast['likely'] {
  const { context, transcript } = asking
  const { settings, model, prices, tokens: estimator } = context
  const tools = JSON.stringify(context.toolDefinitions)
  let conversation = estimator.estimate(settings.system + tools) + estimateMessages(estimator, transcript.messages())
  let known = 0
  let spent = nothing
  let turns = 0
  let endsBy: Forecast['likely']['endsBy'] = null
  while (turns < mostTurns) {
    const bound = turns === 0 ? inputBoundOf(asking, model) : conversation + readTokens
    const needed = plus(spent, needs(bound))
    if (needed.nanos > limits.nanos) endsBy = 'maxBudgetUsd'
    else if (needed.tokens > limits.tokens) endsBy = 'maxTokens'
    else if (turns >= settings.maxTurns) endsBy = 'maxTurns'
    if (endsBy !== null) break
    const usage: Usage = {
      ...noUsage,
      output_tokens: writtenTokens,
      cache_creation_input_tokens: conversation - known,
      cache_read_input_tokens: known,
    }
    const cost = askPrices(() => prices.cost(model.id, usage))
    const nanos = cost.kind === 'usd' ? nanosOf(cost.usd) : 0
    spent = plus(spent, { nanos, tokens: conversation + writtenTokens })
    known = conversation
    conversation += writtenTokens + readTokens
    turns++
  }
  return { turns, usd: isPriced(asking) ? usdOf(spent.nanos) : null, tokens: spent.tokens, endsBy }
}
