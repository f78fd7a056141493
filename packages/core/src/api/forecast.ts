import { addAmounts, zeroAmount, type Amount } from '../limits/ledger.ts'
import { askPrices, nanosOf, usdOf } from '../model/prices.ts'
import { estimateMessages } from '../model/tokens.ts'
import { noUsage, type MessageContent, type Usage } from '../model/messages.ts'
import { contextOf, type RunOptions } from './options.ts'
import { startRun } from './start.ts'
import { worstCase } from '../request/charge.ts'
import { outputCap } from '../request/current-model.ts'
import { inputBoundOf, type RequestBasis } from '../request/input-bound.ts'
import { lastAnswerReserve } from '../request/reserve.ts'

/** The likely cost of a run with these options. It is an estimate; the certificate contains bounds. */
export interface Forecast {
  /** Id of the model. */
  readonly model: string
  /** The minimum that the first request needs, which is the amount that it reserves. `usd` is null for a model without a price. */
  readonly first: {
    /** US dollars; null for a model without a price. */
    readonly usd: number | null
    /** Input and output tokens. */
    readonly tokens: number
  }
  /** Whether the limits leave room for the first request. */
  readonly canBegin: boolean
  /**
   * The estimated number of turns until a limit stops the run, their cost, and that limit. The limit is null if no limit
   * stops the run within 1,000 turns.
   */
  readonly likely: LikelyFigures & {
    /** The limit that ends the run; null if none does. */
    readonly endsBy: LikelyEnd | null
  }
  /** The figures of shorter runs, of 10 and of 50 turns. Empty if a limit ends the run earlier. */
  readonly shorter: readonly LikelyFigures[]
  /** The assumptions about a turn and a compacted conversation. */
  readonly assumes: {
    /** Tokens that the model writes in a turn. */
    readonly writtenTokens: number
    /** Tokens of results that a turn adds. */
    readonly readTokens: number
    /** Tokens of a conversation after a compaction. */
    readonly summaryTokens: number
  }
}

/** The limit that is likely to end a run. `contextWindow`: the conversation becomes too long, and is not compacted. */
export type LikelyEnd = 'maxBudgetUsd' | 'maxRunUsd' | 'maxTokens' | 'maxTurns' | 'contextWindow'

/** The likely figures of a number of turns. `usd` is null for a model without a price. */
export interface LikelyFigures {
  /** Turns. */
  readonly turns: number
  /** US dollars; null for a model without a price. */
  readonly usd: number | null
  /** Input and output tokens. */
  readonly tokens: number
}

const writtenTokens = 400
const readTokens = 1_500
const summaryTokens = 4_000
const mostTurns = 1_000
const shorterTurns: readonly number[] = [10, 50]

/** Estimates a run before it starts, without any request. @throws ConfigurationError for options that cannot be run. */
export function forecast(options: RunOptions, prompt: MessageContent = ''): Forecast {
  const { spent, transcript } = startRun({ prompt })
  const asking: RequestBasis = { context: contextOf(options), spent, transcript }
  const { settings, model } = asking.context
  const input = inputBoundOf(asking, model)
  const needs = needsOf(asking)
  const leftUsd = settings.maxBudgetUsd - (options.spentBeforeUsd ?? 0)
  const limits = {
    nanos: nanosOf(Math.min(leftUsd, settings.maxRunUsd)),
    tokens: settings.maxTotalTokens,
  }
  const first = needs(input)
  const canBegin = isWithin(first, limits)
  return {
    model: model.id,
    first: { usd: isPriced(asking) ? usdOf(first.nanos) : null, tokens: first.tokens },
    canBegin,
    ...likelyRun(asking, limits, needs, settings.maxRunUsd < leftUsd ? 'maxRunUsd' : 'maxBudgetUsd'),
    assumes: { writtenTokens, readTokens, summaryTokens },
  }
}

/** The minimum budget for a request with this input: the worst case of a useful reply, plus the reserve for the last answer. */
function needsOf(asking: RequestBasis): (inputTokens: number) => Amount {
  const { model, settings } = asking.context
  const useful = Math.min(outputCap(asking, model), settings.minUsefulTokens)
  const reserve = lastAnswerReserve(asking)?.(useful) ?? zeroAmount
  return (inputTokens) => addAmounts(worstCase(asking, model, inputTokens, useful), reserve)
}

function isWithin(needed: Amount, limits: Amount): boolean {
  return needed.nanos <= limits.nanos && needed.tokens <= limits.tokens
}

function isPriced({ context: { prices, model } }: RequestBasis): boolean {
  return askPrices(() => prices.worstCase(model.id, { inputTokens: 1, outputTokens: 1 })).kind === 'usd'
}

/** Simulates assumed turns until a limit leaves no room for the next. */
function likelyRun(
  asking: RequestBasis,
  limits: Amount,
  needs: (inputTokens: number) => Amount,
  dollarLimit: 'maxBudgetUsd' | 'maxRunUsd',
): Pick<Forecast, 'likely' | 'shorter'> {
  const { settings, model } = asking.context
  const conversation = new LikelyConversation(asking)
  const isModelPriced = isPriced(asking)
  const shorter: LikelyFigures[] = []
  let turns = 0
  let spent = zeroAmount
  let endsBy: Forecast['likely']['endsBy'] = null
  const figures = (): LikelyFigures => ({ turns, usd: isModelPriced ? usdOf(spent.nanos) : null, tokens: spent.tokens })
  const limitBelow = ({ nanos, tokens }: Amount): typeof endsBy =>
    nanos > limits.nanos ? dollarLimit : tokens > limits.tokens ? 'maxTokens' : null
  while (turns < mostTurns) {
    const bound = turns === 0 ? inputBoundOf(asking, model) : conversation.tokens + readTokens
    endsBy = limitBelow(addAmounts(spent, needs(bound))) ?? (turns >= settings.maxTurns ? 'maxTurns' : null)
    if (endsBy === null && conversation.isFull) endsBy = 'contextWindow'
    if (endsBy !== null) break
    const after = conversation.addTurn()
    // A summary may have to be paid for before the next turn.
    endsBy = limitBelow(after)
    if (endsBy !== null) break
    if (shorterTurns.includes(turns)) shorter.push(figures())
    spent = after
    turns++
  }
  // The limit on turns may be reached exactly at the last estimated turn.
  if (endsBy === null && turns >= settings.maxTurns) endsBy = 'maxTurns'
  return { likely: { ...figures(), endsBy }, shorter }
}

/**
 * A simulated conversation. Old messages are read from the cache, new ones are written to the cache, and a summary
 * replaces the messages when they get too long.
 */
class LikelyConversation {
  tokens: number
  readonly #asking: RequestBasis
  /** Tokens of the system prompt and the tools. */
  readonly #fixed: number
  readonly #threshold: number
  readonly #mostTokens: number
  #cached = 0
  #spent = zeroAmount

  constructor(asking: RequestBasis) {
    const { context, transcript } = asking
    const { settings, model, contextDefence, tokens: estimator } = context
    this.#asking = asking
    this.#fixed = estimator.estimate(settings.system + JSON.stringify(context.toolDefinitions))
    this.tokens = this.#fixed + estimateMessages(estimator, transcript.messages())
    const window = settings.contextWindow ?? model.contextWindow
    this.#mostTokens = contextDefence.autoCompact ? Infinity : contextDefence.blockingLimit(model, window)
    // Without a blocking limit, a request is too long only when it exceeds the window.
    const threshold = contextDefence.compactionThreshold?.(model, window) ?? Infinity
    this.#threshold = this.#mostTokens === Infinity ? Math.min(threshold, window) : threshold
  }

  /** Whether no further request is possible. */
  get isFull(): boolean {
    return this.tokens >= this.#mostTokens
  }

  /** Returns the total spent so far. */
  addTurn(): Amount {
    const shorter = this.#fixed + summaryTokens
    // If a summary frees nothing, the conversation is not compacted.
    if (this.tokens >= this.#threshold && this.tokens > shorter) {
      this.#ask(summaryTokens)
      this.#cached = this.#fixed
      this.tokens = shorter
    }
    this.#ask(writtenTokens)
    this.tokens += writtenTokens + readTokens
    return this.#spent
  }

  #ask(outputTokens: number): void {
    const { prices, model } = this.#asking.context
    const usage: Usage = {
      ...noUsage,
      output_tokens: outputTokens,
      cache_creation_input_tokens: this.tokens - this.#cached,
      cache_read_input_tokens: this.#cached,
    }
    const cost = askPrices(() => prices.cost(model.id, usage))
    const nanos = cost.kind === 'usd' ? nanosOf(cost.usd) : 0
    this.#spent = addAmounts(this.#spent, { nanos, tokens: this.tokens + outputTokens })
    this.#cached = this.tokens
  }
}
