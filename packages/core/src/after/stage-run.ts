import type { BudgetLease } from '../limits/lease.ts'
import type { Amount, Ledger } from '../limits/ledger.ts'
import { askPrices, nanosOf, usdOf, type NanoUsd, type Prices } from '../model/prices.ts'
import { AbortScope, type AbortCause } from '../values/abort.ts'
import { createDeadline } from '../values/deadline.ts'
import { settleWithin, type Settled } from '../values/settle.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { streamRun, type RunStream } from '../api/iterate.ts'
import { addUsage } from '../model/messages.ts'
import type { Model } from '../model/model.ts'
import { pricesWith } from '../run/model-prices.ts'
import type { RunOptions } from '../api/options.ts'
import { lastAnswer, lastReplyText } from '../sdk/result-message.ts'
import { startRun } from '../api/start.ts'
import type { StepStore } from '../steps/step-record.ts'
import { steadyClock } from '../values/clock.ts'
import { systemClock } from '../values/system-clock.ts'
import { endings } from '../endings/table.ts'
import type { RunResult } from '../endings/run-result.ts'
import type { Transcript } from '../conversation/transcript.ts'
import {
  StageStop,
  type Stage,
  type StageAnswer,
  type StageContext,
  type StageLimits,
  type StageMessage,
  type StageOutcome,
  type StageQuestion,
} from './stage.ts'
import type { StageIdentity, StageRecord, StageReport, StageReason } from '../steps/stage-record.ts'
import { modelFacts } from '../model/model-facts.ts'
import { fieldsOf } from '../values/validators.ts'
import { jsonObjectOf, type JsonObject } from '../values/json.ts'
import { headOf } from '../values/text.ts'

/** What the stages of one list have in common. */
export interface StageSurroundings {
  readonly sessionId: string
  readonly runId: string
  readonly terminal: RunResult | null
  readonly transcript: Transcript
  /** The model for stages that name no other. */
  readonly model: Model
  readonly options: Pick<RunOptions, 'prices' | 'tokens' | 'clock' | 'mediaLimits' | 'graceMs'>
  /** The ledger of the session: a stage's reservations also count against it. */
  readonly ledger: Ledger
  readonly log: StepStore | undefined
  readonly signal: AbortSignal
  /** Set if others share the session's budget: the shared lease, and what stages of this list have requested from it. */
  readonly lease: SharedLease | null
}

interface SharedLease {
  readonly lease: BudgetLease
  askedNanos: NanoUsd
}

/** The result of a stage, and its messages. */
export interface EndedStage {
  readonly report: StageReport
  readonly messages: readonly StageMessage[]
}

/** The limits of a stage, with defaults. */
export function stageLimits({ limits }: Pick<Stage, 'limits'>): Required<StageLimits> {
  return { ...defaults, ...limits }
}

const defaults: Required<StageLimits> = {
  maxTurns: 1,
  maxBudgetUsd: 0.05,
  maxTotalTokens: 50_000,
  maxDurationMs: 30_000,
}

/** Answers of a stage may be short. */
const minUsefulTokens = 64
const maxRetries = 2

/**
 * One stage. Its promise never rejects. S1: the stage asks no question before its start is recorded. S2: it reserves the
 * turns of a question before it asks the question. S3: when it has ended, none of its questions is still running, and it
 * asks no further question.
 */
export class StageRun {
  readonly #stage: Stage
  readonly #identity: StageIdentity
  readonly #surroundings: StageSurroundings
  readonly #limits: Required<StageLimits>
  readonly #ledger: Ledger
  readonly #abort = new AbortScope()
  readonly #running = new Set<RunStream>()
  #turnsLeft: number
  #turns = 0
  #requests = 0
  #usage: StageReport['modelUsage'] = {}
  #started: Promise<void> | undefined
  /** Set for a record with dollars, which is written when the stage asks a model with a price. */
  #startedPriced: Promise<void> | undefined
  /** Releases its part of a lease, once its end is recorded. */
  #endSpending: (() => void) | undefined

  constructor(stage: Stage, identity: StageIdentity, surroundings: StageSurroundings) {
    this.#stage = stage
    this.#identity = identity
    this.#surroundings = surroundings
    this.#limits = stageLimits(stage)
    this.#turnsLeft = this.#limits.maxTurns
    this.#ledger = surroundings.ledger.branch({
      nanos: nanosOf(this.#limits.maxBudgetUsd),
      tokens: this.#limits.maxTotalTokens,
    })
  }

  async run(): Promise<EndedStage> {
    const { options, signal } = this.#surroundings
    const clock = steadyClock(options.clock ?? systemClock)
    const beganAt = clock.now()
    this.#abort.follow(signal)
    const times = { usedMs: 0, limitMs: this.#limits.maxDurationMs }
    const deadline = createDeadline(clock, times, () => this.#abort.abort('time'))
    this.#abort.setCheck(() => deadline.check())
    const { messages, ...outcome } = await this.#outcome()
    // Aborts the questions that the stage did not wait for. No further question can be asked.
    this.#abort.abort('parent')
    await Promise.all([...this.#running].map(({ ended }) => ended))
    deadline.cancel()
    this.#abort.dispose()
    const durationMs = clock.now() - beganAt
    const report: StageReport = { ...this.#identity, ...outcome, ...this.#figures(), durationMs }
    const mustBeRecorded = report.reason !== 'skipped' || (this.#startedPriced ?? this.#started) !== undefined
    // If the end cannot be recorded, the stage is charged the amount in its start record.
    if (mustBeRecorded) await this.#record({ phase: 'ended', ...report }).catch(() => {})
    this.#endSpending?.()
    return { report, messages }
  }

  async #outcome(): Promise<StageEnding> {
    const cause = this.#abort.causeNow()
    if (cause !== undefined) return this.#endingOfAbort(cause)
    const { options, sessionId, runId, terminal, transcript } = this.#surroundings
    const { clock: timers = systemClock, graceMs = 250 } = options
    const { signal } = this.#abort
    const ask: StageContext['ask'] = (question) => this.#ask(question)
    const context: StageContext = { sessionId, runId, terminal, transcript, signal, ask }
    const grace = { abort: this.#abort, graceMs, timers }
    const settled = await settleWithin<unknown, Settled<unknown>>(
      () => this.#stage.run(context),
      grace,
      (settlement) => settlement,
    )
    if (settled.kind === 'value') return parseOutcome(settled.value)
    if (settled.kind === 'left') return this.#endingOfAbort(settled.cause, ' It ignored the abort and was abandoned.')
    const { error } = settled
    // The error may be a consequence of the abort.
    if (this.#abort.cause !== undefined) return this.#endingOfAbort(this.#abort.cause)
    if (isInstance(error, StageStop)) return endingOf(error.reason, error.message)
    return endingOf('failed', messageOf(error))
  }

  #endingOfAbort(cause: AbortCause, more = ''): StageEnding {
    if (cause !== 'time') return endingOf('aborted', `It was aborted (${cause}).${more}`)
    return endingOf('time_limit', `It took longer than ${this.#limits.maxDurationMs} ms.${more}`)
  }

  async #ask<Output>(question: StageQuestion<Output>): Promise<StageAnswer<Output>> {
    this.#checkOpen()
    const { output, transcript, prompt } = question
    // A question without tools has one turn, so that several can be asked in parallel.
    const needsTurns = question.tools !== undefined || output !== undefined
    const maxTurns = Math.min(this.#turnsLeft, question.maxTurns ?? (needsTurns ? Infinity : 1))
    if (maxTurns < 1) throw new StageStop('max_turns', `It has used its ${this.#limits.maxTurns} turns.`)
    this.#turnsLeft -= maxTurns
    let turns = 0
    try {
      await this.#start(this.#modelOf(question))
      this.#checkOpen()
      const { sessionId } = this.#surroundings
      const runId = `${this.#identity.id}/${++this.#requests}`
      const start = startRun({ prompt, sessionId, runId, ...(transcript !== undefined && { transcript }) })
      const running = streamRun(start, this.#optionsOf(question, maxTurns), { ledger: this.#ledger })
      this.#running.add(running)
      const { terminal, state } = await running.ended
      this.#running.delete(running)
      turns = terminal.summary.turns
      this.#addUsage(terminal)
      // The stage decides what an empty answer means.
      if (endings[terminal.reason].parentResult === 'failed') throw this.#stopOf(terminal)
      const text = output === undefined ? lastAnswer(state) : lastReplyText(state)
      const checked = output?.check(text)
      return { text, output: checked?.fits === true ? checked.value : undefined }
    } finally {
      this.#turns += turns
      this.#turnsLeft += Math.max(0, maxTurns - turns)
    }
  }

  #checkOpen(): void {
    const cause = this.#abort.causeNow()
    if (cause === undefined) return
    const { reason, message } = this.#endingOfAbort(cause)
    throw new StageStop(reason, message)
  }

  #optionsOf<Output>(question: StageQuestion<Output>, maxTurns: number): RunOptions {
    if ('maxTokens' in question) throw new TypeError('A question has maxOutputTokens, not maxTokens.')
    const { system, tools, permissions, thinking, output, maxOutputTokens = 4_096 } = question
    const model = this.#modelOf(question)
    const { maxBudgetUsd, maxTotalTokens } = this.#limits
    const { options, ledger } = this.#surroundings
    // The cost of a model without a price is unknown, so the token limit applies. With a session budget, such a model cannot be asked.
    const isPriced = hasPrice(model, options.prices)
    const mustBePriced = ledger.isBounded
    return {
      ...options,
      model: cappedModel(model, maxOutputTokens),
      ...(system !== undefined && { system }),
      ...(tools !== undefined && { tools }),
      ...(permissions !== undefined && { permissions }),
      ...(thinking !== undefined && { thinking }),
      ...(output !== undefined && { output }),
      ...((isPriced || mustBePriced) && { maxBudgetUsd }),
      maxTurns,
      maxTotalTokens,
      maxRetries,
      minUsefulTokens,
      signal: this.#abort.signal,
    }
  }

  #stopOf({ reason, signal }: RunResult): StageStop {
    if (this.#abort.cause !== undefined) {
      const cut = this.#endingOfAbort(this.#abort.cause)
      return new StageStop(cut.reason, cut.message)
    }
    const named = endings[reason].stageBound ?? 'failed'
    // The run of the question knows its own limits, but not what the session's limits leave.
    if (named === 'max_budget_usd') return new StageStop(named, `No request fits into the remaining $${this.#leftUsd}.`)
    return new StageStop(named, signal.message === '' ? reason : signal.message)
  }

  get #leftUsd(): number {
    return Math.max(0, usdOf(this.#ledger.unspent().nanos))
  }

  #addUsage({ summary }: RunResult): void {
    const sums = new Map(Object.entries(this.#usage))
    for (const [model, { usage, costUsd }] of Object.entries(summary.modelUsage)) {
      const before = sums.get(model)
      sums.set(
        model,
        before === undefined
          ? { usage, costUsd }
          : {
              usage: addUsage(before.usage, usage),
              costUsd: usdOf(nanosOf(before.costUsd) + nanosOf(costUsd)),
            },
      )
    }
    this.#usage = Object.fromEntries(sums)
  }

  #figures(): Pick<StageReport, 'turns' | 'costUsd' | 'committedUsd' | 'tokens' | 'modelUsage'> {
    const { settled, unknown } = this.#ledger.figures()
    return {
      turns: this.#turns,
      costUsd: usdOf(settled.nanos - unknown.nanos),
      committedUsd: usdOf(settled.nanos),
      tokens: settled.tokens,
      modelUsage: this.#usage,
    }
  }

  #modelOf({ model }: Pick<StageQuestion, 'model'>): Model {
    return model ?? this.#stage.model ?? this.#surroundings.model
  }

  /** Records the maximum that the stage may spend before it spends anything. Records it again with dollars before the first model with a price. */
  #start(model: Model): Promise<void> {
    if (hasPrice(model, this.#surroundings.options.prices)) return (this.#startedPriced ??= this.#recordLimit('priced'))
    return this.#startedPriced ?? (this.#started ??= this.#recordLimit('unpriced'))
  }

  async #recordLimit(kind: 'priced' | 'unpriced'): Promise<void> {
    const { lease } = this.#surroundings
    if (kind === 'priced' && lease !== null) {
      this.#endSpending ??= this.#ledger.lease?.spend()
      await this.#growLease(lease)
    }
    // Others may return what they have only reserved.
    const { nanos, tokens } = this.#ledger.unspent()
    const most: Amount = { nanos: kind === 'priced' ? Math.max(0, nanos) : 0, tokens: Math.max(0, tokens) }
    try {
      await this.#record({ phase: 'began', ...this.#identity, most })
    } catch (error) {
      throw new StageStop('failed', `Its start could not be recorded, so it asked nothing: ${messageOf(error)}`)
    }
  }

  // Spec R-BUD-17c.
  /**
   * Requests its budget from the lease before the start record names the amount. If its end is never recorded, that
   * amount is charged, and the session must be allowed to spend it.
   */
  async #growLease(shared: SharedLease): Promise<void> {
    const { lease } = shared
    const { ledger } = this.#surroundings
    shared.askedNanos += nanosOf(this.#limits.maxBudgetUsd)
    const target = Math.min(shared.askedNanos, ledger.availableIgnoringLease().nanos)
    const missing = target - ledger.available().nanos
    if (missing <= 0) return
    await lease.growTo(usdOf(nanosOf(lease.usd) + missing), { signal: this.#abort.signal })
    this.#checkOpen()
  }

  async #record(stage: StageRecord): Promise<void> {
    const { log } = this.#surroundings
    log?.append({ type: 'stage', stage })
    await log?.flush()
  }
}

function hasPrice(model: Model, ownPrices: Prices | undefined): boolean {
  const prices = pricesWith(ownPrices, () => [model])
  return askPrices(() => prices.worstCase(model.id, { inputTokens: 1, outputTokens: 1 })).kind !== 'none'
}

/** The same model with a lower cap for its replies. */
export function cappedModel(model: Model, maxReplyTokens: number): Model {
  const maxOutputTokens = Math.min(model.maxOutputTokens, maxReplyTokens)
  // The cap is also the default.
  const { defaultOutputTokens: _, ...facts } = modelFacts(model)
  const admit = model.admit?.bind(model)
  return {
    ...facts,
    maxOutputTokens,
    // The cap is in the request that `call` receives.
    ...(admit !== undefined && { admit }),
    call: (request, options) => model.call(request, options),
  }
}

/** How a stage ended, and its messages. */
export interface StageEnding {
  readonly reason: StageReason
  readonly message: string
  readonly details?: JsonObject
  readonly messages: readonly StageMessage[]
}

const maxMessageLength = 1_000
const maxMessages = 20
const maxBytes = 16_000

function endingOf(reason: StageReason, message: string): StageEnding {
  return { reason, message: headOf(message, maxMessageLength), messages: [] }
}

/** Parses the outcome of a stage, within limits; plain JavaScript may return anything. */
function parseOutcome(value: unknown): StageEnding {
  try {
    return parseFields(value)
  } catch {
    return endingOf('failed', 'Its outcome cannot be read.')
  }
}

/** Fields of an unchecked outcome. */
type DoneFields = { readonly [field in keyof Extract<StageOutcome, { readonly kind: 'done' }>]?: unknown }

function parseFields(value: unknown): StageEnding {
  // A stage in plain JavaScript that returns nothing has completed.
  if (value === undefined || value === null) return endingOf('completed', '')
  const { kind, message, details, messages: sent }: DoneFields = fieldsOf(value) ?? {}
  const text = typeof message === 'string' ? message : ''
  if (kind === 'skipped') return endingOf('skipped', text)
  if (kind !== 'done') return endingOf('failed', "A stage must return { kind: 'done' } or { kind: 'skipped' }.")
  const messages = Array.isArray(sent) ? sent.slice(0, maxMessages).flatMap(parseMessage) : []
  const ending: StageEnding = { ...endingOf('completed', text), messages }
  if (details === undefined) return ending
  const facts = jsonObjectOf(details)
  return isShort(facts) ? { ...ending, details: facts } : ending
}

/** The types of messages that a stage may send. */
const types: ReadonlySet<unknown> = new Set<StageMessage['type']>(['prompt_suggestion', 'system'])
const subtypes: ReadonlySet<unknown> = new Set(['informational', 'hook_summary'])

function parseMessage(value: unknown): readonly StageMessage[] {
  const message = jsonObjectOf(value)
  const { type, subtype } = message
  if (!types.has(type) || (type === 'system' && !subtypes.has(subtype)) || !isShort(message)) return []
  // The type was checked; the other fields are JSON.
  return [message as unknown as StageMessage]
}

function isShort(value: JsonObject): boolean {
  return JSON.stringify(value).length <= maxBytes
}
