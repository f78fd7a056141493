import type { AbortCause } from '../cancel/abort.ts'
import type { Emit } from '../events.ts'
import { messageOf } from '../errors.ts'
import { settleWithin, type Settled } from '../cancel/settle.ts'
import { HookContext, type HookContextInit } from '../hooks/context.ts'
import type { HookOutcome, HookTrigger } from '../hooks/outcome.ts'
import type { RegisteredHook } from '../hooks/registry.ts'
import type { MessageContent } from '../messages.ts'
import type { Ports } from '../ports.ts'
import { at, withSpent, type RunState } from '../state.ts'
import { AgentStopException } from '../stop/stop-exception.ts'
import { StopSignal } from '../stop/signal.ts'
import { agentStateOf } from './agent-view.ts'
import { sayUser } from './flow.ts'
import { keyOf } from './keys.ts'

/** What all hooks of one trigger came to. */
export interface HookRun {
  readonly state: RunState
  /** Messages for the model, not yet in the transcript: they may not stand between a call and its result. */
  readonly messages: readonly MessageContent[]
  readonly outcomes: readonly { readonly hook: string; readonly outcome: HookOutcome }[]
  /** Signals that hooks raised, or the error policy for a hook that failed. They stand in `state` already. */
  readonly raised: readonly { readonly hook: string; readonly signal: StopSignal }[]
  /** The hook that asked to go on, if one did. */
  readonly continuedBy: string | null
  /** A hook was cut by an abort, or not called because of one: that is on record, so the run ends of it. */
  readonly aborted: AbortCause | undefined
}

type Subject = Pick<HookContextInit, 'toolCall' | 'toolOutput' | 'error'> & {
  readonly callIndex?: number
  /** onError for a hook: the trigger at which it failed. */
  readonly failedAt?: HookTrigger
}

const noOutcomes: HookRun['outcomes'] = Object.freeze([])
const nothingRaised: HookRun['raised'] = Object.freeze([])
const noMessages: readonly MessageContent[] = Object.freeze([])

/**
 * Calls the hooks of a trigger in their order, each a step of its own, each seeing what the ones before it changed.
 * Their signals stand and their metadata is kept when this returns; placing their messages is left to the phase.
 */
export function runHooks(
  trigger: HookTrigger,
  state: RunState,
  ports: Ports,
  emit: Emit,
  subject: Subject = {},
): HookRun | Promise<HookRun> {
  const hooks = ports.hooks.for(trigger, subject.toolCall?.name)
  if (hooks.length > 0) return callHooks(hooks, trigger, state, ports, emit, subject)
  return {
    state,
    messages: noMessages,
    outcomes: noOutcomes,
    raised: nothingRaised,
    continuedBy: null,
    aborted: undefined,
  }
}

async function callHooks(
  hooks: readonly RegisteredHook[],
  trigger: HookTrigger,
  state: RunState,
  ports: Ports,
  emit: Emit,
  subject: Subject,
): Promise<HookRun> {
  let current = state
  let { toolCall, toolOutput } = subject
  let continuedBy: string | null = null
  const messages: MessageContent[] = []
  const outcomes: { hook: string; outcome: HookOutcome }[] = []
  const raised: { hook: string; signal: StopSignal }[] = []
  const callId = subject.toolCall?.id ?? null
  for (const registered of hooks) {
    emit({ type: 'hook_start', hook: registered.id, trigger, callId })
    const now: Subject =
      toolCall === undefined ? subject : { ...subject, toolCall, ...(toolOutput === undefined ? {} : { toolOutput }) }
    const step = await callHook(registered, trigger, current, ports, emit, now)
    const outcome = step.value
    const signals = signalsOf(outcome, registered.id, ports)
    for (const signal of signals) raised.push({ hook: registered.id, signal })
    current = applied(outcome, signals, at(current, step))
    if (outcome.continued === true) continuedBy = registered.id
    if (outcome.messages !== undefined) messages.push(...outcome.messages)
    if (outcome.input !== undefined && toolCall !== undefined) toolCall = { ...toolCall, input: outcome.input.value }
    if (outcome.output !== undefined && toolOutput !== undefined) toolOutput = { ...toolOutput, text: outcome.output }
    outcomes.push({ hook: registered.id, outcome })
    emit({ type: 'hook_end', hook: registered.id, trigger, callId, outcome, durationMs: step.durationMs })
    if (outcome.error !== undefined && trigger !== 'onError') {
      const error = { source: 'hook', name: registered.id, message: outcome.error } as const
      const told = await runHooks('onError', current, ports, emit, { ...now, error, failedAt: trigger })
      current = told.state
      messages.push(...told.messages)
      raised.push(...told.raised)
    }
    if (outcome.blocked !== undefined || outcome.aborted !== undefined) break
  }
  const aborted = outcomes.at(-1)?.outcome.aborted
  return { state: current, messages, outcomes, raised, continuedBy, aborted }
}

function callHook(
  registered: RegisteredHook,
  trigger: HookTrigger,
  state: RunState,
  ports: Ports,
  emit: Emit,
  subject: Subject,
) {
  const { request } = state.spent
  const call = subject.toolCall === undefined ? '' : `${subject.callIndex ?? 0}:${subject.toolCall.id}`
  const about = subject.failedAt === undefined ? '' : `${subject.failedAt}:${subject.error?.name ?? ''}:`
  const key = keyOf(state, `hook:${trigger}:${request}:${call}:${about}${registered.id}`)
  return ports.steps.run<HookOutcome>(
    key,
    async ({ signal }) => {
      // An abort ends what is going on; the hooks that tell of an ending still run.
      if (ports.abort.cause !== undefined && trigger !== 'afterExecution' && trigger !== 'onError')
        return { aborted: ports.abort.cause }
      const context = new HookContext({ trigger, state: agentStateOf(state), signal, ...subject })
      const work = async () => (await registered.hook.handle(context)) ?? context
      return settleWithin(work, ports.abort, ports.settings.graceMs, ports.timers, outcomeOf)
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
}

function outcomeOf(settled: Settled<HookContext>): HookOutcome {
  switch (settled.kind) {
    case 'value':
      // Plain JavaScript may give anything back.
      return settled.value instanceof HookContext
        ? settled.value.outcome()
        : { error: 'A hook must return the context it was given, or nothing.' }
    case 'threw':
      return outcomeOfThrow(settled.error)
    case 'left':
      return { aborted: settled.cause }
  }
}

function outcomeOfThrow(thrown: unknown): HookOutcome {
  if (thrown instanceof AgentStopException) return { signals: [StopSignal.fromStopException(thrown).toJSON()] }
  return { error: messageOf(thrown) }
}

/** What a hook raised; one that failed may raise the error policy's signal. */
function signalsOf(outcome: HookOutcome, hook: string, ports: Ports): readonly StopSignal[] {
  if (outcome.signals !== undefined) return outcome.signals.map((stored) => StopSignal.fromJSON(stored))
  if (outcome.error === undefined) return []
  const forbids = ports.settings.errorPolicy?.({ source: 'hook', name: hook, message: outcome.error }) === true
  return forbids ? [policySignal('hook', hook, outcome.error)] : []
}

function applied(outcome: HookOutcome, signals: readonly StopSignal[], state: RunState): RunState {
  let { continuation } = state
  for (const signal of signals) continuation = continuation.withNewStopSignal(signal)
  if (outcome.continued === true) continuation = continuation.withContinuationRequested(true)
  const next = continuation === state.continuation ? state : { ...state, continuation }
  return outcome.metadata === undefined ? next : withSpent(next, { metadata: outcome.metadata })
}

/** The same run of hooks, with its signals not standing yet: those of tool hooks wait until all tools are done. */
export function withSignalsHeld(hooks: HookRun, before: RunState): RunState {
  if (hooks.raised.length === 0) return hooks.state
  const signals = before.continuation.stopSignals()
  return { ...hooks.state, continuation: hooks.state.continuation.withStopSignals(signals) }
}

/** The signal of an error that the error policy does not let pass. */
export function policySignal(source: 'tool' | 'hook', name: string, message: string): StopSignal {
  return new StopSignal({
    reason: 'error',
    message: `${source} ${name} failed: ${message}`,
    context: { source, name },
    source: name,
  })
}

/** Puts messages of hooks into the transcript, where they may stand. */
export function withHookMessages(state: RunState, messages: readonly MessageContent[], emit: Emit): RunState {
  let next = state
  for (const content of messages) next = sayUser(next, content, 'hook', emit)
  return next
}
