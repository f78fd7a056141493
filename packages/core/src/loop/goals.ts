import { lapsLeft } from '../limits/allowance.ts'
import { ConfigurationError } from '../values/errors.ts'
import { endings } from '../endings/table.ts'
import { StopSignal } from '../endings/signal.ts'
import { after, type Eventually } from '../values/eventually.ts'
import type { Goal } from '../goals/goal.ts'
import type { GoalPlace, GoalResult, GoalSpec, RoundRecord } from '../verification/goal-record.ts'
import { changesOf, standingRound, type GoalProgress } from '../verification/goal-progress.ts'
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
import { many } from '../values/text.ts'
import type { GoalFilesMemo, Transcript } from '../conversation/transcript.ts'
import { abortDraft, maxTurnsDraft } from '../run/pending-endings.ts'
import { activeMs, committedUsd, isAsked, type Run } from '../run/run.ts'
import { checkRound, nothingYet } from './goal-round.ts'
import { draftOf, ends, goesOn, type Draft, type Outcome, type Route } from '../run/outcome.ts'
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

// A run with goals is done when they hold (spec R-GOAL-1). They are checked before the first request, at an answer, where that is wanted after a turn,
// and once more at a limit.

/** The goals that the run has now, unless nothing is checked: in a mode that only plans. */
function goalsInForce({ spent, context }: Run): GoalProgress | undefined {
  if (spent.goal === undefined) return undefined
  const { permissions, settings } = context
  return permissions.isPlanning?.(settings.permissionMode ?? undefined) === true ? undefined : spent.goal
}

/** Whether the goals were found to hold, and nothing has changed since. */
export function isGoalMet(spent: RunProgress): boolean {
  return standingRound(spent)?.met === true
}

/** Before the first request, and before the next one after goals were set: whether they hold already. */
export function goalBaseline(run: Run): Eventually<Outcome | undefined> {
  const goal = goalsInForce(run)
  if (goal === undefined || goal.baseline !== null || goal.rounds > 0) return undefined
  if (isAsked(run) && !run.isRecorded(stepName(run, 'baseline'))) return undefined
  return after(round(run, goal, 'baseline'), ({ record, now }) => {
    if (record.aborted !== undefined) return ends(abortDraft(run, record.aborted, 'streaming'))
    if (record.unusable !== undefined) return ends(unusableDraft(record.unusable))
    const { takenOver = [] } = record
    if (takenOver.length > 0) run.attach({ type: 'informational', message: takenOverText(takenOver) })
    // At the start alone: goals that are set later are no reason to leave work undone. Nothing is kept of the files, which no agent has touched.
    if (record.met && run.context.goals.skipIfMet && run.spent.requests === 0) return ends(metDraft(goalAlreadyMet))
    const { maxGoalTries } = run.context.settings
    appendText(run, baselineText(now.specs, record, maxGoalTries), record)
    return undefined
  })
}

/** At an answer: done where the goals hold; else the answer goes back, or to the person, or the run ends. */
export function goalAtAnswer(run: Run): Eventually<Outcome | undefined> {
  const goal = goalsInForce(run)
  if (goal === undefined) return undefined
  if (run.turnEnd === 'passed' && !run.isRecorded(stepName(run, 'answer'))) return undefined
  // It was waited for them, for as long as that may take.
  if (isAnyAgentWorking(run)) return ends(hasTurnLeft(run) ? unmetDraft(run, goal, 'agents') : maxTurnsDraft(run))
  const known = standingRound(run.spent)?.met
  // What has passed and was not touched since holds.
  if (known === true) return undefined
  if (known === false && isForPerson(run, goal)) return ends(unmetDraft(run, goal, 'asks'))
  return after(round(run, goal, 'answer'), ({ record, now }) => {
    if (record.aborted !== undefined) return ends(abortDraft(run, record.aborted, 'streaming'))
    if (!record.met && !isForPerson(run, now)) return sendBack(run, now, record)
    keepMemo(run, record)
    return record.met ? undefined : ends(unmetDraft(run, now, 'asks'))
  })
}

/** It called no tool since the person last said something, or since the last try: it asks something, or refuses. */
function isForPerson({ context, spent }: Run, goal: GoalProgress): boolean {
  return context.goals.withoutWork === 'end' && spent.toolResults === goal.resultsBefore
}

/** After a turn that changed something, where a run is to end as soon as its goals hold. */
export function goalAfterTurn(run: Run): Eventually<Draft | undefined> {
  const goal = goalsInForce(run)
  if (goal === undefined || !run.context.goals.stopWhenMet || standingRound(run.spent)?.met !== undefined)
    return undefined
  if (isAnyAgentWorking(run)) return undefined
  if (run.turnEnd === 'passed' && !run.isRecorded(stepName(run, 'turn'))) return undefined
  return after(round(run, goal, 'turn'), ({ record }) => {
    keepMemo(run, record)
    if (record.aborted !== undefined) return abortDraft(run, record.aborted, 'tools')
    return record.met ? metDraft(goalMet) : undefined
  })
}

// Spec R-GOAL-9.
/**
 * How a run ends at a limit that has goals: checked once more where something changed since, since that costs no model. Where they hold it is done; an
 * ending that looks like success is none where they do not.
 */
export function goalAtEnding(run: Run, draft: Draft): Eventually<Draft> {
  const goal = goalsInForce(run)
  if (goal === undefined || !endings[draft.reason].checksGoal) return draft
  const known = standingRound(run.spent)?.met
  if (known !== undefined || !isCheckedAtLimit(run, goal)) return known === true ? draft : truthful(run, goal, draft)
  return after(round(run, goal, 'limit'), ({ record, now }) => {
    keepMemo(run, record)
    if (record.met) return metDraft(goalMetAtLimit(endings[draft.reason].sentence))
    return record.aborted === undefined ? truthful(run, now, draft) : abortDraft(run, record.aborted, 'streaming')
  })
}

/** No model is asked at a limit, an answer that does not fit its schema stays one, and what agents still change is not looked at. */
function isCheckedAtLimit(run: Run, goal: GoalProgress): boolean {
  if (run.context.settings.output !== null || goal.specs.some(({ judged }) => judged === true)) return false
  return !isAnyAgentWorking(run)
}

function truthful(run: Run, goal: GoalProgress, draft: Draft): Draft {
  return draft.reason === 'finish_reason' ? unmetDraft(run, goal, 'finish_reason') : draft
}

/** While agents of the run are at work, or have ended and are not entered yet, nothing is checked: what they change is not looked at. By what is on record. */
function isAnyAgentWorking({ spent }: Run): boolean {
  return spent.openAgents !== undefined && spent.openAgents.length > 0
}

function stepName({ spent }: Run, place: GoalPlace): string {
  return `goal:${spent.request}:${place}`
}

interface CheckedRound {
  readonly record: RoundRecord
  /** The progress with it. */
  readonly now: GoalProgress
}

/** One round of checks: a step that a resume does again where it finds it open. */
function round(run: Run, goal: GoalProgress, place: GoalPlace): Eventually<CheckedRound> {
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
        (settled) => (settled.kind === 'value' ? settled.value : cutRound(run)),
      ),
    cut: (record, aborted) => ({ ...record, aborted }),
  })
  return after(step, ({ value: record, durationMs }) => {
    const now = progressAfter(goal, record, place, changesOf(run.spent))
    if (record.aborted === undefined) run.update({ goal: now })
    const { met, checks, tampered, changedByChecks, changedTests } = record
    const { flaky } = now
    const told = { met, checks, tampered, changedByChecks, changedTests, tries, maxTries, flaky, durationMs }
    run.emit({ type: 'goal_end', place, ...told })
    return { record, now }
  })
}

function cutRound({ ports }: Run): RoundRecord {
  return { ...nothingYet, aborted: ports.abort.cause ?? 'user' }
}

/** @throws ConfigurationError for one that this program does not know; a run with it does not begin. */
function knownGoal({ context }: Run, spec: GoalSpec): Goal {
  const goal = goalOf(context.goals, spec)
  // In a replay what it came to is on record.
  return goal ?? { ...spec, check: () => Promise.reject(new ConfigurationError(`There is no goal ${spec.name}.`)) }
}

function progressAfter(goal: GoalProgress, record: RoundRecord, place: GoalPlace, changes: number): GoalProgress {
  const { met, checks, tampered, changedTests } = record
  const { last } = goal
  const isAgain = last !== null && last.changes === changes && last.met !== met
  return {
    ...goal,
    rounds: goal.rounds + 1,
    baseline: place === 'baseline' ? met : goal.baseline,
    last: { met, checks, tampered, changedTests, changes },
    hasFailed: goal.hasFailed || !met,
    flaky: goal.flaky || record.isUnstable || (isAgain && tampered.length === 0),
  }
}

/** The newest that was kept for these goals. */
function memoIn(transcript: Transcript, specs: readonly GoalSpec[]): Json | null {
  const of = hashText(JSON.stringify(specs))
  for (let index = transcript.length - 1; index >= 0; index--) {
    const entry = transcript.at(index)
    if ((entry?.kind === 'user' || entry?.kind === 'attachment') && entry.goalFiles?.of === of)
      return entry.goalFiles.memo
  }
  return null
}

function memoOf({ spent }: Run, { memo }: RoundRecord): { readonly goalFiles?: GoalFilesMemo } {
  if (memo === undefined || spent.goal === undefined) return {}
  return { goalFiles: { of: hashText(JSON.stringify(spent.goal.specs)), memo } }
}

function appendText(run: Run, text: string, record: RoundRecord): void {
  const message = { role: 'user', content: text } as const
  run.append({ kind: 'user', id: run.entryId('goal'), message, origin: 'loop', ...memoOf(run, record) })
}

/** Where nothing is said to the model, what the files are held against is kept beside a word to people. */
function keepMemo(run: Run, record: RoundRecord): void {
  const memo = memoOf(run, record)
  if (memo.goalFiles === undefined) return
  const { length: changed } = record.changedByChecks
  const message = changed === 0 ? goalFilesRead : checksChangedFiles(many(changed, 'file'))
  run.append({ kind: 'attachment', id: run.entryId('goal'), attachment: { type: 'informational', message }, ...memo })
}

/** The answer goes back, as often as that may be: with what failed, what is left, and once with the word that nothing changed. */
function sendBack(run: Run, goal: GoalProgress, record: RoundRecord): Outcome {
  const changes = changesOf(run.spent)
  const failed = record.checks.at(-1)
  // How far a check came that took too long depends on the machine.
  const said = failed?.timedOut === true ? '' : record.report
  const report = digestOfReport(failed?.name ?? '', `${said}\n${record.tampered.join('\n')}`)
  const isStalled = goal.lastTry !== null && goal.lastTry.report === report && goal.lastTry.changes === changes
  if (isStalled && goal.reminded) {
    keepMemo(run, record)
    return ends(unmetDraft(run, goal, 'stalled'))
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
  return goesOn([route], () => {
    keepMemo(run, record)
    return hasTurnLeft(run) ? unmetDraft(run, goal, 'tries') : maxTurnsDraft(run)
  })
}

function hasTurnLeft({ spent, context }: Run): boolean {
  return lapsLeft('next_turn', spent.laps, context.limits) > 0
}

/** By what is on record, so that a replay says the same. */
function limitsLeft({ spent, context, ports }: Run): LimitsLeft {
  const { maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs } = context.settings
  const used = committedUsd(spent)
  return {
    turns: lapsLeft('next_turn', spent.laps, context.limits) - 1,
    usd: Math.max(0, Math.min(maxBudgetUsd - ports.spentBeforeUsd, maxRunUsd) - used),
    tokens: Math.max(0, maxTotalTokens - spent.totalTokens),
    ms: Math.max(0, maxDurationMs - activeMs(spent)),
  }
}

function metDraft(message: string): Draft {
  return draftOf('completed', new StopSignal({ reason: 'completed', message, source: 'goal' }))
}

/**
 * Why it ends unmet: its tries are used up, nothing changed twice, it asks the person something, a guard took the answer as the end, or agents of the run
 * work for longer than is waited for them.
 */
type UnmetCause = 'tries' | 'stalled' | 'asks' | 'finish_reason' | 'agents'

function unmetDraft({ context }: Run, { tries, last }: GoalProgress, cause: UnmetCause): Draft {
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
  return draftOf('goal_unmet', signal, { isOwnLimit: cause === 'tries' })
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

function unusableDraft(message: string): Draft {
  const error = new ConfigurationError(message)
  const signal = new StopSignal({ reason: 'error', message, context: { code: error.code }, source: 'goal' })
  return draftOf('error', signal, { say: { error: 'unknown', message }, error })
}

/** Agents that worked then have ended since, and were not waited for. */
function isUnchecked({ reason, signal }: Draft): boolean {
  return reason === 'goal_unmet' && signal.context['cause'] === 'agents'
}

/** How the goals stand when the run has ended, for its result. */
export function goalResultOf({ spent }: { readonly spent: RunProgress }, draft: Draft): GoalResult | undefined {
  const { goal } = spent
  if (goal === undefined) return undefined
  const met =
    draft.reason === 'needs_approval' || isUnchecked(draft) ? 'unknown' : (standingRound(spent)?.met ?? 'unknown')
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
