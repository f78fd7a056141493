import { allowances, lapsLeft, rankingOf, spendLap, type Transition } from './allowance.ts'
import type { Emit } from './events.ts'
import type { Ports } from './ports.ts'
import { withSpent, type Lap, type RunState } from './state.ts'
import { ExecutionContinuation } from './stop/continuation.ts'
import type { Terminal } from './stop/terminal.ts'
import { finish } from './finish.ts'
import { noProgressNudge } from './guards/no-progress.ts'
import { sayUser } from './turn/flow.ts'
import type { Draft, Outcome, Route } from './turn/outcome.ts'
import { runHooks, withHookMessages } from './turn/run-hooks.ts'

export type Verdict = { readonly kind: 'end'; readonly terminal: Terminal; readonly state: RunState } | Again

type Again = { readonly kind: 'again'; readonly state: RunState }

/**
 * The only way round the loop, and the only way out of it.
 * Every lap is paid for out of its transition's allowance, here and nowhere else (spec R-LOOP-3). What is not paid for ends (R-LAP-5).
 */
export async function decide(from: RunState, outcome: Outcome, ports: Ports, emit: Emit): Promise<Verdict> {
  const onward = await firstOpen(outcome.routes, from, outcome.state, ports, emit)
  if (onward !== undefined) return onward
  const draft = outcome.draft()
  const nudged = await firstOpen(nudgeRoutes(draft, outcome.state, emit), from, outcome.state, ports, emit)
  if (nudged !== undefined) return nudged
  const kept = draft.keep?.(outcome.state) ?? outcome.state
  const state = withStanding(kept, draft)
  const asked = await override(from, state, draft, ports, emit)
  if (asked.kind === 'again') return asked
  return wrapUp(from, asked.state, draft, ports, emit) ?? finish(asked.state, draft, ports, emit)
}

/** Goes the first way that is paid for and open. */
async function firstOpen(
  routes: readonly Route[],
  from: RunState,
  state: RunState,
  ports: Ports,
  emit: Emit,
): Promise<Again | undefined> {
  for (const route of routes) {
    if (lapsLeft(route.transition, state.spent.laps, ports.limits) <= 0) continue
    const taking = route.take(state)
    const next = taking instanceof Promise ? await taking : taking
    if (next !== undefined) return goAgain(from, next, route.transition, ports, emit, { gained: route.gained === true })
  }
  return undefined
}

/** The ending's own signal stands beside those that stood already. */
function withStanding(state: RunState, draft: Draft): RunState {
  const { continuation } = state
  const text = JSON.stringify(draft.signal)
  for (const standing of continuation.stopSignals()) if (JSON.stringify(standing) === text) return state
  return { ...state, continuation: continuation.withNewStopSignal(draft.signal) }
}

/** The first time a run goes in circles, the model is told instead. */
function nudgeRoutes(draft: Draft, state: RunState, emit: Emit): readonly Route[] {
  // Only what a guard saw: a tool or hook that stops the run with this reason means it.
  if (draft.reason !== 'no_progress' || draft.raisedBy.length === 0) return []
  const others = [...state.continuation.stopSignals()].some((signal) => signal.reason !== 'no_progress')
  if (others) return []
  // The count starts anew: it takes as many repeats again to stop the run.
  const take = (from: RunState): RunState =>
    withSpent(sayUser(from, noProgressNudge, 'loop', emit), { recentTurns: [] })
  return [{ transition: 'no_progress_nudge', take }]
}

/** Lets a hook ask to go on. What it overrides is consumed, and the lap is charged to the request, not to the limit. */
async function override(
  from: RunState,
  state: RunState,
  draft: Draft,
  ports: Ports,
  emit: Emit,
): Promise<Again | { readonly kind: 'stands'; readonly state: RunState }> {
  if (!draft.overridable) return { kind: 'stands', state }
  const asked = await runHooks('onStop', state, ports, emit)
  const current = withHookMessages(asked.state, asked.messages, emit)
  const { continuation, spent } = current
  // What the hooks changed stays, whether or not they are granted what they ask for.
  const stands = { kind: 'stands', state: current } as const
  if (!continuation.isContinuationRequested()) return stands
  const signals = continuation.stopSignals()
  const fixed = [...signals].some((signal) => neverOverridden.has(signal.reason))
  const again = draft.raisedBy.some((name) => spent.overridden.includes(name))
  // A request that ends with the model's own words asks for nothing: then the hook must say something.
  const speechless = current.transcript.messages().at(-1)?.role !== 'user'
  if (fixed || again || speechless || lapsLeft('continuation_requested', spent.laps, ports.limits) <= 0) return stands
  const by = asked.continuedBy ?? 'a hook'
  emit({ type: 'signals_overridden', by, signals: [...signals] })
  const overridden = [...new Set([...spent.overridden, ...draft.raisedBy])]
  return goAgain(from, withSpent(current, { overridden }), 'continuation_requested', ports, emit, {
    overridden: { by, signals: signals.toJSON() },
  })
}

const neverOverridden: ReadonlySet<string> = new Set(['user_requested', 'error', 'cost_limit'])

/** At a limit, and when asked for: one more request without tools for a last answer. Paid once; the ending stays. */
function wrapUp(from: RunState, state: RunState, draft: Draft, ports: Ports, emit: Emit): Verdict | undefined {
  if (!ports.settings.wrapUp || !draft.wrapsUp) return undefined
  if (state.spent.closing !== null || lapsLeft('wrap_up', state.spent.laps, ports.limits) <= 0) return undefined
  const text = `The run ends here: ${draft.signal.message}. Give your last answer now, without tools: what is done, what is not, and what you would do next.`
  const closing = {
    reason: draft.reason,
    signal: draft.signal.toJSON(),
    signals: state.continuation.stopSignals().toJSON(),
  }
  return goAgain(from, withSpent(sayUser(state, text, 'loop', emit), { closing }), 'wrap_up', ports, emit)
}

function goAgain(
  from: RunState,
  state: RunState,
  transition: Transition,
  ports: Ports,
  emit: Emit,
  more: { readonly gained?: boolean; readonly overridden?: NonNullable<Lap['overridden']> } = {},
): Again {
  const before = state.spent.laps
  const laps = spendLap(transition, before, more.gained === true)
  const refilled = laps.sinceRefill !== before.sinceRefill && Object.keys(laps.sinceRefill).length === 0
  const spent = {
    ...state.spent,
    laps,
    request: state.spent.request + 1,
    turnBegins: allowances[transition].countsAsTurn || state.spent.turnBegins,
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
