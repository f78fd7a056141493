import type { Emit } from '../events.ts'
import type { Ports } from '../ports.ts'
import type { RunState } from '../state.ts'
import { StopSignal } from '../stop/signal.ts'
import { terminalOf } from '../stop/terminal.ts'
import { defendContext } from './context.ts'
import { controlAt, guardsAt, inboxAt } from './checkpoint.ts'
import { abortDraft } from './drafts.ts'
import { draftOf, ends, type Draft, type Outcome } from './outcome.ts'
import { tellTurn } from './flow.ts'
import { runHooks, withHookMessages, type HookRun } from './run-hooks.ts'

/** Ready for a request, or the run ends before it. */
export type Prepared = { readonly kind: 'ready'; readonly state: RunState } | Outcome

/** Before a turn: abort → standing signals → inbox → context. (The reservation is part of the request's own step.) */
export async function prepare(state: RunState, ports: Ports, emit: Emit): Promise<Prepared> {
  tellTurn(state, emit)
  // The last answer at a limit: the ending is decided, and nothing new is taken in.
  if (state.spent.closing !== null) return { kind: 'ready', state }
  const controlled = controlAt('before_turn', state, ports, emit)
  const control = controlled instanceof Promise ? await controlled : controlled
  if (control.abort !== undefined)
    return ends(control.state, abortDraft(control.abort, 'streaming', control.state, ports))

  const guarded = guardsAt('before_turn', control.state, ports, emit)
  const before = ports.hooks.all.length === 0 ? undefined : await beforeHooks(guarded.state, ports, emit)
  const hooked = before?.state ?? guarded.state
  if (before?.aborted !== undefined) return ends(hooked, abortDraft(before.aborted, 'streaming', hooked, ports))
  if (hooked.continuation.stopSignals().hasAny()) return ends(hooked, standingDraft(hooked, guarded.raisedBy))

  const came = inboxAt('before_turn', hooked, ports, emit)
  const steered = (came instanceof Promise ? await came : came) ?? hooked
  const asked = runHooks('beforeInference', steered, ports, emit)
  const inference = asked instanceof Promise ? await asked : asked
  const asking = withHookMessages(inference.state, inference.messages, emit)
  if (inference.aborted !== undefined) return ends(asking, abortDraft(inference.aborted, 'streaming', asking, ports))
  if (asking.continuation.stopSignals().hasAny()) return ends(asking, standingDraft(asking, []))
  return defendContext(asking, ports, emit)
}

async function beforeHooks(state: RunState, ports: Ports, emit: Emit): Promise<Pick<HookRun, 'state' | 'aborted'>> {
  let current = state
  if (state.spent.request === 1) {
    const first = await runHooks('beforeExecution', current, ports, emit)
    current = withHookMessages(first.state, first.messages, emit)
    if (first.aborted !== undefined) return { state: current, aborted: first.aborted }
  }
  const step = await runHooks('beforeStep', current, ports, emit)
  return { state: withHookMessages(step.state, step.messages, emit), aborted: step.aborted }
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
