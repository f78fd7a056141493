import { lastAnswerPrompt } from './prompts.ts'
import { lapsLeft } from './allowance.ts'
import { after, firstOf, type Eventually } from './eventually.ts'
import { finish } from './finish.ts'
import { noProgressNudge } from './guards/no-progress.ts'
import type { Ended } from './run-context.ts'
import type { Draft, Outcome, Route } from './turn/outcome.ts'
import type { Run } from './turn/run.ts'
import { addHookMessages, runHooks, type HookRun } from './turn/run-hooks.ts'

/**
 * The only way round the loop, and the only way out of it: undefined means that the run goes round again.
 * Every lap is paid for out of its transition's allowance, here and nowhere else (spec R-LOOP-3). What is not paid for ends (R-LAP-5).
 */
export function decide(run: Run, outcome: Outcome): Eventually<Ended | undefined> {
  if (outcome.routes.length === 0) return endOrGoOn(run, outcome.draft())
  return after(takeFirstOpen(run, outcome.routes), (taken) =>
    taken === 'taken' ? undefined : endOrGoOn(run, taken ?? outcome.draft()),
  )
}

/** Takes the first route that is paid for and open; undefined when there is none, a draft when an abort cut one. */
function takeFirstOpen(run: Run, routes: readonly Route[]): Eventually<'taken' | Draft | undefined> {
  return firstOf(routes, (route) => take(run, route))
}

function take(run: Run, route: Route): Eventually<'taken' | Draft | undefined> {
  // A lap that a resumed run's record goes on behind was paid for then.
  const isPaid = lapsLeft(route.transition, run.spent.laps, run.context.limits) > 0 || run.turnEnd === 'passed'
  if (!isPaid) return undefined
  const { writes } = run
  return after(route.take(run), (taking) => {
    if (taking === 'declined') run.expectNoWrite(writes, route.transition)
    if (taking === 'declined' || taking === 'gave_up') return undefined
    if (taking === 'taken') run.lap(route.transition, route)
    return taking
  })
}

function endOrGoOn(run: Run, draft: Draft): Eventually<Ended | undefined> {
  return after(takeFirstOpen(run, nudgeRoutes(run, draft)), (nudged) => {
    if (nudged === 'taken') return undefined
    draft.keep?.(run)
    raiseEnding(run, draft)
    return after(override(run, draft), (came) => {
      if (came === 'overridden') return undefined
      // An abort that a hook has on record asks for no last answer, in a resume either.
      if (came !== 'aborted' && wrapUp(run, draft)) return undefined
      return finish(run, draft)
    })
  })
}

/** The ending's own signal stands beside those that stood already. */
function raiseEnding(run: Run, { signal }: Draft): void {
  const text = JSON.stringify(signal)
  for (const standing of run.signals) if (JSON.stringify(standing) === text) return
  run.setContinuation(run.continuation.withNewStopSignal(signal))
}

const noRoutes: readonly Route[] = Object.freeze([])

/** The first time a run goes in circles, the model is told instead. */
function nudgeRoutes(run: Run, draft: Draft): readonly Route[] {
  // Only what a guard saw: a tool or hook that stops the run with this reason means it.
  if (draft.reason !== 'no_progress' || draft.raisedBy.length === 0) return noRoutes
  if ([...run.signals].some((signal) => signal.reason !== 'no_progress')) return noRoutes
  return [{ transition: 'no_progress_nudge', take: tellNoProgress }]
}

/** The count starts anew: it takes as many repeats again to stop the run. */
function tellNoProgress(run: Run): 'taken' {
  run.appendUser(noProgressNudge, 'loop')
  run.update({ recentTurns: [] })
  return 'taken'
}

/** Lets a hook ask to go on. What it overrides is consumed, and the lap is charged to the request, not to the limit. */
function override(run: Run, draft: Draft): Eventually<'overridden' | 'aborted' | undefined> {
  if (!draft.overridable) return undefined
  return after(runHooks(run, 'onStop'), (hooks) => {
    if (grantOverride(run, draft, hooks)) return 'overridden'
    return hooks.aborted === undefined ? undefined : 'aborted'
  })
}

function grantOverride(run: Run, draft: Draft, hooks: HookRun): boolean {
  addHookMessages(run, hooks.messages)
  // What the hooks changed stays, whether or not they are granted what they ask for.
  if (!run.continuation.isContinuationRequested()) return false
  const { signals, spent } = run
  const isFixed = [...signals].some((signal) => neverOverridden.has(signal.reason))
  const isAgain = draft.raisedBy.some((name) => spent.overridden.includes(name))
  // A request that ends with the model's own words asks for nothing: then the hook must say something.
  const isSpeechless = run.transcript.messages().at(-1)?.role !== 'user'
  const isUsedUp = lapsLeft('continuation_requested', spent.laps, run.context.limits) <= 0
  if (isFixed || isAgain || isSpeechless || isUsedUp) return false
  const by = hooks.continuedBy ?? 'a hook'
  run.emit({ type: 'signals_overridden', by, signals: [...signals] })
  run.update({ overridden: [...new Set([...spent.overridden, ...draft.raisedBy])] })
  run.lap('continuation_requested', { overridden: { by, signals: signals.toJSON() } })
  return true
}

const neverOverridden: ReadonlySet<string> = new Set(['user_requested', 'error', 'cost_limit'])

/** At a limit, and when asked for: one more request without tools for a last answer. Paid once; the ending stays. */
function wrapUp(run: Run, draft: Draft): boolean {
  if (!run.context.settings.wrapUp || !draft.wrapsUp) return false
  if (run.spent.closing !== null || lapsLeft('wrap_up', run.spent.laps, run.context.limits) <= 0) return false
  const text = `The run ends here: ${draft.signal.message}. ${lastAnswerPrompt}`
  const closing = { reason: draft.reason, signal: draft.signal.toJSON(), signals: run.signals.toJSON() }
  run.appendUser(text, 'loop')
  run.update({ closing })
  run.lap('wrap_up')
  return true
}
