import type { Emit } from '../events.ts'
import type { ModelErrorJson } from '../model/model-error.ts'
import type { Ports } from '../ports.ts'
import { entryId, withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { usdOf } from '../budget/prices.ts'
import {
  abortDraft,
  budgetDraft,
  budgetSignal,
  imageErrorDraft,
  loweredTokensDraft,
  modelErrorDraft,
  promptTooLongDraft,
} from './drafts.ts'
import type { Refusal } from './charge.ts'
import { closeCalls } from './close-calls.ts'
import { compactBy, estimateRequest } from './context.ts'
import { canEscalate, currentModel } from './current-model.ts'
import { say, sayUser } from './flow.ts'
import { draftOf, ends, goesOn, type Draft, type Outcome, type Route } from './outcome.ts'
import { withReply, type Answer, type Reply } from './respond.ts'

/** Every reply that is not a plain answer: what way on there is, and the ending if there is none. */
export function recover(reply: Exclude<Reply, Answer>, ports: Ports, emit: Emit): Outcome | Promise<Outcome> {
  switch (reply.kind) {
    case 'aborted':
      return closeAborted(reply, ports, emit)
    case 'refused':
      return ends(reply.state, refusalDraft(reply.refusal, reply.state, ports))
    case 'overloaded':
      return goesOn(reply.state, [fallback(emit)], () => modelErrorDraft(reply.error, reply.attempts))
    case 'failed':
      return recoverFailure(reply.state, reply.error, reply.attempts, ports, emit)
  }
}

function recoverFailure(state: RunState, error: ModelErrorJson, attempts: number, ports: Ports, emit: Emit): Outcome {
  switch (error.kind) {
    case 'prompt_too_long':
      return goesOn(state, roomRoutes(ports, emit), () => promptTooLongDraft(error))
    case 'image':
      return goesOn(state, [withoutMedia(error, emit)], () => imageErrorDraft(error))
    default:
      return ends(state, modelErrorDraft(error, attempts))
  }
}

/** A refused reservation: the run stops before the call. */
function refusalDraft(refusal: Refusal, state: RunState, ports: Ports): Draft {
  if (refusal.currency === 'usd') {
    const budget = budgetSignal(state, ports, 'ledger')
    const figures = { neededUsd: usdOf(refusal.needed), availableUsd: usdOf(refusal.available) }
    return draftOf('max_budget_usd', new StopSignal({ ...budget.toJSON(), context: { ...budget.context, ...figures } }))
  }
  const { totalTokens } = state.spent
  const limit = ports.settings.maxTokens
  const message = `Token limit reached: ${totalTokens}/${limit} used, and the next request may need ${refusal.needed}`
  const context = { used: totalTokens, limit, needed: refusal.needed, available: refusal.available }
  return draftOf('token_limit', new StopSignal({ reason: 'token_limit', message, context, source: 'ledger' }), {
    raisedBy: ['ledger'],
  })
}

/** After a 413: drain staged collapses, then compact. */
function roomRoutes(ports: Ports, emit: Emit): readonly Route[] {
  const route = (transition: 'collapse_drain_retry' | 'reactive_compact_retry', layer: 'drain' | 'compact'): Route => ({
    transition,
    async take(state) {
      const view = { state, model: currentModel(state, ports), estimatedTokens: estimateRequest(state, ports) }
      const compaction = ports.context[layer](view)
      if (compaction === undefined) return undefined
      const result = await compactBy(compaction, state, ports, emit)
      return result.done ? result.state : undefined
    },
  })
  return [route('collapse_drain_retry', 'drain'), route('reactive_compact_retry', 'compact')]
}

function withoutMedia(error: ModelErrorJson, emit: Emit): Route {
  return {
    transition: 'media_recovery',
    take(state) {
      const before = state.transcript.messages()
      const note = `[An image was removed here: the service refused it (${error.message}).]`
      const next = say(state, { kind: 'media_removed', id: entryId(state, 'media_removed'), note }, emit)
      const after = next.transcript.messages()
      // With no image left the same request would fail again.
      return after.every((message, index) => message === before[index]) ? undefined : next
    },
  }
}

function fallback(emit: Emit): Route {
  return {
    transition: 'model_fallback',
    take(state) {
      emit({ type: 'notice', message: 'The model is overloaded; the fallback model takes over.' })
      // Another model counts in tokens of its own.
      return withSpent(state, { counted: { tokens: 0, length: 0 } })
    },
  }
}

/** A reply that was cut by its cap, with no complete call in it: escalate → resume → surface. */
export function recoverCut(reply: Answer, ports: Ports, emit: Emit): Outcome {
  const { state, message, grant } = reply
  const keep = (from: RunState): RunState => withReply(from, reply, emit)
  if (grant.lowered !== null) {
    const draft = grant.lowered === 'usd' ? budgetDraft(state, ports) : loweredTokensDraft(state, ports)
    return ends(keep(state), draft)
  }
  const used = message.usage.output_tokens
  const signal = new StopSignal({
    reason: 'token_limit',
    message: `The reply was cut at ${grant.maxTokens} output tokens, again and again`,
    context: { used, limit: grant.maxTokens },
    source: 'model',
  })
  const say = {
    error: 'max_output_tokens',
    message: `The reply is longer than the model's output limit of ${grant.maxTokens} tokens.`,
  } as const
  const escalate: Route = {
    transition: 'max_output_tokens_escalate',
    // The cut reply is withheld: the same request is made with all the room there is.
    take: (from) => (canEscalate(from, ports) ? from : undefined),
  }
  const resume: Route = {
    transition: 'max_output_tokens_recovery',
    take: (from) => sayUser(keep(from), resumeMessage, 'loop', emit),
  }
  const draft = draftOf('max_output_tokens', signal, { say })
  // What there is, is kept: when neither way is open the cut reply stands.
  return goesOn(state, [escalate, resume], () => ({ ...draft, keep }))
}

const resumeMessage: string =
  'Your reply was cut off at the output limit. Go on exactly where it stopped, without an apology or a summary; break what is left into smaller parts.'

/** A stream that broke after completed text: resumed once, then an error. */
export function recoverBroken(reply: Answer, error: ModelErrorJson, emit: Emit): Outcome {
  const said = withReply(reply.state, reply, emit)
  emit({ type: 'notice', message: `The reply broke off and may be incomplete: ${error.message}` })
  const resume: Route = {
    transition: 'max_output_tokens_recovery',
    take: (from) =>
      from.spent.resumedBrokenReply
        ? undefined
        : withSpent(sayUser(from, brokenMessage, 'loop', emit), { resumedBrokenReply: true }),
  }
  return goesOn(said, [resume], () => modelErrorDraft(error, 1))
}

const brokenMessage = 'Your reply broke off because the connection was lost. Go on exactly where it stopped.'

/** The service paused a long turn: the reply is sent back as it is. */
export function resumePaused(reply: Answer, emit: Emit): Outcome {
  const state = withReply(reply.state, reply, emit)
  const error = { ...pausedError, message: 'The service paused the turn more often than allowed.' }
  return goesOn(state, [{ transition: 'pause_turn', take: (from) => from }], () => modelErrorDraft(error, 1))
}

const pausedError: ModelErrorJson = {
  kind: 'server_error',
  message: '',
  status: null,
  retryable: false,
  retryAfterMs: null,
  requestId: null,
  usage: null,
  billed: 'nothing',
}

/** The window was full while the model wrote: the way of a prompt that is too long. */
export function recoverWindow(reply: Answer, ports: Ports, emit: Emit): Outcome {
  const error: ModelErrorJson = {
    ...pausedError,
    kind: 'prompt_too_long',
    message: "The conversation filled the model's context window.",
  }
  return goesOn(reply.state, roomRoutes(ports, emit), () => promptTooLongDraft(error))
}

export function refused(reply: Answer, emit: Emit): Outcome {
  const state = withReply(reply.state, reply, emit)
  const signal = new StopSignal({
    reason: 'error',
    message: 'The model refused to answer',
    context: { stopReason: reply.message.stop_reason },
    source: 'model',
  })
  return ends(state, draftOf('refusal', signal))
}

/** The reply was aborted while it streamed: what had come is kept, and every call in it has a result. */
async function closeAborted(
  reply: Extract<Reply, { readonly kind: 'aborted' }>,
  ports: Ports,
  emit: Emit,
): Promise<Outcome> {
  const { cause, partial, early } = reply
  const draft = abortDraft(cause, 'streaming', reply.state, ports)
  if (partial === null) return ends(reply.state, draft)
  const said = withReply(reply.state, { message: partial, isCounted: false }, emit, true)
  const closed = await closeCalls(said, partial, cause, early, ports, emit)
  return ends(closed, draft)
}
