import { iterationsLeft } from '../limits/transition-rules.ts'
import { ConfigurationError } from '../values/errors.ts'
import { endings } from '../endings/table.ts'
import { StopSignal } from '../endings/signal.ts'
import { andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { Goal } from '../goals/goal.ts'
import type { GoalPlace, GoalResult, GoalSpec, RoundRecord } from '../verification/goal-record.ts'
import { changeCount, currentRound, type GoalProgress } from '../verification/goal-progress.ts'
import { digestOfReport } from '../goals/report.ts'
import { goalOf } from '../goals/run-goals.ts'
import {
  baselineText,
  sentBackText,
  takenOverText,
  triesText,
  unmetLine,
  type LimitsLeft,
} from '../goals/goal-texts.ts'
import { hashText } from '../values/hash.ts'
import type { Json } from '../values/json.ts'
import type { RunProgress } from '../state/state.ts'
import { countOf } from '../values/text.ts'
import type { GoalFilesMemo, Transcript } from '../conversation/transcript.ts'
import { abortEnding, maxTurnsEnding } from '../run/pending-endings.ts'
import { activeMs, committedUsd, isRequestRecorded, type Run } from '../run/run.ts'
import { checkRound, emptyRound } from './goal-round.ts'
import { pendingEndingOf, endWith, proceed, type PendingEnding, type Outcome, type Route } from '../run/outcome.ts'
import { stepWithQuestions } from '../request/step-with-questions.ts'
import {
  afterTries,
  afterTriesStalled,
  agentsStillWork,
  answerWithoutCall,
  checksChangedFiles,
  goalAlreadyMet,
  goalFilesRead,
  goalMet,
  goalMetAtLimit,
  goalNotMet,
  guardEndedRun,
  notChecked,
} from '../endings/ending-texts.ts'

// A run with goals ends as completed only when they are met (spec R-GOAL-1). They are checked before the first request,
// at an answer, after a turn if configured, and once more at a limit.

/** The current goals of the run. Undefined in a mode that only plans, in which no goal is checked. */
function activeGoals({ spent, context }: Run): GoalProgress | undefined {
  if (spent.goal === undefined) return undefined
  const { permissions, settings } = context
  return permissions.isPlanning?.(settings.permissionMode ?? undefined) === true ? undefined : spent.goal
}

/** Whether the goals were met at the last check, and nothing has changed since. */
export function isGoalMet(spent: RunProgress): boolean {
  return currentRound(spent)?.met === true
}

/** Checks the goals before the first request. If goals are set during the run, checks them before the next request. */
export function goalBaseline(run: Run): MaybePromise<Outcome | undefined> {
  const goal = activeGoals(run)
  if (goal === undefined || goal.baseline !== null || goal.rounds > 0) return undefined
  if (isRequestRecorded(run) && !run.isRecorded(stepName(run, 'baseline'))) return undefined
  return andThen(runRound(run, goal, 'baseline'), ({ record, progress }) => {
    if (record.aborted !== undefined) return endWith(abortEnding(run, record.aborted, 'streaming'))
    if (record.unusable !== undefined) return endWith(unusableGoalEnding(record.unusable))
    const { takenOver = [] } = record
    if (takenOver.length > 0) run.attach({ type: 'informational', message: takenOverText(takenOver) })
    // Only at the start: goals that are set later must not cause work to be skipped. The files need no baseline, since no agent has changed them.
    if (record.met && run.context.goals.skipIfMet && run.spent.requests === 0)
      return endWith(goalMetEnding(goalAlreadyMet))
    const { maxGoalTries } = run.context.settings
    appendText(run, baselineText(progress.specs, record, maxGoalTries), record)
    return undefined
  })
}

/** Checks the goals at an answer. If they are not met, the model continues, the person is asked, or the run ends. */
export function goalAtAnswer(run: Run): MaybePromise<Outcome | undefined> {
  const goal = activeGoals(run)
  if (goal === undefined) return undefined
  if (run.turnEnd === 'passed' && !run.isRecorded(stepName(run, 'answer'))) return undefined
  // The waiting time for the running agents is used up.
  if (isAnyAgentWorking(run))
    return endWith(hasTurnLeft(run) ? goalUnmetEnding(run, goal, 'agents') : maxTurnsEnding(run))
  const wasMet = currentRound(run.spent)?.met
  // Goals that were met stay met while nothing changes, so they are not checked again.
  if (wasMet === true) return undefined
  if (wasMet === false && needsPerson(run, goal)) return endWith(goalUnmetEnding(run, goal, 'asks'))
  return andThen(runRound(run, goal, 'answer'), ({ record, progress }) => {
    if (record.aborted !== undefined) return endWith(abortEnding(run, record.aborted, 'streaming'))
    if (!record.met && !needsPerson(run, progress)) return sendBackForGoal(run, progress, record)
    storeMemo(run, record)
    return record.met ? undefined : endWith(goalUnmetEnding(run, progress, 'asks'))
  })
}

/** Whether a person must decide: the model called no tool since the last user input or the last try, so it asks a question, or refuses. */
function needsPerson({ context, spent }: Run, goal: GoalProgress): boolean {
  return context.goals.withoutWork === 'end' && spent.toolResults === goal.resultsBefore
}

/** Checks after a turn that changed something, if the run ends as soon as its goals are met. */
export function goalAfterTurn(run: Run): MaybePromise<PendingEnding | undefined> {
  const goal = activeGoals(run)
  if (goal === undefined || !run.context.goals.stopWhenMet || currentRound(run.spent)?.met !== undefined)
    return undefined
  if (isAnyAgentWorking(run)) return undefined
  if (run.turnEnd === 'passed' && !run.isRecorded(stepName(run, 'turn'))) return undefined
  return andThen(runRound(run, goal, 'turn'), ({ record }) => {
    storeMemo(run, record)
    if (record.aborted !== undefined) return abortEnding(run, record.aborted, 'tools')
    return record.met ? goalMetEnding(goalMet) : undefined
  })
}

// Spec R-GOAL-9.
/**
 * The ending at a limit for a run with goals. The goals are checked once more if something changed, since a check needs
 * no model. If they are met, the run ends as completed; if not, an ending that looks like success is replaced.
 */
export function goalAtEnding(run: Run, pendingEnding: PendingEnding): MaybePromise<PendingEnding> {
  const goal = activeGoals(run)
  if (goal === undefined || !endings[pendingEnding.reason].checksGoal) return pendingEnding
  const wasMet = currentRound(run.spent)?.met
  if (wasMet !== undefined || !isCheckedAtLimit(run, goal))
    return wasMet === true ? pendingEnding : withoutFalseSuccess(run, goal, pendingEnding)
  return andThen(runRound(run, goal, 'limit'), ({ record, progress }) => {
    storeMemo(run, record)
    if (record.met) return goalMetEnding(goalMetAtLimit(endings[pendingEnding.reason].sentence))
    return record.aborted === undefined
      ? withoutFalseSuccess(run, progress, pendingEnding)
      : abortEnding(run, record.aborted, 'streaming')
  })
}

/** Goals that need a model, answers that must fit a schema, and work that agents are still changing are not checked at a limit. */
function isCheckedAtLimit(run: Run, goal: GoalProgress): boolean {
  if (run.context.settings.output !== null || goal.specs.some(({ judged }) => judged === true)) return false
  return !isAnyAgentWorking(run)
}

function withoutFalseSuccess(run: Run, goal: GoalProgress, pendingEnding: PendingEnding): PendingEnding {
  return pendingEnding.reason === 'finish_reason' ? goalUnmetEnding(run, goal, 'finish_reason') : pendingEnding
}

/** Whether agents of the run are still running, or have ended but are not entered yet. Nothing is checked then. Based on the record. */
function isAnyAgentWorking({ spent }: Run): boolean {
  return spent.openAgents !== undefined && spent.openAgents.length > 0
}

function stepName({ spent }: Run, place: GoalPlace): string {
  return `goal:${spent.request}:${place}`
}

interface CheckedRound {
  readonly record: RoundRecord
  /** The progress including this round. */
  readonly progress: GoalProgress
}

/** Runs one round of checks as a step. If a resume finds this step unfinished, it runs the round again. */
function runRound(run: Run, goal: GoalProgress, place: GoalPlace): MaybePromise<CheckedRound> {
  const { maxGoalTries: maxTries } = run.context.settings
  const { tries } = goal
  run.emit({ type: 'goal_start', place, goals: goal.specs.map(({ name }) => name), tries, maxTries })
  const goals = goal.specs.map((spec) => knownGoal(run, spec))
  const memo = memoIn(run.transcript, goal.specs)
  const looksAnew = place === 'baseline' && goal.looksAnew === true
  const step = stepWithQuestions<RoundRecord>(run, stepName(run, place), {
    call: (_ask, askIn) =>
      run.withGrace(
        () => checkRound(run, goals, { memo, looksAnew }, askIn),
        (settled) => (settled.kind === 'value' ? settled.value : abortedRound(run)),
      ),
    cut: (record, aborted) => ({ ...record, aborted }),
  })
  return andThen(step, ({ value: record, durationMs }) => {
    const progress = progressAfter(goal, record, place, changeCount(run.spent))
    if (record.aborted === undefined) run.update({ goal: progress })
    const { met, checks, tampered, changedByChecks, changedTests } = record
    const { flaky } = progress
    const summary = { met, checks, tampered, changedByChecks, changedTests, tries, maxTries, flaky, durationMs }
    run.emit({ type: 'goal_end', place, ...summary })
    return { record, progress }
  })
}

function abortedRound({ ports }: Run): RoundRecord {
  return { ...emptyRound, aborted: ports.abort.cause ?? 'user' }
}

/** @throws ConfigurationError for a goal that this program does not define. A run with such a goal does not start. */
function knownGoal({ context }: Run, spec: GoalSpec): Goal {
  const goal = goalOf(context.goals, spec)
  // A replay does not call the check, since its result is recorded.
  return goal ?? { ...spec, check: () => Promise.reject(new ConfigurationError(`Unknown goal ${spec.name}.`)) }
}

function progressAfter(goal: GoalProgress, record: RoundRecord, place: GoalPlace, changes: number): GoalProgress {
  const { met, checks, tampered, changedTests } = record
  const { last } = goal
  const isRepeatedState = last !== null && last.changes === changes && last.met !== met
  return {
    ...goal,
    rounds: goal.rounds + 1,
    baseline: place === 'baseline' ? met : goal.baseline,
    last: { met, checks, tampered, changedTests, changes },
    hasFailed: goal.hasFailed || !met,
    flaky: goal.flaky || record.isUnstable || (isRepeatedState && tampered.length === 0),
  }
}

/** The most recent memo that is stored for these goals. */
function memoIn(transcript: Transcript, specs: readonly GoalSpec[]): Json | null {
  const of = hashText(JSON.stringify(specs))
  for (let index = transcript.length - 1; index >= 0; index--) {
    const entry = transcript.at(index)
    if ((entry?.kind === 'user' || entry?.kind === 'attachment') && entry.goalFiles?.of === of)
      return entry.goalFiles.memo
  }
  return null
}

function goalFilesEntry({ spent }: Run, { memo }: RoundRecord): { readonly goalFiles?: GoalFilesMemo } {
  if (memo === undefined || spent.goal === undefined) return {}
  return { goalFiles: { of: hashText(JSON.stringify(spent.goal.specs)), memo } }
}

function appendText(run: Run, text: string, record: RoundRecord): void {
  const message = { role: 'user', content: text } as const
  run.append({ kind: 'user', id: run.entryId('goal'), message, origin: 'loop', ...goalFilesEntry(run, record) })
}

/** Stores the memo of the files with a message for people, if no message is sent to the model. */
function storeMemo(run: Run, record: RoundRecord): void {
  const memo = goalFilesEntry(run, record)
  if (memo.goalFiles === undefined) return
  const { length: changed } = record.changedByChecks
  const message = changed === 0 ? goalFilesRead : checksChangedFiles(countOf(changed, 'file'))
  run.append({ kind: 'attachment', id: run.entryId('goal'), attachment: { type: 'informational', message }, ...memo })
}

/**
 * Asks the model to continue, within the retry limit. The message contains the failure and the remaining limits. It
 * contains once the remark that nothing changed.
 */
function sendBackForGoal(run: Run, goal: GoalProgress, record: RoundRecord): Outcome {
  const changes = changeCount(run.spent)
  const failed = record.checks.at(-1)
  // The output of a check that timed out depends on the machine, so it is not compared.
  const reportText = failed?.timedOut === true ? '' : record.report
  const report = digestOfReport(failed?.name ?? '', `${reportText}\n${record.tampered.join('\n')}`)
  const isStalled = goal.lastTry !== null && goal.lastTry.report === report && goal.lastTry.changes === changes
  if (isStalled && goal.reminded) {
    storeMemo(run, record)
    return endWith(goalUnmetEnding(run, goal, 'stalled'))
  }
  const route: Route = {
    transition: 'goal_unmet',
    take(from) {
      const tries = goal.tries + 1
      const max = from.context.settings.maxGoalTries
      appendText(from, sentBackText(record, { made: tries, max }, limitsLeft(from), isStalled), record)
      const { toolResults: resultsBefore } = from.spent
      const reminded = goal.reminded || isStalled
      from.update({ goal: { ...goal, tries, lastTry: { report, changes }, reminded, resultsBefore } })
      return 'taken'
    },
  }
  return proceed([route], () => {
    storeMemo(run, record)
    return hasTurnLeft(run) ? goalUnmetEnding(run, goal, 'tries') : maxTurnsEnding(run)
  })
}

function hasTurnLeft({ spent, context }: Run): boolean {
  return iterationsLeft('next_turn', spent.laps, context.limits) > 0
}

/** Based on the record, so that a replay produces the same text. */
function limitsLeft({ spent, context, ports }: Run): LimitsLeft {
  const { maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs } = context.settings
  const used = committedUsd(spent)
  return {
    turns: iterationsLeft('next_turn', spent.laps, context.limits) - 1,
    usd: Math.max(0, Math.min(maxBudgetUsd - ports.spentBeforeUsd, maxRunUsd) - used),
    tokens: Math.max(0, maxTotalTokens - spent.totalTokens),
    ms: Math.max(0, maxDurationMs - activeMs(spent)),
  }
}

function goalMetEnding(message: string): PendingEnding {
  return pendingEndingOf('completed', new StopSignal({ reason: 'completed', message, source: 'goal' }))
}

/**
 * Why the goal is unmet: no tries are left, two tries changed nothing, the answer is a question to the person, a guard
 * accepted the answer, or agents ran longer than the waiting time.
 */
type UnmetCause = 'tries' | 'stalled' | 'asks' | 'finish_reason' | 'agents'

function goalUnmetEnding({ context }: Run, { tries, last }: GoalProgress, cause: UnmetCause): PendingEnding {
  const { maxGoalTries: limit } = context.settings
  const isUnchecked = last === null || cause === 'agents'
  const why = isUnchecked ? notChecked : unmetLine(last)
  const message = goalNotMet(causeText(cause, tries), why)
  const check = isUnchecked ? undefined : last.checks.at(-1)
  const signal = new StopSignal({
    reason: 'retry_limit',
    message,
    context: { used: tries, limit, cause, goal: check?.name ?? null, exitCode: check?.exitCode ?? null },
    source: 'goal',
  })
  return pendingEndingOf('goal_unmet', signal, { isOwnLimit: cause === 'tries' })
}

function causeText(cause: UnmetCause, tries: number): string {
  switch (cause) {
    case 'tries':
      return afterTries(triesText(tries))
    case 'stalled':
      return afterTriesStalled(triesText(tries))
    case 'asks':
      return answerWithoutCall
    case 'agents':
      return agentsStillWork
    case 'finish_reason':
      return guardEndedRun
  }
}

function unusableGoalEnding(message: string): PendingEnding {
  const error = new ConfigurationError(message)
  const signal = new StopSignal({ reason: 'error', message, context: { code: error.code }, source: 'goal' })
  return pendingEndingOf('error', signal, { closingEntry: { error: 'unknown', message }, error })
}

/** Whether the goals were not checked because agents were running. Those agents have ended since. */
function wasUnchecked({ reason, signal }: PendingEnding): boolean {
  return reason === 'goal_unmet' && signal.context['cause'] === 'agents'
}

/** The state of the goals at the end of the run, for its result. */
export function goalResultOf(
  { spent }: { readonly spent: RunProgress },
  pendingEnding: PendingEnding,
): GoalResult | undefined {
  const { goal } = spent
  if (goal === undefined) return undefined
  const met =
    pendingEnding.reason === 'needs_approval' || wasUnchecked(pendingEnding)
      ? 'unknown'
      : (currentRound(spent)?.met ?? 'unknown')
  const heldFromStart = met === true && goal.baseline === true && !goal.hasFailed
  return {
    met,
    ...(goal.specs.some(({ judged }) => judged === true) && { judged: true }),
    tries: goal.tries,
    baseline: goal.baseline,
    ...(heldFromStart && { heldFromStart: true }),
    checks: goal.last?.checks ?? [],
    tampered: goal.last?.tampered ?? [],
    changedTests: goal.last?.changedTests ?? [],
    flaky: goal.flaky,
  }
}
