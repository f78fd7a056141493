import type { AbortCause } from '../cancel/abort.ts'
import {
  compactionRequests,
  type Compaction,
  type CompactionReply,
  type CompactionRequest,
  type CompactionResult,
} from '../context/port.ts'
import type { Settled } from '../cancel/settle.ts'
import { plainTextOf } from '../content.ts'
import { messageOf } from '../errors.ts'
import type { LoopEvent } from '../events.ts'
import { after, type Eventually } from '../eventually.ts'
import { jsonObjectOf, type Json } from '../json.ts'
import type { ModelMessage } from '../messages.ts'
import { ModelError } from '../model/model-error.ts'
import type { Model } from '../model/model.ts'
import { checkReplaced } from '../replaced-messages.ts'
import { noCount } from '../state.ts'
import { misfitOf } from '../stored.ts'
import { isModelMessages } from '../stored-transcript.ts'
import { abortDraft } from './endings.ts'
import type { Draft } from './outcome.ts'
import { askModel, type Asked, type Asker } from './request/ask-model.ts'
import type { RequestPlan } from './request/attempt.ts'
import { chargeOf, type Charge } from './request/charge.ts'
import { currentModel } from './request/current-model.ts'
import { estimateRequest } from './request/estimate.ts'
import { questionBoundOf } from './request/input-bound.ts'
import { heldBackBy } from './request/reserve.ts'
import type { Run } from './run.ts'

/** The recorded result of a compaction. Its model requests have records of their own, which are not read once this one exists. */
type CompactionRecord = {
  readonly result: CompactionResult
  readonly charges: readonly Charge[]
  /** Events beside its start and its end: retries and notices. */
  readonly told: readonly LoopEvent[]
  /** It was aborted, or a request of it was. */
  readonly aborted?: AbortCause
}

/** The result for the run. A draft when the compaction was aborted: the run ends with it. */
export type Compacted = 'done' | 'gave_up' | Draft

/** The name of the step that records the result of a compaction. */
function compactionName({ spent }: Run, trigger: Compaction['trigger']): string {
  return `compact:${spent.request}.${trigger}`
}

/** A compaction before this request that is recorded as done. It is used again, whatever the context layers would decide now (spec R-RES-10). */
export function recordedCompaction(run: Run): Compaction | undefined {
  const isDone = run.ports.isResumed && isOnRecord(run, compactionName(run, 'auto'))
  return isDone ? { trigger: 'auto', run: () => Promise.resolve(lost) } : undefined
}

const lost: CompactionResult = Object.freeze({ kind: 'gave_up', message: 'The record is gone.' })
const lostRecord: CompactionRecord = Object.freeze({ result: lost, charges: [], told: [] })

function isOnRecord(run: Run, name: string): boolean {
  return run.ports.steps.peek(run.key(name)) === 'done'
}

const composite = Object.freeze({ onUnfinished: 'rerun', sync: 'none', composite: true } as const)

/**
 * Runs a compaction. Its model requests are steps of their own, and its result is one more step.
 * A compaction that gave up changes nothing but the cost of the run.
 */
export function compactBy(run: Run, compaction: Compaction): Eventually<Compacted> {
  const { trigger } = compaction
  const name = compactionName(run, trigger)
  run.emit({ type: 'compact_start', trigger })
  if (isOnRecord(run, name)) {
    return after(
      run.step<CompactionRecord>(name, () => lostRecord, composite),
      ({ value }) => {
        for (const event of value.told) run.emit(event)
        for (const charge of value.charges) run.update(chargeOf(run.spent, charge, 'compaction'))
        return enter(run, trigger, value)
      },
    )
  }
  return new Compacting(run, name).perform(compaction).then((record) =>
    after(
      run.step<CompactionRecord>(name, () => record, composite),
      ({ value }) => enter(run, trigger, value),
    ),
  )
}

function enter(run: Run, trigger: Compaction['trigger'], { result, aborted }: CompactionRecord): Compacted {
  const isDone = result.kind === 'compacted'
  const message = isDone ? `${result.preTokens} → ${result.postTokens} tokens` : result.message
  run.emit({ type: 'compact_end', trigger, compacted: isDone, message })
  if (isDone) {
    const { messages, preTokens, postTokens } = result
    run.append({ kind: 'compact_boundary', id: run.entryId('compact'), messages, trigger, preTokens, postTokens })
    run.update({ compactions: run.spent.compactions + 1, counted: noCount })
  }
  if (aborted !== undefined) return abortDraft(run, aborted, 'streaming')
  return isDone ? 'done' : 'gave_up'
}

/**
 * One compaction while it runs. Q1: the run waits for every model request of it, also when the compaction ignored an abort, so nothing is
 * written later. Q2: a driver that fails breaks the run, also when the compaction catches the error. Q3: a request after its end is refused.
 */
class Compacting {
  readonly #run: Run
  readonly #name: string
  readonly #charges: Charge[] = []
  readonly #told: LoopEvent[] = []
  readonly #asking: Promise<unknown>[] = []
  #asked = 0
  #isOver = false
  #aborted: AbortCause | undefined

  constructor(run: Run, name: string) {
    this.#run = run
    this.#name = name
  }

  async perform(compaction: Compaction): Promise<CompactionRecord> {
    const { signal } = this.#run.ports.abort
    let breakRun: (error: unknown) => void = () => {}
    const broken = new Promise<never>((_resolve, reject) => {
      breakRun = reject
    })
    const ask = (request: CompactionRequest): Promise<CompactionReply> => {
      const reply = this.#ask(request)
      this.#asking.push(reply)
      reply.catch(breakRun)
      return reply
    }
    const working = this.#run.withGrace(
      () => compaction.run({ signal, ask }),
      (settled) => this.#resultOf(settled),
    )
    const result = await Promise.race([working, broken])
    this.#isOver = true
    await Promise.all(this.#asking)
    const record = { result, charges: this.#charges, told: this.#told }
    return this.#aborted === undefined ? record : { ...record, aborted: this.#aborted }
  }

  async #ask(request: CompactionRequest): Promise<CompactionReply> {
    const run = this.#run
    if (this.#isOver) return { kind: 'aborted' }
    const number = ++this.#asked
    const problem =
      number > compactionRequests ? `A compaction may ask ${compactionRequests} times.` : problemOf(run, request)
    if (problem !== undefined) return refused(problem)
    const model = request.model ?? currentModel(run)
    const asked = await askModel(run, this.#planOf(request, model, number), this.#askerOf(number))
    if (asked.kind === 'aborted') this.#aborted ??= asked.cause
    return replyOf(asked)
  }

  #resultOf(settled: Settled<CompactionResult>): CompactionResult {
    if (settled.kind === 'value') return resultOf(this.#run, settled.value)
    if (settled.kind === 'threw') return { kind: 'gave_up', message: messageOf(settled.error) }
    this.#aborted ??= settled.cause
    return { kind: 'gave_up', message: 'aborted' }
  }

  #planOf(request: CompactionRequest, model: Model, number: number): RequestPlan {
    const run = this.#run
    const { system, messages, tools = [] } = request
    const cap = request.maxTokens ?? model.defaultOutputTokens ?? model.maxOutputTokens
    return {
      name: `${this.#name}/${number}`,
      model,
      cap: Math.min(cap, model.maxOutputTokens),
      inputBound: (bounded) => questionBoundOf(run, request, bounded),
      heldBack: () => heldBackBy(run),
      digest: () => run.transcript.digest().toString(36),
      promptDigest: () => '',
      contextAfter: () => estimateRequest(run),
      body: ({ maxTokens }, idempotencyKey) => {
        const plain = { system, messages, tools, maxTokens, idempotencyKey }
        return tools.length === 0 ? plain : { ...plain, toolChoice: 'none' }
      },
    }
  }

  #askerOf(number: number): Asker {
    const run = this.#run
    return {
      retryName: `${this.#name}/retry:${number}`,
      canFallBack: false,
      begin: () => () => {},
      tell: (event) => this.#tell(event),
      enter: (_attempt, { value }) => {
        if (value.kind === 'over_budget' || (value.kind === 'aborted' && value.charge.known)) return
        const { charge } = value
        this.#charges.push(charge)
        if (charge.note !== undefined) this.#tell({ type: 'notice', message: charge.note })
        run.update(chargeOf(run.spent, charge, 'compaction'))
      },
    }
  }

  #tell(event: LoopEvent): void {
    this.#told.push(event)
    this.#run.emit(event)
  }
}

/** Checks what the compaction gave. A conversation that the service refuses would end every later run of the session. */
function resultOf({ transcript }: Run, given: unknown): CompactionResult {
  const result = jsonObjectOf(given)
  const { kind, message, messages, preTokens, postTokens } = result
  if (kind === 'gave_up') return { kind, message: plainTextOf(message) }
  if (kind !== 'compacted' || !Array.isArray(messages)) return noResult
  try {
    // `checkReplaced` looks at the shape of what it is given.
    const shown = messages as unknown as readonly ModelMessage[]
    checkReplaced(transcript, shown)
    return { kind, messages: shown, preTokens: countOf(preTokens), postTokens: countOf(postTokens) }
  } catch (error) {
    return { kind: 'gave_up', message: messageOf(error) }
  }
}

function countOf(tokens: Json | undefined): number {
  return typeof tokens === 'number' && tokens >= 0 ? tokens : 0
}

const noResult: CompactionResult = Object.freeze({
  kind: 'gave_up',
  message: 'The compaction gave something that is no result.',
})

/** What is wrong with a request of a compaction; undefined when it can be made. */
function problemOf(run: Run, request: CompactionRequest): string | undefined {
  try {
    const { system, messages, model } = request
    const misfit = misfitOf(messages, isModelMessages)
    if (typeof system !== 'string' || misfit !== undefined)
      return `A question of a compaction is { system, messages }, and this is none: ${misfit ?? 'its system prompt is no text'}.`
    if (model === undefined || isNamed(run, model)) return undefined
    return `${model.id} is no model of this run: name it in \`models\` of the context defence.`
  } catch (error) {
    return messageOf(error)
  }
}

function isNamed({ context }: Run, { id }: Model): boolean {
  const { models, contextDefence } = context
  return [...models, ...(contextDefence.models ?? [])].some((named) => named.id === id)
}

function refused(message: string): CompactionReply {
  const error = new ModelError({ kind: 'invalid_request', message, retryable: false, billed: 'nothing' })
  return { kind: 'failed', error: error.toRecord() }
}

function replyOf(asked: Asked): CompactionReply {
  switch (asked.kind) {
    case 'answered':
      return { kind: 'answered', message: asked.message, streamError: asked.streamError }
    case 'aborted':
    case 'over_budget':
      return { kind: asked.kind }
    case 'failed':
    case 'overloaded':
      return { kind: 'failed', error: asked.error }
  }
}
