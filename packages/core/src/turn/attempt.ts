import type { AbortCause } from '../cancel/abort.ts'
import { settleWithin, type Settled } from '../cancel/settle.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import { digestOf, hashText } from '../hash.ts'
import { inputTokensOf, noUsage, type AssistantMessage, type ContentBlock } from '../messages.ts'
import { ModelError, type ModelErrorJson } from '../model/model-error.ts'
import type { Model, ModelReply, ModelRequest, ModelUpdate } from '../model/model.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import type { StepResult } from '../steps/steps.ts'
import type { EarlyStarts } from '../tools/early-starts.ts'
import { chargeFor, noCharge, reserveRequest, unknownCharge, type Charge, type Grant, type Refusal } from './charge.ts'
import { keyOf } from './keys.ts'

/** What one attempt came to, as recorded. */
export type Attempt =
  | {
      readonly kind: 'answered'
      readonly message: AssistantMessage
      readonly interrupted: ModelErrorJson | null
      readonly grant: Grant
      readonly charge: Charge
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
  | { readonly kind: 'refused'; readonly refusal: Refusal }
  /** On record as begun and never as ended: charged at its reservation. */
  | { readonly kind: 'unknown'; readonly charge: Charge }

export interface AttemptPlan {
  readonly attempt: number
  readonly model: Model
  /** Cap of the reply before the budget has its say. */
  readonly cap: number
  /** The last answer at a limit: no tools, and nothing is held back for it any more. */
  readonly closing: boolean
}

/** Makes one attempt at the request: reserve, call, settle, all in one step. */
export function makeAttempt(
  plan: AttemptPlan,
  state: RunState,
  ports: Ports,
  emit: Emit,
  early: EarlyStarts,
): Promise<StepResult<Attempt>> {
  const { model, attempt, closing } = plan
  const name = closing ? `wrap_up:1.${attempt}` : `model:${state.spent.request}.${attempt}`
  let reserved: ReturnType<typeof reserveRequest> | undefined
  return ports.steps.run<Attempt>(
    keyOf(state, name),
    async ({ emit: live, idempotencyKey }) => {
      if (reserved === undefined) throw new Error('a request needs its grant')
      const { grant, reservation } = reserved
      if (!grant.granted) return { kind: 'refused', refusal: grant }
      const made = await callModel(plan, grant, idempotencyKey, state, ports, live, early)
      if (reservation !== undefined) ports.ledger.settle(reservation, made.charge, made.charge.known)
      return made
    },
    {
      signal: ports.abort.signal,
      emit,
      digest: () => requestDigest(state, ports, model, plan),
      intent: () => {
        reserved = reserveRequest(state, ports, model, plan.cap, ports.settings.wrapUp && !closing)
        return reserved.grant
      },
      onOpen: (intent) => openAttempt(intent as Grant | Refusal, model),
      sync: ports.ledger.limited ? 'intent' : 'none',
    },
  )
}

/** An intent without a result: the request may have been made. */
function openAttempt(intent: Grant | Refusal, model: Model): Attempt {
  if (!intent.granted) return { kind: 'refused', refusal: intent }
  return {
    kind: 'unknown',
    charge: { model: model.id, nanos: intent.nanos, tokens: intent.tokens, known: false, usage: null },
  }
}

/** Chained once a run: the system prompt and the tools do not change in it. */
const systemDigests = new WeakMap<object, number>()

function requestDigest(state: RunState, ports: Ports, model: Model, plan: AttemptPlan): string {
  let fixed = systemDigests.get(ports.toolDefinitions)
  if (fixed === undefined) {
    fixed = hashText(ports.toolDefinitions.map((tool) => tool.name).join(), hashText(ports.settings.system))
    systemDigests.set(ports.toolDefinitions, fixed)
  }
  return digestOf(`${model.id} ${plan.cap} ${state.transcript.digest()}`, fixed)
}

type Made = Exclude<Attempt, { readonly kind: 'refused' }>

function callModel(
  { model, closing }: AttemptPlan,
  grant: Grant,
  idempotencyKey: string,
  state: RunState,
  ports: Ports,
  emit: Emit,
  early: EarlyStarts,
): Made | Promise<Made> {
  const { abort, settings, timers } = ports
  if (abort.cause !== undefined) return { kind: 'aborted', cause: abort.cause, partial: null, charge: noCharge(model) }
  const { request } = state.spent
  const common = {
    system: settings.system,
    messages: state.transcript.messages(),
    tools: ports.toolDefinitions,
    maxTokens: grant.maxTokens,
    idempotencyKey,
  }
  const body: ModelRequest = closing ? { ...common, toolChoice: 'none' } : common
  const partial = createPartial(model)
  let open = true
  const onUpdate = (update: ModelUpdate): void => {
    // A deaf model may go on talking after it was left.
    if (!open) return
    partial.add(update)
    if (update.type === 'block') early.consider(update.block)
    emit({ type: 'model_update', request, update })
  }
  const meaning = (settled: Settled<ModelReply>): Made => {
    open = false
    if (settled.kind === 'value' && isReply(settled.value)) return answered(settled.value, grant, model, state, ports)
    // An abort decides over whatever error it made the model reject with.
    if (abort.cause !== undefined) {
      return {
        kind: 'aborted',
        cause: abort.cause,
        partial: partial.message(body),
        charge: unknownCharge(model, grant, state, ports),
      }
    }
    const error = settled.kind === 'threw' ? recordOf(settled.error) : noReply
    return { kind: 'failed', error, charge: chargeOfFailure(error, model, grant, state, ports) }
  }
  return settleWithin(
    () => model.call(body, { signal: abort.signal, emit: onUpdate }),
    abort,
    settings.graceMs,
    timers,
    meaning,
  )
}

function isReply(reply: unknown): reply is ModelReply {
  if (typeof reply !== 'object' || reply === null || !('message' in reply)) return false
  const { message } = reply
  if (typeof message !== 'object' || message === null || !('content' in message && 'usage' in message)) return false
  return Array.isArray(message.content) && typeof message.usage === 'object' && message.usage !== null
}

const noReply = new ModelError({
  kind: 'unknown',
  message: 'The model adapter gave something that is no reply: { message: { content, usage, … } } is needed.',
  retryable: false,
}).toRecord()

function answered(reply: ModelReply, grant: Grant, model: Model, state: RunState, ports: Ports): Made {
  const { message, interrupted, billed } = reply
  // A broken stream tells no final usage, and a prompt of no tokens was not counted: the worst case is what it may cost.
  const isTold = interrupted === undefined && billed !== 'unknown' && inputTokensOf(message.usage) > 0
  const charge = isTold ? chargeFor(model, message.usage, ports) : unknownCharge(model, grant, state, ports)
  return {
    kind: 'answered',
    message: { ...message, by: model.id },
    interrupted: interrupted?.toRecord() ?? null,
    grant,
    charge,
  }
}

function chargeOfFailure(error: ModelErrorJson, model: Model, grant: Grant, state: RunState, ports: Ports): Charge {
  if (error.usage !== null) return chargeFor(model, error.usage, ports)
  return error.billed === 'nothing' ? noCharge(model) : unknownCharge(model, grant, state, ports)
}

/** Models reject with `ModelError`; whatever else one throws is no reason to try again. */
function recordOf(thrown: unknown): ModelErrorJson {
  if (thrown instanceof ModelError) return thrown.toRecord()
  return new ModelError({ kind: 'unknown', message: messageOf(thrown), retryable: false }).toRecord()
}

interface Partial {
  add(update: ModelUpdate): void
  /** What had come when the reply was cut: completed blocks, and the text of the one that was being written. */
  message(body: ModelRequest): AssistantMessage | null
}

function createPartial(model: Model): Partial {
  const blocks: ContentBlock[] = []
  let text = ''
  let id = ''
  return {
    add(update) {
      if (update.type === 'text_delta') text += update.text
      if (update.type !== 'block') return
      id = update.messageId
      text = ''
      blocks.push(update.block)
    },
    message(body) {
      const content: ContentBlock[] = text === '' ? blocks : [...blocks, { type: 'text', text }]
      if (content.length === 0) return null
      // A block that a later turn must echo with a signature is complete here, or not here at all.
      return {
        role: 'assistant',
        id: id === '' ? `partial-${digestOf(body.idempotencyKey)}` : id,
        model: model.id,
        content,
        stop_reason: null,
        usage: noUsage,
        by: model.id,
      }
    },
  }
}
