import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import type { Ports } from '../ports.ts'
import { withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { StopSignals } from '../stop/signals.ts'
import { toolCallsOf } from '../messages.ts'
import { act } from './act.ts'
import { controlAt, type Controlled } from './checkpoint.ts'
import { abortDraft, budgetDraft, committedUsd, loweredTokensDraft } from './drafts.ts'
import { noEarlyStarts } from '../tools/early-starts.ts'
import { closeCalls, notRunAll, openCallsOf } from './close-calls.ts'
import { draftOf, ends, type Draft, type Outcome } from './outcome.ts'
import { standingDraft } from './prepare.ts'
import { recoverBroken, recoverCut, recoverWindow, refused, resumePaused } from './recover.ts'
import { withReply, type Answer, type Reply } from './respond.ts'
import { runHooks, withHookMessages, type HookRun } from './run-hooks.ts'
import { tellTurn } from './flow.ts'
import { settle } from './settle.ts'

/** A reply that the model did not end by itself, and that holds no complete call to go on with. */
export function unfinished(reply: Answer, ports: Ports, emit: Emit): Outcome | undefined {
  const { message, calls, interrupted } = reply
  if (message.stop_reason === 'model_context_window_exceeded') return recoverWindow(reply, ports, emit)
  if (message.stop_reason === 'refusal') return undefined
  if (calls.length > 0) return undefined
  if (interrupted !== null) return recoverBroken(reply, interrupted, emit)
  if (message.stop_reason === 'max_tokens') return recoverCut(reply, ports, emit)
  if (message.stop_reason === 'pause_turn') return resumePaused(reply, emit)
  return undefined
}

/** A whole answer: on record, hooks, checkpoint, cost check; then its calls, or the end. */
export function hear(reply: Answer, ports: Ports, emit: Emit): Outcome | Promise<Outcome> {
  const { message, calls, interrupted } = reply
  if (message.stop_reason === 'refusal') {
    const outcome = refused(reply, emit)
    return { ...outcome, state: notRunAll(outcome.state, calls, 'the model refused to go on', emit) }
  }
  if (interrupted !== null) {
    emit({ type: 'notice', message: `The reply broke off and may be incomplete: ${interrupted.message}` })
  }
  const hooks = runHooks('afterInference', withReply(reply.state, reply, emit), ports, emit)
  return hooks instanceof Promise ? hooks.then((run) => look(reply, run, ports, emit)) : look(reply, hooks, ports, emit)
}

/** The checkpoint after a reply. */
function look(reply: Answer, hooks: HookRun, ports: Ports, emit: Emit): Outcome | Promise<Outcome> {
  if (hooks.aborted !== undefined) return endAborted(reply, hooks.state, hooks.aborted, ports, emit)
  const control = controlAt('after_reply', hooks.state, ports, emit)
  if (control instanceof Promise) return control.then((came) => goOnWith(reply, hooks, came, ports, emit))
  return goOnWith(reply, hooks, control, ports, emit)
}

function goOnWith(
  reply: Answer,
  hooks: HookRun,
  control: Controlled,
  ports: Ports,
  emit: Emit,
): Outcome | Promise<Outcome> {
  const { message, calls, early } = reply
  const current = control.state
  if (control.abort !== undefined) return endAborted(reply, current, control.abort, ports, emit)
  const stop = costDraft(current, ports) ?? tokensDraft(current, ports) ?? standing(current)
  if (stop !== undefined) {
    const closed = notRunAll(current, calls, `the run stopped (${stop.signal.toString()})`, emit)
    return ends(withHookMessages(closed, hooks.messages, emit), stop)
  }
  if (calls.length > 0) return act(current, calls, early, hooks.messages, ports, emit)
  return settle(withHookMessages(current, hooks.messages, emit), message, ports, emit)
}

function standing(state: RunState): Draft | undefined {
  return state.continuation.stopSignals().hasAny() ? standingDraft(state, []) : undefined
}

async function endAborted(
  reply: Answer,
  state: RunState,
  cause: AbortCause,
  ports: Ports,
  emit: Emit,
): Promise<Outcome> {
  const closed = await closeCalls(state, reply.message, cause, reply.early, ports, emit)
  return ends(closed, abortDraft(cause, 'streaming', closed, ports))
}

/** A run that goes on with calls that waited for a person: they are acted on before the model is asked again. */
export function actOnApproved(state: RunState, ports: Ports, emit: Emit): Promise<Outcome> {
  tellTurn(state, emit)
  return act(state, openCallsOf(state), noEarlyStarts, [], ports, emit)
}

/** The second line behind the ledger: what was spent is looked at after every message (spec R-BUD-8). */
function costDraft(state: RunState, ports: Ports): Draft | undefined {
  const { spentBeforeUsd, maxBudgetUsd } = ports.settings
  return spentBeforeUsd + committedUsd(state) >= maxBudgetUsd ? budgetDraft(state, ports) : undefined
}

/** A service that wrote more than it was asked for: the ledger could not keep that in bounds, and it is not passed over. */
function tokensDraft(state: RunState, ports: Ports): Draft | undefined {
  return state.spent.totalTokens > ports.settings.maxTokens ? loweredTokensDraft(state, ports) : undefined
}

/** The last answer at a limit was given, or could not be: the ending stays that of the limit. */
export function close(reply: Reply, emit: Emit): Outcome {
  let current = reply.state
  const { closing } = current.spent
  if (reply.kind === 'answered') {
    current = withReply(current, reply, emit)
    current = notRunAll(current, toolCallsOf(reply.message), 'this was the last answer of the run', emit)
  }
  const signal = StopSignal.fromJSON(closing?.signal)
  const signals = StopSignals.fromJSON(closing?.signals)
  const standing = {
    ...withSpent(current, { closing: null }),
    continuation: current.continuation.withStopSignals(signals),
  }
  return ends(standing, draftOf(closing?.reason ?? 'error', signal, { overridable: false }))
}
