import type { AbortCause } from '../../cancel/abort.ts'
import { nothing } from '../../budget/ledger.ts'
import type { Settled } from '../../cancel/settle.ts'
import { isInstance, messageOf } from '../../errors.ts'
import type { Emit } from '../../events.ts'
import type { Eventually } from '../../eventually.ts'
import { digestOf } from '../../hash.ts'
import { inputTokensOf, noUsage, type AssistantMessage, type ContentBlock, type Usage } from '../../messages.ts'
import { ModelError, type ModelErrorJson } from '../../model/model-error.ts'
import type { Model, ModelReply, ModelRequest, ModelUpdate } from '../../model/model.ts'
import { toldUsage } from '../../model/told-usage.ts'
import type { StepResult } from '../../steps/steps.ts'
import type { Run } from '../run.ts'
import { estimateRequest } from './estimate.ts'
import { tellFigures } from './tell-figures.ts'
import { chargeFor, noCharge, unknownCharge, type Charge } from './charge.ts'
import type { Grant, OverBudget, RequestBounds } from './grant.ts'
import { OwnBlocks } from './own-blocks.ts'
import { ownReply, type OwnReply } from './own-reply.ts'
import { reserveRequest } from './reserve.ts'

/** What one attempt came to, as recorded. */
export type Attempt =
  | {
      readonly kind: 'answered'
      readonly message: AssistantMessage
      /** Set when the stream broke after completed blocks. */
      readonly streamError: ModelErrorJson | null
      readonly grant: Grant
      readonly charge: Charge
      /** What the service's count is of, beside the messages; a resume may ask with another prompt (`PromptCount`). */
      readonly promptDigest: string
    }
  | { readonly kind: 'failed'; readonly error: ModelErrorJson; readonly charge: Charge }
  /** `partial` holds what had come, so that nothing that was read is lost. */
  | {
      readonly kind: 'aborted'
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly charge: Charge
    }
  /** The budget has no room for it: no request was made. */
  | { readonly kind: 'over_budget'; readonly overBudget: OverBudget }
  /** On record as begun and never as ended: charged at its reservation. */
  | { readonly kind: 'unknown'; readonly charge: Charge }

/** One request as it is asked and paid, whatever the number of the attempt. */
export interface RequestPlan extends RequestBounds {
  /** Of its steps; the number of the attempt comes behind it. */
  readonly name: string
  /** What it is about: a step that is found with another digest is a mismatch, not an answer (spec R-STEP-5). */
  digest(): string
  /** What is asked beside the messages. */
  promptDigest(): string
  body(): Omit<ModelRequest, 'maxTokens' | 'idempotencyKey'>
  /** Tokens of the conversation once it is answered: by what the service counted, where that is of the conversation. */
  contextAfter(usage: Usage | null): number
}

type OnUpdate = (update: ModelUpdate, emit: Emit) => void

/** Makes one attempt at the request: reserve, call, settle, all in one step. */
export function makeAttempt(
  run: Run,
  plan: RequestPlan,
  attempt: number,
  onUpdate: OnUpdate,
): Eventually<StepResult<Attempt>> {
  const { ledger } = run.ports
  let reserved: ReturnType<typeof reserveRequest> | undefined
  return run.step<Attempt>(
    `${plan.name}.${attempt}`,
    ({ emit, idempotencyKey }) => {
      if (reserved === undefined) throw new Error('a request needs its grant')
      const { grant, reservation } = reserved
      if (!grant.granted) return { kind: 'over_budget', overBudget: grant }
      const request: ModelRequest = { ...plan.body(), maxTokens: grant.maxTokens, idempotencyKey }
      const settle = (made: Made): Made => {
        const { charge } = made
        if (reservation !== undefined) ledger.settle(reservation, charge, charge.known)
        // A run without a limit may be given one while it goes on.
        else ledger.restore(charge, charge.known ? nothing : charge)
        if (run.ports.isHeard()) tellFigures(run, emit, plan.contextAfter(made.charge.usage))
        return made
      }
      if (reservation !== undefined && run.ports.isHeard()) tellFigures(run, emit, estimateRequest(run))
      return callModel(run, plan, grant, request, { settle, onUpdate: (update) => onUpdate(update, emit) })
    },
    {
      digest: () => plan.digest(),
      intent: () => {
        reserved = reserveRequest(run, plan)
        return reserved.grant
      },
      // What the intent of this key holds is what the line above gave.
      onUnfinished: (intent) => unfinishedAttempt(run, plan, intent as Grant | OverBudget),
      sync: ledger.limited ? 'intent' : 'none',
    },
  )
}

/** An intent without a result: the request may have been made. */
function unfinishedAttempt(run: Run, plan: RequestPlan, intent: Grant | OverBudget): Attempt {
  if (!intent.granted) return { kind: 'over_budget', overBudget: intent }
  const charge = unknownCharge(run, plan, intent)
  // What was taken aside is on the ledger since the resume; a run without a limit took nothing, and may have one now.
  if (intent.tokens === 0) run.ports.ledger.restore(charge, charge)
  return { kind: 'unknown', charge }
}

type Made = Exclude<Attempt, { readonly kind: 'over_budget' }>

interface CallListeners {
  readonly onUpdate: (update: ModelUpdate) => void
  /** What it came to, and is charged, once. */
  readonly settle: (made: Made) => Made
}

function callModel(
  run: Run,
  plan: RequestPlan,
  grant: Grant,
  request: ModelRequest,
  { settle, onUpdate }: CallListeners,
): Eventually<Made> {
  const { abort } = run.ports
  const { model } = plan
  if (abort.cause !== undefined)
    return settle({ kind: 'aborted', cause: abort.cause, partial: null, charge: noCharge(model) })
  const partial = new PartialReply(model)
  const blocks = new OwnBlocks(run.transcript)
  const emit = (given: ModelUpdate): void => {
    // A deaf model may go on talking after it was left.
    const update = partial.isClosed ? undefined : blocks.told(given)
    if (update === undefined) return
    partial.add(update)
    onUpdate(update)
  }
  const meaning = (settled: Settled<ModelReply>): Made => {
    partial.close()
    const reply = settled.kind === 'value' ? ownReply(settled.value, run.transcript) : undefined
    if (reply !== undefined) return answeredAttempt(run, plan, grant, reply)
    // An abort decides over whatever error it made the model reject with.
    if (abort.cause !== undefined) {
      const charge = unknownCharge(run, plan, grant)
      return { kind: 'aborted', cause: abort.cause, partial: partial.message(request), charge }
    }
    const error = settled.kind === 'threw' ? recordOf(settled.error) : noReply
    const told = settled.kind === 'threw' && isInstance(settled.error, ModelError) ? settled.error.usage : null
    return { kind: 'failed', error, charge: chargeOfFailure(run, plan, grant, error, told) }
  }
  return run.withGrace(
    () => model.call(request, { signal: abort.signal, emit }),
    (settled) => settle(meaning(settled)),
  )
}

const noReply = new ModelError({
  kind: 'unknown',
  message: 'The model adapter gave something that is no reply: { message: { content, usage, … } } is needed.',
  retryable: false,
}).toRecord()

function answeredAttempt(run: Run, plan: RequestPlan, grant: Grant, reply: OwnReply): Made {
  const { message, streamError, isBillingUnknown } = reply
  const told = toldUsage(message.usage)
  // A broken stream tells no final usage, and a prompt of no tokens was not counted: the worst case is what it may cost.
  const isNone = streamError !== undefined || isBillingUnknown || (told.isUsable && inputTokensOf(told.usage) <= 0)
  return {
    kind: 'answered',
    message: { ...message, usage: told.isUsable ? told.usage : noUsage, by: plan.model.id },
    streamError: streamError === undefined ? null : recordOf(streamError),
    grant,
    promptDigest: plan.promptDigest(),
    charge: isNone ? unknownCharge(run, plan, grant) : chargeFor(run, plan, grant, message.usage),
  }
}

function chargeOfFailure(run: Run, plan: RequestPlan, grant: Grant, error: ModelErrorJson, told: Usage | null): Charge {
  if (told !== null) return chargeFor(run, plan, grant, told)
  return error.billed === 'nothing' ? noCharge(plan.model) : unknownCharge(run, plan, grant)
}

/** Models reject with `ModelError`; whatever else one throws is no reason to try again. */
function recordOf(thrown: unknown): ModelErrorJson {
  if (isInstance(thrown, ModelError)) {
    const record = thrown.toRecord()
    return record.usage === null || toldUsage(record.usage).isUsable ? record : { ...record, usage: null }
  }
  return new ModelError({ kind: 'unknown', message: messageOf(thrown), retryable: false }).toRecord()
}

/** What has come of a reply so far. */
class PartialReply {
  readonly #model: Model
  #blocks: ContentBlock[] | undefined
  #text = ''
  #id = ''
  isClosed = false

  constructor(model: Model) {
    this.#model = model
  }

  add(update: ModelUpdate): void {
    if (update.type === 'text_delta') this.#text += update.text
    if (update.type !== 'block') return
    this.#id = update.messageId
    this.#text = ''
    ;(this.#blocks ??= []).push(update.block)
  }

  /** Nothing that comes later belongs to it. */
  close(): void {
    this.isClosed = true
  }

  /** What had come when the reply was cut: completed blocks, and the text of the one that was being written. */
  message({ idempotencyKey }: ModelRequest): AssistantMessage | null {
    const blocks = this.#blocks ?? []
    const content: ContentBlock[] = this.#text === '' ? blocks : [...blocks, { type: 'text', text: this.#text }]
    if (content.length === 0) return null
    // A block that a later turn must echo with a signature is complete here, or not here at all.
    return {
      role: 'assistant',
      id: this.#id === '' ? `partial-${digestOf(idempotencyKey)}` : this.#id,
      model: this.#model.id,
      content,
      stop_reason: null,
      usage: noUsage,
      by: this.#model.id,
    }
  }
}
