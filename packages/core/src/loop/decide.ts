import { iterationsLeft, type IterationReason } from '../limits/transition-rules.ts'
import { andThen, firstResult, type MaybePromise } from '../values/maybe-promise.ts'
import { finish } from './finish.ts'
import type { RaisableLimit } from '../state/limit-request.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { goalAtEnding } from './goals.ts'
import { chargeOrphanedRequests } from './orphaned-requests.ts'
import { outcomeAfterRaise, pauseAtLimit } from './pause-at-limit.ts'
import type { PendingEnding, Outcome, Route } from '../run/outcome.ts'
import { reminderInPlaceOf } from '../run/repetition.ts'
import type { IterationDetails, Run } from '../run/run.ts'
import { addHookMessages, runHooks, type HookRun } from '../request/run-hooks.ts'
import { withUnverifiedAnswer } from './verify.ts'
import { runEnding } from '../run/turn-texts.ts'

// Spec R-LOOP-3, R-LAP-5.
/**
 * The only way to start another iteration, and the only way to end the run. Undefined means that the run continues. Each
 * iteration is charged to the retry limit of its transition, here and nowhere else. Without a remaining retry, the run
 * ends.
 */
export function decide(run: Run, outcome: Outcome): MaybePromise<FinishedRun | undefined> {
  return decideOutcome(run, outcome, noLimits)
}

/** `asked`: limits that a person was already asked to raise. Each limit is asked about once in an iteration. */
function decideOutcome(
  run: Run,
  outcome: Outcome,
  asked: ReadonlySet<RaisableLimit>,
): MaybePromise<FinishedRun | undefined> {
  if (outcome.routes.length === 0) return endOrContinue(run, outcome, outcome.pendingEnding(), asked)
  return andThen(takeFirstRoute(run, outcome.routes), (taken) =>
    taken === 'taken' ? undefined : endOrContinue(run, outcome, taken ?? outcome.pendingEnding(), asked),
  )
}

const noLimits: ReadonlySet<RaisableLimit> = new Set()

/** Takes the first route that has retries left and does not decline. Undefined if no route can be taken; a pending ending when an abort interrupted one. */
function takeFirstRoute(run: Run, routes: readonly Route[]): MaybePromise<'taken' | PendingEnding | undefined> {
  return firstResult(routes, (route) => take(run, route))
}

function take(run: Run, route: Route): MaybePromise<'taken' | PendingEnding | undefined> {
  // An iteration that a resumed run has already recorded was charged at that time.
  const hasRetryLeft =
    iterationsLeft(route.transition, run.spent.laps, run.context.limits) > 0 || run.turnEnd === 'passed'
  if (!hasRetryLeft) return undefined
  const { writes } = run
  return andThen(route.take(run), (taking) => {
    if (taking === 'declined') run.expectNoWrite(writes, route.transition)
    if (taking === 'declined' || taking === 'gave_up') return undefined
    if (taking !== 'taken') return taking
    return andThen(chargeAndStartIteration(run, route.transition, route), () => 'taken' as const)
  })
}

/**
 * Starts another iteration. First charges the requests that the resumed turn did not repeat. A subagent may have more
 * records ahead, so it charges them at its end.
 */
function chargeAndStartIteration(
  run: Run,
  transition: IterationReason,
  details?: IterationDetails,
): MaybePromise<undefined> {
  const charged = run.identity.depth === 0 ? chargeOrphanedRequests(run) : undefined
  return andThen(charged, () => {
    run.startIteration(transition, details)
    return undefined
  })
}

function endOrContinue(
  run: Run,
  outcome: Outcome,
  pendingEnding: PendingEnding,
  asked: ReadonlySet<RaisableLimit>,
): MaybePromise<FinishedRun | undefined> {
  const effectiveEnding = withUnverifiedAnswer(run, pendingEnding)
  return andThen(takeFirstRoute(run, reminderInPlaceOf(run, effectiveEnding)), (reminded) => {
    if (reminded === 'taken') return undefined
    return andThen(goalAtEnding(run, effectiveEnding), (ending) =>
      andThen(pauseAtLimit(run, ending, asked), (pause) => {
        if (pause === undefined) return endUnlessOverridden(run, ending)
        if (pause.outcome === 'ends') return endUnlessOverridden(run, pause.pendingEnding)
        return decideOutcome(run, outcomeAfterRaise(run, outcome, ending), new Set([...asked, pause.limit]))
      }),
    )
  })
}

function endUnlessOverridden(run: Run, pendingEnding: PendingEnding): MaybePromise<FinishedRun | undefined> {
  pendingEnding.appendOmitted?.(run)
  raiseEndingSignal(run, pendingEnding)
  return andThen(tryOverride(run, pendingEnding), (overrideResult) => {
    if (overrideResult === 'overridden') return undefined
    // When the abort of a hook is recorded, no last answer is requested, even in a resume.
    if (overrideResult !== 'aborted' && asksForLastAnswer(run, pendingEnding))
      return chargeAndStartIteration(run, 'wrap_up')
    return finish(run, pendingEnding)
  })
}

/** Adds the ending's own signal, unless an equal signal is already raised. */
function raiseEndingSignal(run: Run, { signal }: PendingEnding): void {
  const text = JSON.stringify(signal)
  for (const raised of run.signals) if (JSON.stringify(raised) === text) return
  run.setContinuation(run.continuation.withNewStopSignal(signal))
}

/** Lets a hook request to continue. The overridden signals are cleared, and the iteration is charged to the hook's request, not to the limit. */
function tryOverride(run: Run, pendingEnding: PendingEnding): MaybePromise<'overridden' | 'aborted' | undefined> {
  if (!pendingEnding.overridable) return undefined
  return andThen(runHooks(run, 'onStop'), (hooks) => {
    const overridden = grantOverride(run, pendingEnding, hooks)
    if (overridden !== undefined)
      return andThen(
        chargeAndStartIteration(run, 'continuation_requested', { overridden }),
        () => 'overridden' as const,
      )
    return hooks.aborted === undefined ? undefined : 'aborted'
  })
}

/** The hook that requested to continue, and the signals that it overrides; undefined if the request is refused. */
function grantOverride(run: Run, pendingEnding: PendingEnding, hooks: HookRun): IterationDetails['overridden'] {
  addHookMessages(run, hooks.messages)
  // Changes that the hooks made are preserved, whether or not the request is granted.
  if (!run.continuation.isContinuationRequested()) return undefined
  const { signals, spent } = run
  const ownSignal = JSON.stringify(pendingEnding.signal) // The table of endings decides whether this ending can be overridden.
  const hasFixedSignal = [...signals].some(
    (signal) => fixedReasons.has(signal.reason) && JSON.stringify(signal) !== ownSignal,
  )
  const wasOverridden = pendingEnding.raisedBy.some((name) => spent.overridden.includes(name))
  // If the last message is the model's own, the model has nothing to answer, so the hook must add a message.
  const lacksNewMessage = run.transcript.messages().at(-1)?.role !== 'user'
  const isUsedUp = iterationsLeft('continuation_requested', spent.laps, run.context.limits) <= 0
  if (hasFixedSignal || wasOverridden || lacksNewMessage || isUsedUp) return undefined
  const by = hooks.continuedBy ?? 'a hook'
  run.emit({ type: 'signals_overridden', by, signals: [...signals] })
  run.update({ overridden: [...new Set([...spent.overridden, ...pendingEnding.raisedBy])] })
  return { by, signals: signals.toJSON() }
}

const fixedReasons: ReadonlySet<string> = new Set(['user_requested', 'error', 'cost_limit'])

/** Whether the run makes one more request, without tools, for a last answer at a limit. This request is charged once, and does not change the ending. */
function asksForLastAnswer(run: Run, pendingEnding: PendingEnding): boolean {
  if (!run.context.settings.wrapUp || !pendingEnding.wrapsUp) return false
  if (run.spent.closing !== null || iterationsLeft('wrap_up', run.spent.laps, run.context.limits) <= 0) return false
  const closing = { reason: pendingEnding.reason, signal: pendingEnding.signal.toJSON(), signals: run.signals.toJSON() }
  run.appendUser(runEnding(pendingEnding.signal.message), 'loop')
  run.update({ closing })
  return true
}
