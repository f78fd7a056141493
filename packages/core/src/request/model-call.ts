import type { Emit } from '../state/events.ts'
import type { Settled } from '../values/settle.ts'
import { isInstance, messageOf } from '../values/errors.ts'
import { digestOf } from '../values/hash.ts'
import { noUsage, type AssistantMessage, type ContentBlock, type Usage } from '../model/messages.ts'
import { promptTokensOf } from '../model/billed-parts.ts'
import { isServiceLimit } from '../model/service-limit.ts'
import { ModelError, type ModelErrorJson } from '../model/model-error.ts'
import type { Admission, Model, ModelReply, ModelRequest, ModelUpdate } from '../model/model.ts'
import { checkReportedUsage } from '../model/reported-usage.ts'
import { wallTimeOf } from '../values/clock.ts'
import type { Run } from '../run/run.ts'
import type { Charge } from '../run/request-bill.ts'
import { chargeFor, noCharge, unknownCharge, unreportedCharge } from './charge.ts'
import { callUntilCutOff } from './question-timeout.ts'
import type { Grant } from './grant.ts'
import { FrozenBlocks } from './frozen-blocks.ts'
import { storeReply, type StoredReply } from './stored-reply.ts'
import type { MadeAttempt, RequestPlan } from './request-plan.ts'
import { mayWaitAfter } from './wait-for-service.ts'

/** Listener for the updates that the model reports while it replies. */
interface ReplyListener {
  readonly onUpdate: (update: ModelUpdate, emit: Emit) => void
  readonly emit: Emit
  /** Records the id of the reply. */
  readonly recordReply: ((update: ModelUpdate) => void) | undefined
}

/** One model call in progress: collects its updates, and charges its outcome once. */
export class ModelCall {
  readonly #run: Run
  readonly #plan: RequestPlan
  readonly #grant: Grant
  readonly #request: ModelRequest
  readonly #listener: ReplyListener
  readonly #admission: Admission | undefined
  readonly #partial: PartialReply
  readonly #blocks: FrozenBlocks

  constructor(
    run: Run,
    plan: RequestPlan,
    grant: Grant,
    request: ModelRequest,
    listener: ReplyListener,
    admission: Admission | undefined,
  ) {
    this.#run = run
    this.#plan = plan
    this.#grant = grant
    this.#request = request
    this.#listener = listener
    this.#admission = admission
    this.#partial = new PartialReply(plan.model)
    this.#blocks = new FrozenBlocks(run.transcript)
  }

  /** Starts the call. The result is the model's answer, or any other value that the model returned. */
  start(): PromiseLike<ModelReply> {
    return callUntilCutOff(this.#run, this.#plan.cutOff, (signal) =>
      (this.#admission ?? this.#plan.model).call(this.#request, { signal, emit: (update) => this.#receive(update) }),
    )
  }

  #receive(received: ModelUpdate): void {
    // A model that ignores the abort may continue to report updates.
    const update = this.#partial.isClosed ? undefined : this.#blocks.checkUpdate(received)
    if (update === undefined) return
    this.#partial.add(update)
    const { onUpdate, emit, recordReply } = this.#listener
    recordReply?.(update)
    onUpdate(update, emit)
  }

  /** The outcome of the call. Later updates of the model are ignored. */
  end(settled: Settled<ModelReply>): MadeAttempt {
    const [run, plan, grant] = [this.#run, this.#plan, this.#grant]
    const { abort } = run.ports
    this.#partial.close()
    const reply = settled.kind === 'value' ? storeReply(settled.value, this.#blocks, plan.model.id) : undefined
    if (reply !== undefined) return answeredAttempt(run, plan, grant, reply)
    // An abort takes precedence over the error with which the model rejected after it.
    if (abort.cause !== undefined) {
      const charge = wasNotSent(settled) ? noCharge(plan.model) : unknownCharge(run, plan, grant)
      return { kind: 'aborted', cause: abort.cause, partial: this.#partial.message(this.#request), charge, grant }
    }
    const error = settled.kind === 'threw' ? recordOf(settled.error) : noReply
    const reported =
      settled.kind === 'threw' && isInstance(settled.error, ModelError) ? settled.error.toRecord().usage : null
    const { retryAfterMs } = error
    // Waiting does not fix a wrong key, so the retry time is stored only for service limits.
    const hasRetryTime = isServiceLimit(error) && retryAfterMs !== null && retryAfterMs > 0
    const retryAtMs = hasRetryTime ? wallTimeOf(run.context.timers) + retryAfterMs : undefined
    const failed = { kind: 'failed', error, charge: chargeOfFailure(run, plan, grant, error, reported), grant } as const
    const mayWait = mayWaitAfter(run, error)
    return {
      ...failed,
      ...(retryAtMs !== undefined && { retryAtMs }),
      ...(mayWait !== undefined && { mayWait }),
    }
  }
}

/** The adapter reports that the request was never sent. */
function wasNotSent(settled: Settled<ModelReply>): boolean {
  return (
    settled.kind === 'threw' &&
    isInstance(settled.error, ModelError) &&
    settled.error.toRecord().neverConnected === true
  )
}

const noReply = new ModelError({
  kind: 'unknown',
  message: 'The model adapter returned an invalid reply; expected { message: { content, usage, … } }.',
  retryable: false,
}).toRecord()

function answeredAttempt(run: Run, plan: RequestPlan, grant: Grant, reply: StoredReply): MadeAttempt {
  const { message, streamError, warnings } = reply
  return {
    kind: 'answered',
    message,
    streamError: streamError === undefined ? null : recordOf(streamError),
    grant,
    promptDigest: plan.promptDigest(),
    charge: chargeOfReply(run, plan, grant, reply),
    ...(warnings !== undefined && { warnings }),
  }
}

function chargeOfReply(run: Run, plan: RequestPlan, grant: Grant, reply: StoredReply): Charge {
  const { message, reportedUsage: reported, streamError, isBillingUnknown, mayBeFree } = reply
  // A broken stream reports no final usage, so the worst case is charged.
  if (streamError !== undefined) return unknownCharge(run, plan, grant)
  if (reported.isUsable) {
    if (isBillingUnknown) return unreportedCharge(run, plan, grant, 'no usage')
    // Every request has a prompt, so zero means that the service did not count, unless no model wrote the reply.
    if (!mayBeFree && promptTokensOf(reported.usage) <= 0)
      return unreportedCharge(run, plan, grant, 'a usage without a prompt')
  }
  return chargeFor(run, plan, grant, reported, message.model)
}

function chargeOfFailure(
  run: Run,
  plan: RequestPlan,
  grant: Grant,
  error: ModelErrorJson,
  reported: Usage | null,
): Charge {
  if (reported !== null) return chargeFor(run, plan, grant, checkReportedUsage(reported), grant.model)
  return error.billed === 'nothing' ? noCharge(plan.model) : unknownCharge(run, plan, grant)
}

/** Models should reject with `ModelError`. Anything else that is thrown is not retried. */
function recordOf(thrown: unknown): ModelErrorJson {
  if (isInstance(thrown, ModelError)) {
    const record = thrown.toRecord()
    return record.usage === null || checkReportedUsage(record.usage).isUsable ? record : { ...record, usage: null }
  }
  return new ModelError({ kind: 'unknown', message: messageOf(thrown), retryable: false }).toRecord()
}

/** The parts of a reply received so far. */
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

  /** Closes the reply: everything that arrives later is ignored. */
  close(): void {
    this.isClosed = true
  }

  /** What was received before the reply was interrupted: complete blocks, and the text of the incomplete one. */
  message({ idempotencyKey }: ModelRequest): AssistantMessage | null {
    const blocks = this.#blocks ?? []
    const content: ContentBlock[] = this.#text === '' ? blocks : [...blocks, { type: 'text', text: this.#text }]
    if (content.length === 0) return null
    // A block that must be sent back with its signature is included only if it is complete.
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
