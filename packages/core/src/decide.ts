import { allowances, lapsLeft, rankingOf, spendLap, type Transition } from './allowance.ts'
import type { Emit } from './events.ts'
import type { Ports } from './ports.ts'
import { withSpent, type Lap, type RunState } from './state.ts'
import { ExecutionContinuation } from './stop/continuation.ts'
import { endings, type Terminal } from './stop/terminal.ts'
import { finish } from './finish.ts'
import { noProgressNudge } from './guards/no-progress.ts'
import { sayUser } from './turn/flow.ts'
import type { Draft, Outcome } from './turn/outcome.ts'
import { runHooks, withHookMessages } from './turn/run-hooks.ts'

export type Verdict =
  | { readonly kind: 'end'; readonly terminal: Terminal; readonly state: RunState }
  | { readonly kind: 'again'; readonly state: RunState }

/**
 * The only way round the loop, and the only way out of it.
 * D1: every lap is paid for out of its transition's allowance, here and nowhere else. D2: what is not paid for ends.
 */
export async function decide(from: RunState, outcome: Outcome, ports: Ports, emit: Emit): Promise<Verdict> {
  const progress = nudgeRoute(outcome, emit)
  for (const route of progress === undefined ? outcome.routes : [progress, ...outcome.routes]) {
    if (lapsLeft(route.transition, outcome.state.spent.laps, ports.limits) <= 0) continue
    const state = await route.take(outcome.state)
    if (state !== undefined) return goAgain(from, state, route.transition, ports, emit, { gained: route.gained === true })
  }
  const { draft } = outcome
  const kept = draft.keep?.(outcome.state) ?? outcome.state
  const state = withStanding(kept, draft)
  return (await override(from, state, draft, ports, emit)) ?? wrapUp(from, state, draft, ports, emit) ?? finish(state, draft, ports, emit)
}

/** The ending's own signal stands beside those that stood already. */
function withStanding(state: RunState, draft: Draft): RunState {
  const { continuation } = state
  const text = JSON.stringify(draft.signal)
  for (const standing of continuation.stopSignals()) if (JSON.stringify(standing) === text) return state
  return { ...state, continuation: continuation.withNewStopSignal(draft.signal) }
}

/** The first time a run goes in circles, the model is told instead. */
function nudgeRoute({ draft, state }: Outcome, emit: Emit): Outcome['routes'][number] | undefined {
  if (draft.reason !== 'no_progress') return undefined
  const others = [...state.continuation.stopSignals()].some((signal) => signal.reason !== 'no_progress')
  if (others) return undefined
  return {
    transition: 'no_progress_nudge',
    // The count starts anew: it takes as many repeats again to stop the run.
    take: (from) => withSpent(sayUser(from, noProgressNudge, 'loop', emit), { recentTurns: [] }),
  }
}

/** Lets a hook ask to go on. What it overrides is consumed, and the lap is charged to the request, not to the limit. */
async function override(from: RunState, state: RunState, draft: Draft, ports: Ports, emit: Emit): Promise<Verdict | undefined> {
  if (!draft.overridable) return undefined
  const asked = await runHooks('onStop', state, ports, emit)
  const current = withHookMessages(asked.state, asked.messages, emit)
  const { continuation, spent } = current
  if (!continuation.isContinuationRequested()) return undefined
  const signals = continuation.stopSignals()
  const fixed = [...signals].some((signal) => neverOverridden.has(signal.reason))
  const again = draft.raisedBy.some((name) => spent.overridden.includes(name))
  // A natural end needs something to go on with.
  const natural = endings[draft.reason].category === 'completed' || endings[draft.reason].category === 'finish_reason'
  const speechless = natural && current.transcript.length === state.transcript.length && !endsWithUser(current)
  if (fixed || again || speechless || lapsLeft('continuation_requested', spent.laps, ports.limits) <= 0) return undefined
  const by = asked.continuedBy ?? 'a hook'
  emit({ type: 'signals_overridden', by, signals: [...signals] })
  const overridden = [...new Set([...spent.overridden, ...draft.raisedBy])]
  return goAgain(from, withSpent(current, { overridden }), 'continuation_requested', ports, emit, { overridden: { by, signals: signals.toJSON() } })
}

const neverOverridden: ReadonlySet<string> = new Set(['user_requested', 'error', 'cost_limit'])

function endsWithUser(state: RunState): boolean {
  return state.transcript.at(-1)?.kind === 'user'
}

/** At a limit, and when asked for: one more request without tools for a last answer. Paid once; the ending stays. */
function wrapUp(from: RunState, state: RunState, draft: Draft, ports: Ports, emit: Emit): Verdict | undefined {
  if (!ports.settings.wrapUp || !endings[draft.reason].wrapsUp) return undefined
  if (state.spent.closing !== null || lapsLeft('wrap_up', state.spent.laps, ports.limits) <= 0) return undefined
  const text = `The run ends here: ${draft.signal.message}. Give your last answer now, without tools: what is done, what is not, and what you would do next.`
  const closing = { reason: draft.reason, signal: draft.signal.toJSON(), signals: state.continuation.stopSignals().toJSON() }
  return goAgain(from, withSpent(sayUser(state, text, 'loop', emit), { closing }), 'wrap_up', ports, emit)
}

function goAgain(
  from: RunState,
  state: RunState,
  transition: Transition,
  ports: Ports,
  emit: Emit,
  more: { readonly gained?: boolean; readonly overridden?: NonNullable<Lap['overridden']> } = {},
): Verdict {
  const before = state.spent.laps
  const laps = spendLap(transition, before, more.gained === true)
  const refilled = laps.sinceRefill !== before.sinceRefill && Object.keys(laps.sinceRefill).length === 0
  const spent = {
    ...state.spent,
    laps,
    request: state.spent.request + 1,
    turns: state.spent.turns + (allowances[transition].countsAsTurn ? 1 : 0),
    approvals: null,
    resumedBrokenReply: state.spent.resumedBrokenReply && !refilled,
  }
  const next: RunState = { ...state, spent, continuation: ExecutionContinuation.fresh() }
  const added = next.transcript.since(from.transcript.length)
  const lap: Lap = { scope: state.run.agentPath, transition, spent, added }
  ports.steps.lap(more.overridden === undefined ? lap : { ...lap, overridden: more.overridden })
  emit({ type: 'lap', transition, before: rankingOf(before, ports.limits), after: rankingOf(laps, ports.limits) })
  return { kind: 'again', state: next }
}

