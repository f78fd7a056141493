import { lapsLeft, type IterationReason } from '../limits/allowance.ts'
import { after, firstOf, type Eventually } from '../values/eventually.ts'
import { finish } from './finish.ts'
import type { RaisableLimit } from '../state/limit-question.ts'
import type { FinishedRun } from '../run/run-context.ts'
import { goalAtEnding } from './goals.ts'
import { payLostRequests } from './lost-requests.ts'
import { outcomeAfterRaise, pauseAtLimit } from './pause-at-limit.ts'
import type { Draft, Outcome, Route } from '../run/outcome.ts'
import { reminderInPlaceOf } from '../run/repetition.ts'
import type { LapDetails, Run } from '../run/run.ts'
import { addHookMessages, runHooks, type HookRun } from '../request/run-hooks.ts'
import { answerBeforeVerifying } from './verify.ts'
import { runEnding } from '../run/turn-texts.ts'

// Spec R-LOOP-3, R-LAP-5.
/**
 * The only way to start another iteration, and the only way to end the run. Undefined means that the run continues. Each
 * iteration is charged to the retry limit of its transition, here and nowhere else. Without a remaining retry, the run
 * ends.
 */
export function decide(run: Run, outcome: Outcome): Eventually<FinishedRun | undefined> {
  return decideOutcome(run, outcome, noLimits)
}

/** `asked`: limits that a person was already asked to raise, each once in an iteration. */
function decideOutcome(
  run: Run,
  outcome: Outcome,
  asked: ReadonlySet<RaisableLimit>,
): Eventually<FinishedRun | undefined> {
  if (outcome.routes.length === 0) return endOrGoOn(run, outcome, outcome.draft(), asked)
  return after(takeFirstOpen(run, outcome.routes), (taken) =>
    taken === 'taken' ? undefined : endOrGoOn(run, outcome, taken ?? outcome.draft(), asked),
  )
}

const noLimits: ReadonlySet<RaisableLimit> = new Set()

/** Takes the first route that has retries left and does not decline. Undefined when there is none; a pending ending when an abort interrupted one. */
function takeFirstOpen(run: Run, routes: readonly Route[]): Eventually<'taken' | Draft | undefined> {
  return firstOf(routes, (route) => take(run, route))
}

function take(run: Run, route: Route): Eventually<'taken' | Draft | undefined> {
  // An iteration that a resumed run has already recorded was charged at that time.
  const isPaid = lapsLeft(route.transition, run.spent.laps, run.context.limits) > 0 || run.turnEnd === 'passed'
  if (!isPaid) return undefined
  const { writes } = run
  return after(route.take(run), (taking) => {
    if (taking === 'declined') run.expectNoWrite(writes, route.transition)
    if (taking === 'declined' || taking === 'gave_up') return undefined
    if (taking !== 'taken') return taking
    return after(goRound(run, route.transition, route), () => 'taken' as const)
  })
}

/**
 * Starts another iteration. First charges the requests that the resumed turn did not repeat. A subagent may have more
 * records ahead, so it charges them at its end.
 */
function goRound(run: Run, transition: IterationReason, details?: LapDetails): Eventually<undefined> {
  const paid = run.identity.depth === 0 ? payLostRequests(run) : undefined
  return after(paid, () => {
    run.lap(transition, details)
    return undefined
  })
}

function endOrGoOn(
  run: Run,
  outcome: Outcome,
  draft: Draft,
  asked: ReadonlySet<RaisableLimit>,
): Eventually<FinishedRun | undefined> {
  const answered = answerBeforeVerifying(run, draft)
  return after(takeFirstOpen(run, reminderInPlaceOf(run, answered)), (nudged) => {
    if (nudged === 'taken') return undefined
    return after(goalAtEnding(run, answered), (ending) =>
      after(pauseAtLimit(run, ending, asked), (pause) => {
        if (pause === undefined) return endUnlessOverridden(run, ending)
        if (pause.outcome === 'ends') return endUnlessOverridden(run, pause.draft)
        return decideOutcome(run, outcomeAfterRaise(run, outcome, ending), new Set([...asked, pause.limit]))
      }),
    )
  })
}

function endUnlessOverridden(run: Run, draft: Draft): Eventually<FinishedRun | undefined> {
  draft.keep?.(run)
  raiseEnding(run, draft)
  return after(override(run, draft), (came) => {
    if (came === 'overridden') return undefined
    // When a hook has recorded an abort, no last answer is requested, even in a resume.
    if (came !== 'aborted' && asksForLastAnswer(run, draft)) return goRound(run, 'wrap_up')
    return finish(run, draft)
  })
}

/** Adds the ending's own signal, unless an equal signal is already raised. */
function raiseEnding(run: Run, { signal }: Draft): void {
  const text = JSON.stringify(signal)
  for (const standing of run.signals) if (JSON.stringify(standing) === text) return
  run.setContinuation(run.continuation.withNewStopSignal(signal))
}

/** Lets a hook request to continue. The overridden signals are cleared, and the iteration is charged to the request, not to the limit. */
function override(run: Run, draft: Draft): Eventually<'overridden' | 'aborted' | undefined> {
  if (!draft.overridable) return undefined
  return after(runHooks(run, 'onStop'), (hooks) => {
    const overridden = grantOverride(run, draft, hooks)
    if (overridden !== undefined)
      return after(goRound(run, 'continuation_requested', { overridden }), () => 'overridden' as const)
    return hooks.aborted === undefined ? undefined : 'aborted'
  })
}

/** The hook that requested it, and the signals that it overrides; undefined if the request is refused. */
function grantOverride(run: Run, draft: Draft, hooks: HookRun): LapDetails['overridden'] {
  addHookMessages(run, hooks.messages)
  // Changes that the hooks made are preserved, whether or not the request is granted.
  if (!run.continuation.isContinuationRequested()) return undefined
  const { signals, spent } = run
  const own = JSON.stringify(draft.signal) // the table of endings decides whether this ending can be overridden
  const isFixed = [...signals].some((signal) => neverOverridden.has(signal.reason) && JSON.stringify(signal) !== own)
  const isAgain = draft.raisedBy.some((name) => spent.overridden.includes(name))
  // A request whose last message is the model's own asks for nothing: the hook must add a message.
  const isSpeechless = run.transcript.messages().at(-1)?.role !== 'user'
  const isUsedUp = lapsLeft('continuation_requested', spent.laps, run.context.limits) <= 0
  if (isFixed || isAgain || isSpeechless || isUsedUp) return undefined
  const by = hooks.continuedBy ?? 'a hook'
  run.emit({ type: 'signals_overridden', by, signals: [...signals] })
  run.update({ overridden: [...new Set([...spent.overridden, ...draft.raisedBy])] })
  return { by, signals: signals.toJSON() }
}

const neverOverridden: ReadonlySet<string> = new Set(['user_requested', 'error', 'cost_limit'])

/** Whether the run makes one more request, without tools, for a last answer at a limit. Charged once; the ending does not change. */
function asksForLastAnswer(run: Run, draft: Draft): boolean {
  if (!run.context.settings.wrapUp || !draft.wrapsUp) return false
  if (run.spent.closing !== null || lapsLeft('wrap_up', run.spent.laps, run.context.limits) <= 0) return false
  const closing = { reason: draft.reason, signal: draft.signal.toJSON(), signals: run.signals.toJSON() }
  run.appendUser(runEnding(draft.signal.message), 'loop')
  run.update({ closing })
  return true
}
