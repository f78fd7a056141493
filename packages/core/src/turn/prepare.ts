import { settleWithin, type Settled } from '../cancel/settle.ts'
import type { Compaction, CompactionResult } from '../context/port.ts'
import { estimateMessages } from '../context/tokens.ts'
import { messageOf } from '../errors.ts'
import type { Emit } from '../events.ts'
import type { Ports } from '../ports.ts'
import { at, entryId, withSpent, type RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { terminalOf } from '../stop/terminal.ts'
import { chargeFor, chargeOf } from './charge.ts'
import { controlAt, guardsAt, inboxAt } from './checkpoint.ts'
import { abortDraft } from './drafts.ts'
import { say } from './flow.ts'
import { keyOf } from './keys.ts'
import { draftOf, ends, type Draft, type Outcome } from './outcome.ts'
import { currentModel } from './respond.ts'
import { runHooks, withHookMessages } from './run-hooks.ts'

/** Ready for a request, or the run ends before it. */
export type Prepared = { readonly kind: 'ready'; readonly state: RunState } | Outcome

/** Before a turn: abort → standing signals → inbox → context. (The reservation is part of the request's own step.) */
export async function prepare(state: RunState, ports: Ports, emit: Emit): Promise<Prepared> {
  emit({ type: 'turn_start', request: state.spent.request, turn: state.spent.turns + (state.spent.turnBegins ? 1 : 0) })
  // The last answer at a limit: the ending is decided, and nothing new is taken in.
  if (state.spent.closing !== null) return { kind: 'ready', state }
  const controlled = controlAt('before_turn', state, ports, emit)
  const control = controlled instanceof Promise ? await controlled : controlled
  if (control.abort !== undefined)
    return ends(control.state, abortDraft(control.abort, 'streaming', control.state, ports))

  const guarded = guardsAt('before_turn', control.state, ports, emit)
  const hooked = ports.hooks.all.length === 0 ? guarded.state : await beforeHooks(guarded.state, ports, emit)
  if (hooked.continuation.stopSignals().hasAny()) return ends(hooked, standingDraft(hooked, guarded.raisedBy))

  const came = inboxAt('before_turn', hooked, ports, emit)
  const steered = (came instanceof Promise ? await came : came) ?? hooked
  const asked = runHooks('beforeInference', steered, ports, emit)
  const inference = asked instanceof Promise ? await asked : asked
  const asking = withHookMessages(inference.state, inference.messages, emit)
  if (asking.continuation.stopSignals().hasAny()) return ends(asking, standingDraft(asking, []))
  return defendContext(asking, ports, emit)
}

async function beforeHooks(state: RunState, ports: Ports, emit: Emit): Promise<RunState> {
  let current = state
  if (state.spent.request === 1) {
    const first = await runHooks('beforeExecution', current, ports, emit)
    current = withHookMessages(first.state, first.messages, emit)
  }
  const step = await runHooks('beforeStep', current, ports, emit)
  return withHookMessages(step.state, step.messages, emit)
}

/** The ending of the most urgent signal that stands. */
export function standingDraft(
  state: RunState,
  raisedBy: readonly string[],
  origin: 'guard' | 'stop_hook' = 'guard',
): Draft {
  const signal = state.continuation.stopSignals().highest() ?? new StopSignal({ reason: 'unknown' })
  const reason = terminalOf(signal, origin)
  return draftOf(reason, signal, { raisedBy })
}

/** Context: auto-compact, thrash, then the blocking limit. */
function defendContext(state: RunState, ports: Ports, emit: Emit): Prepared | Promise<Prepared> {
  const model = currentModel(state, ports)
  const limit = ports.context.autoCompact ? Infinity : ports.context.blockingLimit(model)
  const estimatedTokens = estimateRequest(state, ports)
  const due = ports.context.beforeRequest({ state, model, estimatedTokens })
  if (due === 'thrash') {
    const message = 'Compacting the conversation again would not make room: what fills it came back at once.'
    const signal = new StopSignal({ reason: 'no_progress', message, context: { estimatedTokens }, source: 'context' })
    return ends(state, draftOf('compaction_thrash', signal))
  }
  if (due !== undefined) {
    return compactBy(due, state, ports, emit).then((compacted): Prepared => ({ kind: 'ready', state: compacted.state }))
  }
  if (estimatedTokens < limit) return { kind: 'ready', state }
  const message = `Prompt is too long: about ${estimatedTokens} tokens, and ${limit} fit. Compact the conversation or start a new one.`
  const signal = new StopSignal({
    reason: 'token_limit',
    message,
    context: { used: estimatedTokens, limit },
    source: 'context',
  })
  return ends(state, draftOf('blocking_limit', signal, { say: { error: 'invalid_request', message } }))
}

function estimateRequest(state: RunState, ports: Ports): number {
  const { counted } = state.spent
  const messages = state.transcript.messages()
  if (counted.tokens > 0 && counted.length <= messages.length)
    return counted.tokens + estimateMessages(ports.tokens, messages, counted.length)
  return ports.tokens.estimate(ports.settings.system) + estimateMessages(ports.tokens, messages)
}

/** Runs a compaction as one step. `done` is false when it gave up. */
export async function compactBy(
  compaction: Compaction,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Promise<{ readonly state: RunState; readonly done: boolean }> {
  const { trigger } = compaction
  emit({ type: 'compact_start', trigger })
  const key = keyOf(state, `compact:${state.spent.request}.${trigger}`)
  const step = await ports.steps.run<CompactionResult>(
    key,
    async (scope) => {
      return settleWithin(() => compaction.run(scope), ports.abort, ports.settings.graceMs, ports.timers, compactionOf)
    },
    { signal: ports.abort.signal, emit, onOpen: 'rerun', sync: 'none' },
  )
  const result = step.value
  const current = at(state, step)
  if (result.kind === 'gave_up') {
    emit({ type: 'compact_end', trigger, compacted: false, message: result.message })
    return { state: current, done: false }
  }
  const { messages, preTokens, postTokens, billed } = result
  const charge =
    billed === undefined
      ? undefined
      : chargeFor({ ...currentModel(current, ports), id: billed.model }, billed.usage, ports)
  const paid = charge === undefined ? current : withSpent(current, chargeOf(current.spent, charge, false))
  const boundary = {
    kind: 'compact_boundary',
    id: entryId(paid, 'compact'),
    messages,
    trigger,
    preTokens,
    postTokens,
  } as const
  emit({ type: 'compact_end', trigger, compacted: true, message: `${preTokens} → ${postTokens} tokens` })
  const said = say(paid, boundary, emit)
  return {
    state: withSpent(said, { compactions: said.spent.compactions + 1, counted: { tokens: 0, length: 0 } }),
    done: true,
  }
}

function compactionOf(settled: Settled<CompactionResult>): CompactionResult {
  if (settled.kind === 'value') return settled.value
  return { kind: 'gave_up', message: settled.kind === 'threw' ? messageOf(settled.error) : 'aborted' }
}

export { estimateRequest }
