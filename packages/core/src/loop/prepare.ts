import { andThen, firstResult, type MaybePromise } from '../values/maybe-promise.ts'
import { checkMedia } from './check-media.ts'
import { externalInputAt, guardsAt, inboxAt } from '../run/cancellation-points.ts'
import { pruneResults, compactOnRequest, defendContext, stageCollapse } from './defend-context.ts'
import { abortEnding, signalEnding } from '../run/pending-endings.ts'
import { goalBaseline } from './goals.ts'
import { loweredLimits } from './lowered-limit.ts'
import { endWith, type Outcome } from '../run/outcome.ts'
import { isRequestRecorded, type Run } from '../run/run.ts'
import type { RecordPosition } from '../run/tool-phase.ts'
import { addHookMessages, noSubject, runHooks, type HookRun } from '../request/run-hooks.ts'
import type { ReportedLimits } from '../state/state.ts'
import { leftOf, limitsInUse, type LimitUse } from '../run/limit-use.ts'
import { remainingLimits } from '../run/turn-texts.ts'

type Stage = (run: Run) => MaybePromise<Outcome | undefined>

/** The stages before a turn, in order. The reservation is not among them: it is part of the request's own step. */
const beforeTurn: readonly Stage[] = [
  externalInput,
  loweredLimits,
  compactOnRequest,
  guardsAndHooks,
  steering,
  inferenceHooks,
  goalBaseline,
  remindOfLimits,
  checkMedia,
  pruneResults,
  defendContext,
  stageCollapse,
]

/** Prepares a request. Undefined when it can be made; an outcome when the run ends before it. */
export function prepare(run: Run): MaybePromise<Outcome | undefined> {
  emitTurnStart(run)
  // This request is for the last answer at a limit. The ending is already decided, and no new input is accepted.
  if (run.spent.closing !== null) return checkMedia(run)
  return firstResult(beforeTurn, (stage) => stage(run))
}

/** Emits the start of a turn, or of a further request in the same turn. */
export function emitTurnStart({ spent, emit }: Run): void {
  emit({ type: 'turn_start', request: spent.request, turn: spent.turns + (spent.turnBegins ? 1 : 0) })
}

function externalInput(run: Run): MaybePromise<Outcome | undefined> {
  return andThen(externalInputAt(run, 'before_turn'), (abort) =>
    abort === undefined ? undefined : endWith(abortEnding(run, abort, 'streaming')),
  )
}

/** Asks the guards, then calls the hooks before a turn. Any raised signal ends the run. */
function guardsAndHooks(run: Run): MaybePromise<Outcome | undefined> {
  const raisedBy = guardsAt(run, 'before_turn', positionOf(run))
  const hooks = run.context.hooks.all.length === 0 ? undefined : hooksBeforeTurn(run)
  return andThen(hooks, (aborted) => aborted ?? endIfSignalRaised(run, raisedBy))
}

function hooksBeforeTurn(run: Run): MaybePromise<Outcome | undefined> {
  // A subagent has its own trigger, so that hooks for a whole run are not called for it.
  const trigger = run.identity.depth === 0 ? 'beforeExecution' : 'beforeAgent'
  const first = run.spent.request === 1 ? runAndAddHooks(run, trigger) : undefined
  return andThen(first, (aborted) => aborted ?? runAndAddHooks(run, 'beforeStep'))
}

function steering(run: Run): MaybePromise<undefined> {
  return andThen(inboxAt(run, 'before_turn'), () => undefined)
}

function inferenceHooks(run: Run): MaybePromise<Outcome | undefined> {
  return andThen(runAndAddHooks(run, 'beforeInference'), (aborted) => aborted ?? endIfSignalRaised(run, []))
}

function runAndAddHooks(run: Run, trigger: 'beforeExecution' | 'beforeAgent' | 'beforeStep' | 'beforeInference') {
  return andThen(runHooks(run, trigger, noSubject, positionOf(run)), (hooks: HookRun): Outcome | undefined => {
    addHookMessages(run, hooks.messages)
    return hooks.aborted === undefined ? undefined : endWith(abortEnding(run, hooks.aborted, 'streaming'))
  })
}

/** Stages before a request are `passed` once the request is on record. */
function positionOf(run: Run): RecordPosition {
  return isRequestRecorded(run) ? 'passed' : 'open'
}

function endIfSignalRaised(run: Run, raisedBy: readonly string[]): Outcome | undefined {
  return run.signals.hasAny() ? endWith(signalEnding(run, raisedBy)) : undefined
}

/** The percentages of a limit at which the model is reminded of what is left. */
const reminderShares = [50, 80, 95] as const

/** A reminder before a request. JSON. */
type LimitsReminder = { readonly text: string; readonly told: ReportedLimits }

// Spec R-TELL-1.
/** Before a turn: reminds the model of what is left of limits that are half used, once for each share. */
function remindOfLimits(run: Run): MaybePromise<Outcome | undefined> {
  if (!run.context.settings.limitReminders) return undefined
  const name = `limits:${run.spent.request}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && isRequestRecorded(run)) return undefined
  const due = dueLimits(run)
  if (!isRecorded && due.length === 0) return undefined
  const step = run.step<LimitsReminder>(name, () => reminderOf(due, run.spent.limitsTold))
  return andThen(step, ({ value: { text, told: reported } }) => {
    run.append({
      kind: 'user',
      id: run.entryId('limits'),
      message: { role: 'user', content: text },
      origin: 'loop',
    })
    run.update({ limitsTold: reported })
    return undefined
  })
}

interface DueLimit extends LimitUse {
  readonly percent: number
}

/** Limits that passed a share which was not reported yet. A changed limit is reported again. */
function dueLimits(run: Run): readonly DueLimit[] {
  const { limitsTold: reported = {} } = run.spent
  return limitsInUse(run).flatMap((use): DueLimit[] => {
    const percent = reminderShares.findLast((share) => use.used * 100 >= use.limit * share)
    if (percent === undefined || use.limit === Infinity) return []
    const before = reported[use.of]
    const isReported = before !== undefined && before.limit === use.limit && before.percent >= percent
    return isReported ? [] : [{ ...use, percent }]
  })
}

function reminderOf(due: readonly DueLimit[], before: ReportedLimits = {}): LimitsReminder {
  const reported = Object.fromEntries(due.map(({ of, limit, percent }) => [of, { limit, percent }]))
  const text = remainingLimits(due.map((use) => ({ of: use.of, left: leftOf(use), limit: use.limit })))
  return { text, told: { ...before, ...reported } }
}
