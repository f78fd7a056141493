import {
  endings,
  HaltingError,
  StopSignal,
  StopSignals,
  type AssistantMessage,
  type EndingReason,
  type MessageContent,
  type Prices,
  type RunResult,
  type ToolStatus,
  type TranscriptEntry,
  type Usage,
} from '@halting/core'
import { addUsage, isToolUse, totalTokensOf, type ToolResultBlock, type ToolUseBlock } from '@halting/core/adapters'
import {
  askPrices,
  copyOfProgress,
  freshProgress,
  nanosOf,
  usdOf,
  withModelUsage,
  type Amount,
  type GrantBounds,
  type RunIdentity,
  type StepRecord,
} from '@halting/core/steps'

/** A message to the model with the role of a user. */
type UserEntry = Extract<TranscriptEntry, { readonly kind: 'user' }>

/** A run of another program, as far as it is known. Times are milliseconds since the run began. */
export interface ForeignRun {
  /** Identity of the run. */
  readonly run: RunIdentity
  /** When it began, in milliseconds since 1970; absent when the record does not say. */
  readonly beganAt?: number
  /** Messages before the first request. */
  readonly prompts: readonly ForeignMessage[]
  /** The requests of its main loop, in order. */
  readonly turns: readonly ForeignTurn[]
  /** The ending, if it can be inferred; null for a run that has not ended or whose ending is unknown. */
  readonly ending: ForeignEnding | null
}

/** A message to the model from a person or a program. */
export interface ForeignMessage {
  /** Where the message came from. */
  readonly origin: UserEntry['origin']
  /** The message. */
  readonly content: MessageContent
}

/** How a run probably ended, and the evidence. */
export interface ForeignEnding {
  /** The closest ending. */
  readonly reason: EndingReason
  /** The evidence, in a sentence. */
  readonly message: string
  /** The limit that ended it, in its unit; absent for none. */
  readonly limit?: number
}

/** One request of the main loop, with the results of its calls. */
export interface ForeignTurn {
  /** The reply. */
  readonly message: AssistantMessage
  /** The requested model; set when the model that answered has no price. */
  readonly askedModel?: string
  /** When the request was made. */
  readonly beganMs: number
  /** When the turn ended. */
  readonly endedMs: number
  /** Results in any order; a call without a result is open. */
  readonly results: readonly ForeignResult[]
  /** Requests that subagents made during the turn. */
  readonly agentRequests: readonly ForeignPayment[]
  /** Messages after the results. */
  readonly laterMessages: readonly ForeignMessage[]
}

/** The result of a call. */
export interface ForeignResult {
  /** Id of the call. */
  readonly callId: string
  /** The result. */
  readonly content: MessageContent
  /** Whether the call failed. */
  readonly isError: boolean
  /** When the result arrived. */
  readonly endedMs: number
}

/** A request of which only the usage is known. */
export interface ForeignPayment {
  /** The model that answered. */
  readonly model: string
  /** The requested model; set when the model that answered has no price. */
  readonly askedModel?: string
  /** Tokens of the request. */
  readonly usage: Usage
  /** When it ended. */
  readonly endedMs: number
}

/** The records that an equivalent run of Halting would have written. */
export interface ForeignRecords {
  /** The records. */
  readonly records: readonly StepRecord[]
  /** Models without a price: their cost is not included. */
  readonly unpriced: readonly string[]
}

/**
 * Converts a run of another program to records, so that `accountOf`, `trajectoryOf` and `foldSession` can read it. Its limits are unknown. A request
 * reserves as much as one of Halting with the same tokens.
 */
export function recordsOfForeign(run: ForeignRun, prices: Prices): ForeignRecords {
  return new ForeignWriter(run, prices).write()
}

/** Costs of requests of another program. */
export class ForeignCosts {
  readonly #prices: Prices
  readonly #unpriced = new Set<string>()

  constructor(prices: Prices) {
    this.#prices = prices
  }

  /** Models without a price that were seen so far. */
  get unpriced(): readonly string[] {
    return [...this.#unpriced]
  }

  /** The cost of a request. Zero for a model without a price, which is added to `unpriced`. */
  nanosOf({ model, askedModel, usage }: Omit<ForeignPayment, 'endedMs'>): number {
    const nanos = this.#priceOf(model, usage) ?? this.#priceOf(askedModel, usage)
    if (nanos === undefined && totalTokensOf(usage) > 0) this.#unpriced.add(model)
    return nanos ?? 0
  }

  /** The most and least that a Halting request with the same input may cost. Null for a price without a worst case. */
  boundsOf(payment: Omit<ForeignPayment, 'endedMs'>): GrantBounds | null {
    const { usage } = payment
    const input = totalTokensOf(usage) - usage.output_tokens
    const capTokens = Math.max(usage.output_tokens, replyTokens)
    const smallest = this.#worstOf(payment, input, usefulTokens)
    const largest = this.#worstOf(payment, input, capTokens)
    return smallest === undefined || largest === undefined
      ? null
      : { least: smallest, most: largest, usefulTokens, capTokens }
  }

  #worstOf(
    { model, askedModel, usage }: Omit<ForeignPayment, 'endedMs'>,
    input: number,
    output: number,
  ): Amount | undefined {
    const name = [model, askedModel].find((each) => this.#priceOf(each, usage) !== undefined)
    const tokens = input + output
    if (name === undefined) return { tokens, nanos: 0 }
    const nanos = nanosIn(() => this.#prices.worstCase(name, { inputTokens: input, outputTokens: output }))
    return nanos === undefined ? undefined : { tokens, nanos }
  }

  #priceOf(model: string | undefined, usage: Usage): number | undefined {
    return model === undefined ? undefined : nanosIn(() => this.#prices.cost(model, usage))
  }
}

/** The reply length that Halting requests from most models, and the smallest useful one. */
const [replyTokens, usefulTokens] = [32_000, 1_024]

function nanosIn(ask: () => number | undefined): number | undefined {
  const answer = askPrices(ask)
  return answer.kind === 'usd' ? nanosOf(answer.usd) : undefined
}

class ForeignWriter {
  readonly #run: ForeignRun
  readonly #costs: ForeignCosts
  readonly #records: StepRecord[] = []
  /** The current progress; records get copies of it. */
  readonly #spent = copyOfProgress(freshProgress(0))
  #entries = 0

  constructor(run: ForeignRun, prices: Prices) {
    this.#run = run
    this.#costs = new ForeignCosts(prices)
  }

  write(): ForeignRecords {
    const { run, prompts, turns, ending } = this.#run
    const added = prompts.map((message) => this.#userEntry(message))
    this.#records.push({ type: 'start', scope: '', at: 0, start: { run, added, spent: copyOfProgress(this.#spent) } })
    for (const [index, turn] of turns.entries()) {
      const isLast = index === turns.length - 1
      this.#turn(turn, isLast && ending === null)
      const entries = this.#entriesOf(turn)
      if (isLast && ending !== null) this.#end(ending, entries)
      // A last turn with all its results would have been followed by another request.
      else if (!isLast || isAnswered(turn)) this.#addIteration(entries)
    }
    if (turns.length === 0 && ending !== null) this.#end(ending, [])
    return { records: this.#records, unpriced: this.#costs.unpriced }
  }

  /** `isCut`: whether the record ends in this turn, so that a call without a result may have been running. */
  #turn({ message, askedModel, beganMs, endedMs, results, agentRequests }: ForeignTurn, isCut: boolean): void {
    const { request } = this.#spent
    const { runId } = this.#run.run
    const { model, usage } = message
    const payment = { model, ...(askedModel !== undefined && { askedModel }), usage }
    const charge = this.#charge(payment)
    const result = { digest: null, type: 'result' } as const
    this.#records.push({
      ...result,
      key: `${runId}/model:${request}.1`,
      value: { kind: 'answered', message, charge, grant: this.#grant(payment) },
      at: beganMs,
      durationMs: Math.max(0, endedMs - beganMs),
    })
    const calls = message.content.filter(isToolUse)
    const agentCall = agentCallOf(calls)
    const agentAt = Math.max(
      0,
      calls.findIndex((call) => call === agentCall),
    )
    const agent = `${agentAt}:${agentCall?.id.replaceAll('/', '_') ?? ''}`
    for (const [index, agentRequest] of agentRequests.entries()) {
      this.#records.push({
        ...result,
        key: `${runId}/agent:${request}:${agent}/model:${index + 1}.1`,
        value: { kind: 'answered', charge: this.#charge(agentRequest), grant: this.#grant(agentRequest) },
        at: agentRequest.endedMs,
        durationMs: 0,
      })
    }
    const places = new Map(calls.map(({ id }, index) => [id, index]))
    for (const { callId, content, isError, endedMs: toolEndedMs } of results) {
      this.#records.push({
        ...result,
        key: `${runId}/tool:${request}:${places.get(callId) ?? -1}:${callId}`,
        value: { status: statusOf(isError), content, isError },
        at: endedMs,
        durationMs: Math.max(0, toolEndedMs - endedMs),
      })
    }
    const answered = new Set(results.map(({ callId }) => callId))
    for (const [index, { id }] of calls.entries()) {
      if (!isCut || answered.has(id)) continue
      const key = `${runId}/tool:${request}:${index}:${id}`
      this.#records.push({ type: 'intent', key, digest: null, intent: null, at: endedMs })
    }
    const latest = [...results, ...agentRequests].reduce((max, each) => Math.max(max, each.endedMs), endedMs)
    const spent = this.#spent
    spent.turns++
    spent.requests++
    spent.assistantMessages++
    spent.toolResults += results.length
    spent.usage = addUsage(spent.usage, message.usage)
    spent.apiMs += Math.max(0, endedMs - beganMs)
    spent.now = Math.max(spent.now, latest)
    spent.lastStopReason = message.stop_reason
  }

  #grant(payment: Omit<ForeignPayment, 'endedMs'>): object {
    const grant = { granted: true, model: payment.model, nanos: 0, tokens: 0 }
    const bounds = this.#costs.boundsOf(payment)
    return bounds === null ? grant : { ...grant, least: bounds.least, most: bounds.most, maxTokens: bounds.capTokens }
  }

  /** The charge of a request; also adds it to the progress. */
  #charge(payment: Omit<ForeignPayment, 'endedMs'>): object {
    const { model, usage } = payment
    const nanos = this.#costs.nanosOf(payment)
    const tokens = totalTokensOf(usage)
    const spent = this.#spent
    spent.totalTokens += tokens
    spent.nanos += nanos
    spent.modelUsage = withModelUsage(spent.modelUsage, model, usage, nanos)
    return { model, tokens, nanos, known: true, usage }
  }

  #addIteration(added: readonly TranscriptEntry[]): void {
    const spent = this.#spent
    spent.request++
    spent.laps = { ...spent.laps, inRun: { next_turn: (spent.laps.inRun.next_turn ?? 0) + 1 } }
    const transition = 'next_turn'
    this.#records.push({ type: 'lap', lap: { scope: '', transition, spent: copyOfProgress(spent), added } })
  }

  #end({ reason, message, limit }: ForeignEnding, added: readonly TranscriptEntry[]): void {
    const spent = copyOfProgress(this.#spent)
    const costUsd = usdOf(spent.nanos)
    const { category } = endings[reason]
    const context = limit === undefined ? {} : { limit }
    const signal = new StopSignal({ reason: category, message, context })
    const terminal: RunResult = {
      reason,
      signal,
      signals: StopSignals.of(signal),
      summary: {
        assistantMessages: spent.assistantMessages,
        toolResults: spent.toolResults,
        turns: spent.turns,
        requests: spent.requests,
        usage: spent.usage,
        modelUsage: Object.fromEntries(
          Object.entries(spent.modelUsage).map(([model, { usage, nanos }]) => [
            model,
            { usage, costUsd: usdOf(nanos) },
          ]),
        ),
        compacted: false,
        apiMs: spent.apiMs,
      },
      costUsd,
      committedUsd: costUsd,
      totalTokens: spent.totalTokens,
      durationMs: spent.now,
      stillRunning: [],
    }
    const error = category === 'error' ? { error: new HaltingError('model', message) } : {}
    this.#records.push({ type: 'end', scope: '', terminal: { ...terminal, ...error }, added, spent })
  }

  #entriesOf({ message, results, laterMessages }: ForeignTurn): readonly TranscriptEntry[] {
    const entries: TranscriptEntry[] = []
    if (message.content.length > 0) entries.push({ kind: 'assistant', id: this.#id('reply'), message })
    const answers = new Map(results.map((result) => [result.callId, result]))
    const blocks = message.content.filter(isToolUse).flatMap(({ id }): readonly ToolResultBlock[] => {
      const result = answers.get(id)
      if (result === undefined) return []
      const { content, isError } = result
      return [{ type: 'tool_result', tool_use_id: id, content, ...(isError && { is_error: true }) }]
    })
    if (blocks.length > 0)
      entries.push({
        kind: 'user',
        id: this.#id('results'),
        origin: 'tool_results',
        message: { role: 'user', content: blocks },
      })
    // There may be more messages than calls.
    for (const each of laterMessages) entries.push(this.#userEntry(each))
    return entries
  }

  #userEntry({ origin, content }: ForeignMessage): UserEntry {
    return { kind: 'user', id: this.#id(origin), origin, message: { role: 'user', content } }
  }

  #id(name: string): string {
    return `${this.#run.run.runId}/${name}:${this.#entries++}`
  }
}

/** The call whose subagent made the turn's other requests. */
export function agentCallOf(calls: readonly ToolUseBlock[]): ToolUseBlock | undefined {
  return calls.find(({ name }) => name === 'Task' || name === 'Agent') ?? calls[0]
}

/** Whether each call has its result, so that another request would have followed. */
export function isAnswered({ message, results }: ForeignTurn): boolean {
  const answered = new Set(results.map(({ callId }) => callId))
  const calls = message.content.filter(isToolUse)
  return calls.length > 0 && calls.every(({ id }) => answered.has(id))
}

function statusOf(isError: boolean): ToolStatus {
  return isError ? 'failed' : 'done'
}
