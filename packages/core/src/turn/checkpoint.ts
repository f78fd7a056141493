import type { CanProvideCancellationSignal } from '../cancel/source.ts'
import { settleWithin } from '../cancel/settle.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import { defaultCheckpoints, type Checkpoint, type GuardView } from '../guards/guard.ts'
import { committedUsd, activeMs } from './drafts.ts'
import type { Ports } from '../ports.ts'
import { entryId, withEntry, withSpent, type RunState } from '../state.ts'
import type { AbortCause } from '../cancel/abort.ts'
import type { Control } from '../steps/control.ts'
import type { Came } from '../steps/steps.ts'
import { StopSignal, type StopSignalJson } from '../stop/signal.ts'
import { agentStateOf } from './agent-view.ts'
import { keyOf } from './keys.ts'

// A checkpoint is where signals, cancellation and inbox are looked at. All that comes from outside comes through `Steps.control`.

/** Abort, explicit stops and cancellation sources. Never asks the inbox for messages: a run that stops leaves them there. */
export function controlAt(
  checkpoint: Checkpoint,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Controlled | Promise<Controlled> {
  const key = keyOf(state, `control:${checkpoint}:${state.spent.request}`)
  const came = ports.steps.control(key, () => pollControl(state, ports))
  return came === undefined ? { state, abort: undefined } : heed(came, checkpoint, state, emit)
}

export interface Controlled {
  readonly state: RunState
  readonly abort: AbortCause | undefined
}

async function heed(came: Came, checkpoint: Checkpoint, state: RunState, emit: Emit): Promise<Controlled> {
  const control = await came
  if (control === undefined) return { state, abort: undefined }
  let next = state
  for (const stored of control.signals ?? []) next = raise(next, StopSignal.fromJSON(stored), checkpoint, emit)
  return { state: next, abort: control.abort }
}

function pollControl(state: RunState, ports: Ports): Came {
  const { cause } = ports.abort
  if (cause !== undefined) return { abort: cause }
  const signals = ports.inbox.takeSignals()
  if (ports.cancellation.length === 0) return signals === undefined ? undefined : { signals }
  return pollSources(signals ?? [], state, ports)
}

async function pollSources(
  taken: readonly StopSignalJson[],
  state: RunState,
  ports: Ports,
): Promise<Control | undefined> {
  const signals = [...taken]
  for (const source of ports.cancellation) {
    const signal = await settleWithin(
      () => askSource(source, state),
      ports.abort,
      ports.settings.graceMs,
      ports.timers,
      (settled) => (settled.kind === 'value' ? settled.value : undefined),
    )
    if (signal) signals.push(signal.toJSON())
  }
  if (ports.abort.cause !== undefined) return { abort: ports.abort.cause }
  return signals.length === 0 ? undefined : { signals }
}

/** A source that throws cannot say whether the run is to stop: it stops, as `error`. */
async function askSource(
  source: CanProvideCancellationSignal,
  state: RunState,
): Promise<StopSignal | null | undefined> {
  try {
    return await source.cancellationSignal(agentStateOf(state))
  } catch (error) {
    const name = source.constructor.name
    return new StopSignal({
      reason: 'error',
      message: `The cancellation source ${name} failed: ${messageOf(error)}`,
      source: name,
    })
  }
}

function raise(state: RunState, signal: StopSignal, checkpoint: Checkpoint | 'end', emit: Emit): RunState {
  emit({ type: 'signal', signal, checkpoint })
  return { ...state, continuation: state.continuation.withNewStopSignal(signal) }
}

/** Asks the guards of this checkpoint. Those that were overridden stay silent before a turn: the turn was granted. */
export function guardsAt(
  checkpoint: Checkpoint,
  state: RunState,
  ports: Ports,
  emit: Emit,
): { readonly state: RunState; readonly raisedBy: readonly string[] } {
  if (ports.guards.length === 0) return { state, raisedBy: nobody }
  const view = viewOf(checkpoint, state)
  const raisedBy: string[] = []
  let next = state
  for (const guard of ports.guards) {
    if (!(guard.checkpoints ?? defaultCheckpoints).includes(checkpoint)) continue
    const signal = guard.evaluate(view) ?? undefined
    const wasOverridden = next.spent.overridden.includes(guard.name)
    if (signal === undefined) {
      if (wasOverridden)
        next = withSpent(next, { overridden: next.spent.overridden.filter((name) => name !== guard.name) })
      continue
    }
    if (wasOverridden && checkpoint === 'before_turn') continue
    raisedBy.push(guard.name)
    next = raise(next, signal, checkpoint, emit)
  }
  return { state: next, raisedBy }
}

const nobody: readonly string[] = Object.freeze([])

function viewOf(checkpoint: Checkpoint, state: RunState): GuardView {
  const { spent } = state
  const { inRun } = spent.laps
  // Laps of stop hooks and of the token target are turns for the figures only.
  const begun = 1 + (inRun.next_turn ?? 0) + (inRun.user_input ?? 0) + (inRun.continuation_requested ?? 0)
  return {
    checkpoint,
    steps: checkpoint === 'before_turn' ? begun - 1 : begun,
    usage: spent.usage,
    totalTokens: spent.totalTokens,
    costUsd: committedUsd(state),
    activeMs: activeMs(state),
    finishReason: spent.lastStopReason,
    recentTurns: spent.recentTurns,
  }
}

/** Takes messages from the inbox into the transcript: steering ones, at the end follow-ups too. Undefined when none came. */
export function inboxAt(
  place: 'before_turn' | 'end',
  state: RunState,
  ports: Ports,
  emit: Emit,
): RunState | undefined | Promise<RunState | undefined> {
  const key = keyOf(state, `inbox:${place}:${state.spent.request}`)
  const came = ports.steps.control(key, () => {
    const messages = ports.inbox.takeMessages(place === 'end')
    return messages === undefined ? undefined : { messages }
  })
  return came === undefined ? undefined : takeIn(came, state, emit)
}

async function takeIn(came: Came, state: RunState, emit: Emit): Promise<RunState | undefined> {
  const control = await came
  if (control?.messages === undefined) return undefined
  let next = state
  for (const { kind, content } of control.messages) {
    const entry = { kind: 'user', id: entryId(next, kind), message: { role: 'user', content }, origin: kind } as const
    next = withEntry(next, entry)
    emit({ type: 'message', entry })
  }
  // New user input is progress, whatever the tools said.
  return withSpent(next, { recentTurns: [] })
}
