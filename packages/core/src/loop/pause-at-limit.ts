import { type AbortCause, type AbortListener, AbortScope } from '../values/abort.ts'
import { iterationsLeft, maxGoalTriesAllowed } from '../limits/transition-rules.ts'
import { limitOfResult } from '../endings/limit-of-result.ts'
import { StopSignal } from '../endings/signal.ts'
import { messageOf } from '../values/errors.ts'
import type { MaybePromise } from '../values/maybe-promise.ts'
import { any } from '../limits/combinators.ts'
import {
  checkedLimitAnswer,
  isRaised,
  offersFor,
  type AskLimit,
  type LimitAnswer,
  type LimitFigures,
  type LimitRequest,
  type RaisableLimit,
} from '../state/limit-request.ts'
import { settingsAfter } from '../state/settings-change.ts'
import type { ExternalInput } from '../steps/external-input.ts'
import { wallTimeOf } from '../values/clock.ts'
import type { WaitResult } from '../steps/step-engine.ts'
import { abortEnding, maxTurnsEnding } from '../run/pending-endings.ts'
import { committedUsd, type Run } from '../run/run.ts'
import { isRunNarrower } from '../run/limit-use.ts'
import { proceed, type PendingEnding, type Outcome, type Route } from '../run/outcome.ts'
import { limitRaised } from '../run/turn-texts.ts'

// When a run reaches one of its own limits and may pause, it asks a person before it ends (spec R-PAUSE-1).

/** The outcome of a pause: the limit was raised, or the run ends. */
export type Pause =
  | { readonly outcome: 'raised'; readonly limit: RaisableLimit }
  | { readonly outcome: 'ends'; readonly pendingEnding: PendingEnding }

/** Pauses the run at a limit that a person may raise; otherwise undefined. `asked`: limits that were already asked about in this iteration. */
export function pauseAtLimit(
  run: Run,
  pendingEnding: PendingEnding,
  asked: ReadonlySet<RaisableLimit>,
): MaybePromise<Pause | undefined> {
  const figures = figuresOf(run, pendingEnding)
  if (figures === undefined || asked.has(figures.limit)) return undefined
  if (run.context.settings.onLimit === 'end' && !isOnRecord(run, figures)) return undefined
  return pause(run, { pendingEnding, figures })
}

/** Whether a recorded pause exists. It is repeated, even if the current options would not pause. */
function isOnRecord(run: Run, { limit }: LimitFigures): boolean {
  const { steps, isRecordOnly } = run.ports
  return steps.peek(run.key(stepName(run, isRecordOnly ? 'question' : 'answer', limit, 1))) === 'done'
}

/** The name of a step. `times`: the number of the request about this limit in this iteration. */
function stepName({ spent }: Run, part: 'question' | 'answer' | 'end', limit: RaisableLimit, times: number): string {
  return `limit_${part}:${spent.request}:${limit}:${times}`
}

interface PausePoint {
  readonly pendingEnding: PendingEnding
  readonly figures: LimitFigures & Pick<LimitRequest, 'offers'>
}

/** The state of the limit; undefined if it cannot be raised. Subagents do not pause: a subagent ends, and the main run asks. */
function figuresOf(run: Run, pendingEnding: PendingEnding): PausePoint['figures'] | undefined {
  const { identity, spent, context } = run
  if (!pendingEnding.isOwnLimit || identity.depth > 0 || spent.closing !== null) return undefined
  const limit = limitOf(run, pendingEnding)
  if (limit === undefined) return undefined
  const of = context.settings[limit]
  if (of === Infinity) return undefined
  const { used: signalUsed, limitNeededUsd, limitNeeded } = pendingEnding.signal.context
  const used = usedOf(run, limit) ?? (typeof signalUsed === 'number' ? signalUsed : of)
  const [needed] = [limitNeededUsd, limitNeeded].filter((each) => typeof each === 'number')
  const most = ceilingOf(run, limit)
  const figures = { limit, used, of, most, ...(needed !== undefined && needed > used && { needed }) }
  const offers = offersFor(figures, sessionRemainder(run, limit))
  return offers.length === 0 ? undefined : { ...figures, offers }
}

function limitOf(run: Run, { reason, signal }: PendingEnding): RaisableLimit | undefined {
  const limit = limitOfResult({ reason, signal })
  if (limit === null || limit === 'noProgress') return undefined
  return limit === 'maxBudgetUsd' && isRunNarrower(run) ? 'maxRunUsd' : limit
}

/** The amount used. For dollars it is the amount on the bill. For other limits the signal of the ending contains it. */
function usedOf({ ports, spent }: Run, limit: RaisableLimit): number | undefined {
  const usd = committedUsd(spent)
  if (limit === 'maxRunUsd') return usd
  return limit === 'maxBudgetUsd' ? ports.spentBeforeUsd + usd : undefined
}

/** The highest value that the limit may be raised to. A guard ends the run at its own bound in any case. */
function ceilingOf({ context }: Run, limit: RaisableLimit): number | null {
  const { limitCeilings } = context.settings
  const bounds = any(...context.guards.map(({ guard }) => guard)).bounds ?? {}
  const byGuard: { readonly [limit in RaisableLimit]?: number | undefined } = {
    maxTurns: bounds.turns,
    maxRunUsd: bounds.usd,
    maxTotalTokens: bounds.tokens,
    maxDurationMs: bounds.ms,
    maxGoalTries: maxGoalTriesAllowed,
  }
  const most = Math.min(byGuard[limit] ?? Infinity, limitCeilings[limit] ?? Infinity)
  return most === Infinity ? null : most
}

/** The part of its session's budget that is left, for the run's dollar limit. Suggested limits stay within this amount where possible. */
function sessionRemainder({ context, ports }: Run, limit: RaisableLimit): number {
  return limit === 'maxRunUsd' ? context.settings.maxBudgetUsd - ports.spentBeforeUsd : Infinity
}

/** Asks a person and waits. Active time does not advance. A wait at the time limit uses a new abort scope, since the old scope is already aborted. */
async function pause(run: Run, pausePoint: PausePoint): Promise<Pause> {
  const { deadline, abort } = run.ports
  const isTimeLimit = abort.cause === 'time'
  deadline.pause()
  try {
    if (isTimeLimit) run.renewAbort()
    let ended = await askAndWait(run, pausePoint, 1)
    // The person changed the settings, but an earlier process died before it recorded the change. The run asks again.
    for (let times = 2; ended === 'again'; times++) ended = await askAndWait(run, pausePoint, times)
    // Restores the abort, so that the ending is the same as without a pause.
    if (ended.outcome === 'ends' && isTimeLimit) abort.abort('time')
    return ended
  } finally {
    deadline.resume()
  }
}

async function askAndWait(run: Run, { pendingEnding, figures }: PausePoint, times: number): Promise<Pause | 'again'> {
  const { limit } = figures
  const request = await questionOf(run, { pendingEnding, figures }, times)
  run.emit({ type: 'limit_question', request })
  const waited = await waitForAnswer(run, request)
  const key = run.key(`control:${stepName(run, 'answer', limit, times)}`)
  const control = await run.ports.steps.control(key, () => externalInputOf(run, waited), { isOpen: true })
  const { value: endedAt } = await run.step<number>(stepName(run, 'end', limit, times), () =>
    wallTimeOf(run.context.timers),
  )
  const answerEvent = {
    type: 'limit_answered',
    id: request.id,
    limit,
    waitedMs: Math.max(0, endedAt - request.sinceMs),
  } as const
  if (control?.settings !== undefined) run.set(control.settings)
  for (const signal of control?.signals ?? []) run.raise(StopSignal.fromJSON(signal), 'before_turn')
  if (waited.outcome === 'aborted' || control?.abort !== undefined) {
    run.emit({ ...answerEvent, outcome: 'aborted' })
    return { outcome: 'ends', pendingEnding: abortEnding(run, control?.abort ?? 'user', 'streaming') }
  }
  const to = run.context.settings[limit]
  if (isRaised(figures, to)) {
    run.emit({ ...answerEvent, outcome: 'raised', to: to === Infinity ? null : to })
    return { outcome: 'raised', limit }
  }
  if (waited.outcome === 'woken' && waited.why === 'settings') return 'again'
  run.emit({
    ...answerEvent,
    outcome: waited.outcome === 'woken' ? 'stopped' : waited.outcome === 'over' ? 'over' : 'ended',
  })
  return { outcome: 'ends', pendingEnding }
}

/** Recorded with its time, so that a resume or another frontend shows the same request. */
async function questionOf(run: Run, { pendingEnding, figures }: PausePoint, times: number): Promise<LimitRequest> {
  const { context } = run
  const id = run.key(stepName(run, 'answer', figures.limit, times))
  const { pauseForMs } = context.settings
  const { value } = await run.step<LimitRequest>(stepName(run, 'question', figures.limit, times), () => {
    const sinceMs = wallTimeOf(context.timers)
    const untilMs = pauseForMs === Infinity ? null : sinceMs + pauseForMs
    return { id, ...figures, message: pendingEnding.signal.message, sinceMs, untilMs }
  })
  return value
}

/** The input that arrived during the wait: the answer in the form of a settings change, other changed settings, stop signals, or an abort. */
function externalInputOf(run: Run, { outcome, answer }: WaitResult<LimitAnswer>): ExternalInput | undefined {
  const { inbox, abort } = run.ports
  if (outcome === 'aborted') return { abort: abort.cause ?? 'user' }
  if (answer?.raise !== undefined) return { settings: { limits: answer.raise } }
  if (outcome !== 'woken') return undefined
  const [signals, settings] = [inbox.takeSignals(), inbox.takeSettings()]
  if (signals === undefined && settings === undefined) return undefined
  return { ...(signals !== undefined && { signals }), ...(settings !== undefined && { settings }) }
}

/** Waits for an answer, a sufficiently raised limit, a stop request, or the timeout. */
async function waitForAnswer(run: Run, request: LimitRequest): Promise<WaitResult<LimitAnswer>> {
  const { steps, abort, inbox } = run.ports
  const { askLimit, settings } = run.context
  const { pauseForMs } = settings
  const answerScope = new AbortScope()
  const wakeOn = (wake: (why: string) => void): (() => void) => {
    const checkWake = (): void => {
      if (inbox.isStopping) wake('stop')
      else if (isRaised(request, limitWith(run, request.limit))) wake('settings')
    }
    const stops = [inbox.onArrival(checkWake), inbox.onSettings(checkWake)]
    checkWake()
    return () => {
      for (const stop of stops) stop()
    }
  }
  const isOpen = steps.peek(request.id) !== 'done'
  if (isOpen) run.ports.onLimitQuestion(request)
  const listener: AbortListener = { onAbort: (cause: AbortCause) => answerScope.abort(cause) }
  abort.listen(listener)
  if (isOpen && askLimit !== null) void callback(run, askLimit, request, answerScope)
  try {
    const longest = pauseForMs === Infinity ? {} : { longestMs: pauseForMs }
    return await steps.wait<LimitAnswer>(request.id, { signal: abort.signal, wakeOn, ...longest })
  } finally {
    abort.unlisten(listener)
    answerScope.abort('abandoned')
    run.ports.onLimitQuestion(undefined)
  }
}

/** The limit including settings that were received but not applied yet. */
function limitWith(run: Run, limit: RaisableLimit): number {
  const { limits } = run.ports.inbox.settings ?? {}
  if (limits === undefined) return run.context.settings[limit]
  return run.contextUnder(settingsAfter(run.spent.settings, { limits }, false)).settings[limit]
}

/** How often a callback is asked again after an invalid answer. */
const maxTries = 3

/**
 * Passes the answer of the callback to the wait. An invalid answer is rejected and the request stays open. If the
 * callback throws, the run ends at the limit.
 */
async function callback(run: Run, ask: AskLimit, request: LimitRequest, answerScope: AbortScope): Promise<void> {
  const deliver = (answer: LimitAnswer): void => {
    if (!answerScope.signal.aborted) run.ports.answer?.(request.id, answer)
  }
  const { signal } = answerScope
  let problem: string | undefined
  for (let tries = 1; tries <= maxTries; tries++) {
    let reply: unknown
    try {
      reply = await ask(request, { signal, ...(problem !== undefined && { problem }) })
    } catch {
      break
    }
    try {
      return deliver(checkedLimitAnswer(request, reply))
    } catch (thrown) {
      problem = messageOf(thrown)
    }
  }
  deliver({ end: true })
}

/** The outcome after the limit was raised: the refused routes, another turn, or a repetition of the request that was not made or did not complete. */
export function outcomeAfterRaise(run: Run, { routes }: Outcome, pendingEnding: PendingEnding): Outcome {
  if (run.hasReplied) {
    const hasTurn = iterationsLeft('next_turn', run.spent.laps, run.context.limits) > 0
    return proceed([...routes, anotherTurn], () => (hasTurn ? pendingEnding : maxTurnsEnding(run)))
  }
  const { laps: iterations } = run.spent
  run.update({ laps: { ...iterations, raises: (iterations.raises ?? 0) + 1 } })
  return proceed([sameTurn], () => pendingEnding)
}

const anotherTurn: Route = { transition: 'next_turn', take: appendContinueRequest }
const sameTurn: Route = { transition: 'limit_raised', take: appendContinueRequest }

/** Appends a request to continue, since services require the last message to be the user's. */
function appendContinueRequest(run: Run): 'taken' {
  if (run.transcript.messages().at(-1)?.role === 'assistant') run.appendUser(limitRaised, 'loop')
  return 'taken'
}
