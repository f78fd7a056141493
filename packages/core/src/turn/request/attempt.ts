import type { AbortCause } from '../../cancel/abort.ts'
import { nothing } from '../../budget/ledger.ts'
import { usdOf } from '../../budget/prices.ts'
import type { Settled } from '../../cancel/settle.ts'
import { isInstance, messageOf } from '../../errors.ts'
import type { Emit, LoopEvent } from '../../events.ts'
import { after, type Eventually } from '../../eventually.ts'
import { digestOf } from '../../hash.ts'
import { noUsage, type AssistantMessage, type ContentBlock, type Usage } from '../../messages.ts'
import { promptTokensOf } from '../../model/billed-parts.ts'
import { ModelError, type ModelErrorJson } from '../../model/model-error.ts'
import type { Admission, Model, ModelReply, ModelRequest, ModelUpdate } from '../../model/model.ts'
import { toldUsage } from '../../model/told-usage.ts'
import type { StepResult } from '../../steps/steps.ts'
import type { Run } from '../run.ts'
import { estimateRequest } from './estimate.ts'
import { tellFigures } from './tell-figures.ts'
import type { Charge } from './bill.ts'
import { chargeFor, noCharge, restoreForAgent, unknownCharge, untoldCharge } from './charge.ts'
import type { Grant, OverBudget, RequestBounds } from './grant.ts'
import { untilCutOff } from './cut-off.ts'
import { OwnBlocks } from './own-blocks.ts'
import { ownReply, type OwnReply } from './own-reply.ts'
import { reserveGrowing, reserveRequest, type Reserved } from './reserve.ts'

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
  | { readonly kind: 'failed'; readonly error: ModelErrorJson; readonly charge: Charge; readonly grant: Grant }
  /** `partial` holds what had come, so that nothing that was read is lost. */
  | {
      readonly kind: 'aborted'
      readonly cause: AbortCause
      readonly partial: AssistantMessage | null
      readonly charge: Charge
      /** None where it waited for room. */
      readonly grant?: Grant
    }
  /** The budget has no room for it: no request was made. */
  | { readonly kind: 'over_budget'; readonly overBudget: OverBudget }
  /** On record as begun and never as ended: charged at its reservation. */
  | { readonly kind: 'unknown'; readonly charge: Charge; readonly grant: Grant }

/** One request as it is asked and paid, whatever the number of the attempt. */
export interface RequestPlan extends RequestBounds {
  /** It is made beside the turn: nothing of the run is written, and whoever asks enters it later. */
  readonly isBeside?: true
  /** It is a question beside the conversation, which no `model_start` tells of. */
  readonly isQuestion?: true
  /** Aborted when nobody waits for the answer any more. */
  readonly cutOff?: AbortSignal
  /** Of its steps; the number of the attempt comes behind it. */
  readonly name: string
  /** What it is about: a step that is found with another digest is a mismatch, not an answer (spec R-STEP-5). */
  digest(): string
  /** What is asked beside the messages. */
  promptDigest(): string
  body(grant: Grant, idempotencyKey: string): ModelRequest
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
  const { lease } = run.context.settings
  const { model } = plan
  if (lease === null && model.admit === undefined) return makeReserved(run, plan, attempt, onUpdate, {})
  let before: Before = {}
  // What was reserved is in the intent of the attempt: nothing of this one is read again.
  const waited = stepOf(run, plan)(`admit:${plan.name}.${attempt}`, async ({ signal }) => {
    const tokens = plan.contextAfter(null) + plan.cap
    // Whoever is aborted is told so by the attempt; what else is wrong, the call says.
    const admission = await model.admit?.({ tokens, signal }).catch(() => undefined)
    before = { admission, reserved: lease === null ? undefined : await reserveGrowing(run, plan, lease, signal) }
    return null
  })
  return after(waited, () => makeReserved(run, plan, attempt, onUpdate, before))
}

/** What this process has for the attempt before it begins. */
interface Before {
  readonly admission?: Admission | undefined
  readonly reserved?: Reserved | undefined
}

function stepOf(run: Run, plan: RequestPlan): Run['step'] {
  return plan.isBeside === true ? run.stepBeside.bind(run) : run.step.bind(run)
}

function makeReserved(
  run: Run,
  plan: RequestPlan,
  attempt: number,
  onUpdate: OnUpdate,
  { admission, reserved: reservedBefore }: Before,
): Eventually<StepResult<Attempt>> {
  const { ledger } = run.ports
  let reserved = reservedBefore
  const made = stepOf(run, plan)<Attempt>(
    `${plan.name}.${attempt}`,
    ({ emit, idempotencyKey }) => {
      if (reserved === undefined) throw new Error('a request needs its grant')
      const { grant, reservation } = reserved
      const cause = run.ports.abort.causeNow()
      if (!grant.granted) {
        admission?.leave()
        // It waited for its lease, or for the next attempt, and was aborted there.
        if (cause !== undefined) return { kind: 'aborted', cause, partial: null, charge: noCharge(plan.model) }
        return { kind: 'over_budget', overBudget: grant }
      }
      const request = plan.body(grant, idempotencyKey)
      const settle = (made: Made): Made => {
        const { charge } = made
        if (reservation !== undefined) ledger.settle(reservation, charge, charge.known)
        // A run without a limit may be given one while it goes on.
        else ledger.restore(charge, charge.known ? nothing : charge)
        if (!run.ports.isHeard()) return made
        if (plan.isQuestion === true) emit(endOfQuestion(plan, attempt, made))
        tellFigures(run, emit, plan.contextAfter(toldBy(made)))
        return made
      }
      if (plan.isQuestion === true && run.ports.isHeard())
        emit({ type: 'question_start', name: plan.name, attempt, model: plan.model.id })
      if (reservation !== undefined && run.ports.isHeard()) tellFigures(run, emit, estimateRequest(run))
      if (cause !== undefined) {
        admission?.leave()
        return settle({ kind: 'aborted', cause, partial: null, charge: noCharge(plan.model), grant })
      }
      const call = new ModelCall(run, plan, grant, request, (update) => onUpdate(update, emit), admission)
      return run.withGrace(
        () => call.start(),
        (settled) => settle(call.end(settled)),
      )
    },
    {
      digest: () => plan.digest(),
      intent: () => {
        reserved ??= reserveRequest(run, plan)
        return reserved.grant
      },
      // What the intent of this key holds is what the line above gave.
      onUnfinished: (intent) => unfinishedAttempt(run, plan, intent as Grant | OverBudget),
      sync: ledger.limited ? 'intent' : 'none',
    },
  )
  if (run.identity.depth === 0) return made
  return after(made, (came) => {
    if (came.replayed && 'charge' in came.value) restoreForAgent(run, [came.value.charge])
    return came
  })
}

/** An intent without a result: the request may have been made. */
function unfinishedAttempt(run: Run, plan: RequestPlan, intent: Grant | OverBudget): Attempt {
  if (!intent.granted) return { kind: 'over_budget', overBudget: intent }
  const charge = unknownCharge(run, plan, intent)
  // What its intent tells is on the ledger since the resume. A run without a limit told nothing in earlier versions, and may have one now.
  if (intent.tokens === 0 && intent.most === undefined) run.ports.ledger.restore(charge, charge)
  return { kind: 'unknown', charge, grant: intent }
}

type Made = Exclude<Attempt, { readonly kind: 'over_budget' }>

function endOfQuestion({ name, model }: RequestPlan, attempt: number, { kind, charge }: Made): LoopEvent {
  // One that was lost with its process is asked by nobody here.
  const outcome = kind === 'unknown' ? 'failed' : kind
  const costUsd = usdOf(charge.nanos)
  return { type: 'question_end', name, attempt, model: model.id, outcome, usage: charge.usage, costUsd }
}

/** The usage as the service told it, where it was counted. */
function toldBy(made: Made): Usage | null {
  return made.kind === 'answered' && made.charge.usage !== null ? made.message.usage : made.charge.usage
}

/** One call of the model on its way: what it tells is kept, and what it comes to is charged once. */
class ModelCall {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #grant: Grant
  readonly #request: ModelRequest
  readonly #onUpdate: (update: ModelUpdate) => void
  readonly #admission: Admission | undefined
  readonly #partial: PartialReply
  readonly #blocks: OwnBlocks

  constructor(
    run: Run,
    plan: RequestPlan,
    grant: Grant,
    request: ModelRequest,
    onUpdate: (update: ModelUpdate) => void,
    admission: Admission | undefined,
  ) {
    this.#run = run
    this.#plan = plan
    this.#grant = grant
    this.#request = request
    this.#onUpdate = onUpdate
    this.#admission = admission
    this.#partial = new PartialReply(plan.model)
    this.#blocks = new OwnBlocks(run.transcript)
  }

  /** The model's answer, or whatever it gave instead of one. */
  start(): PromiseLike<ModelReply> {
    return untilCutOff(this.#run, this.#plan.cutOff, (signal) =>
      (this.#admission ?? this.#plan.model).call(this.#request, { signal, emit: (update) => this.#hear(update) }),
    )
  }

  #hear(given: ModelUpdate): void {
    // A deaf model may go on talking after it was left.
    const update = this.#partial.isClosed ? undefined : this.#blocks.told(given)
    if (update === undefined) return
    this.#partial.add(update)
    this.#onUpdate(update)
  }

  /** What it came to; nothing that the model tells later belongs to it. */
  end(settled: Settled<ModelReply>): Made {
    const [run, plan, grant] = [this.#run, this.#plan, this.#grant]
    const { abort } = run.ports
    this.#partial.close()
    const reply = settled.kind === 'value' ? ownReply(settled.value, this.#blocks, plan.model.id) : undefined
    if (reply !== undefined) return answeredAttempt(run, plan, grant, reply)
    // An abort decides over whatever error it made the model reject with.
    if (abort.cause !== undefined) {
      const charge = wasNotSent(settled) ? noCharge(plan.model) : unknownCharge(run, plan, grant)
      return { kind: 'aborted', cause: abort.cause, partial: this.#partial.message(this.#request), charge, grant }
    }
    const error = settled.kind === 'threw' ? recordOf(settled.error) : noReply
    const told =
      settled.kind === 'threw' && isInstance(settled.error, ModelError) ? settled.error.toRecord().usage : null
    return { kind: 'failed', error, charge: chargeOfFailure(run, plan, grant, error, told), grant }
  }
}

/** Whoever was to make the request says that it never came to that. */
function wasNotSent(settled: Settled<ModelReply>): boolean {
  return (
    settled.kind === 'threw' &&
    isInstance(settled.error, ModelError) &&
    settled.error.toRecord().neverConnected === true
  )
}

const noReply = new ModelError({
  kind: 'unknown',
  message: 'The model adapter gave something that is no reply: { message: { content, usage, … } } is needed.',
  retryable: false,
}).toRecord()

function answeredAttempt(run: Run, plan: RequestPlan, grant: Grant, reply: OwnReply): Made {
  const { message, streamError } = reply
  return {
    kind: 'answered',
    message,
    streamError: streamError === undefined ? null : recordOf(streamError),
    grant,
    promptDigest: plan.promptDigest(),
    charge: chargeOfReply(run, plan, grant, reply),
  }
}

function chargeOfReply(run: Run, plan: RequestPlan, grant: Grant, reply: OwnReply): Charge {
  const { message, told, streamError, isBillingUnknown } = reply
  // A broken stream tells no final usage: the worst case is what it may cost.
  if (streamError !== undefined) return unknownCharge(run, plan, grant)
  if (told.isUsable) {
    if (isBillingUnknown) return untoldCharge(run, plan, grant, 'no usage')
    // No request has an empty prompt: it was not counted.
    if (promptTokensOf(told.usage) <= 0) return untoldCharge(run, plan, grant, 'a usage without a prompt')
  }
  return chargeFor(run, plan, grant, told, message.model)
}

function chargeOfFailure(run: Run, plan: RequestPlan, grant: Grant, error: ModelErrorJson, told: Usage | null): Charge {
  if (told !== null) return chargeFor(run, plan, grant, toldUsage(told), grant.model)
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
