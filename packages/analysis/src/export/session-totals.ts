import type { AccountedEnding } from '../account/account.ts'
import { sharedBudgetText } from '../words/budget-words.ts'
import { goalName, goalVerdict } from '../words/goal-words.ts'
import { verificationVerdict } from '../words/verification-words.ts'
import { counted, elapsed, many, money } from '../words/figures.ts'
import type { SessionTranscript } from '../view/session-transcript.ts'

/** The totals of a session as name and value. What a run carried over from another one counts once. */
export function sessionTotals({
  runs,
  sessionId,
  cwd,
}: SessionTranscript): readonly (readonly [name: string, value: string])[] {
  const sum = (of: (run: SessionTranscript['runs'][number]) => number): number =>
    runs.reduce((total, run) => total + of(run), 0)
  const continued = new Set(runs.map(({ account }) => account.run.continues))
  const turns = sum(({ account }) => (continued.has(account.run.runId) ? 0 : account.totals.turns))
  const costUsd = sum(({ account }) => account.totals.costUsd - account.carried.costUsd)
  return [
    ['Session', sessionId],
    ['Folder', cwd],
    ['Runs', counted(runs.length)],
    [
      'Turns',
      `${counted(turns)}, ${many(
        sum(({ account }) => account.totals.requests),
        'request',
      )}`,
    ],
    ['Tokens', counted(sum(({ account }) => account.totals.tokens - account.carried.tokens))],
    ['Cost', money(costUsd)],
    ...goalsOf(runs),
    ...lastChangeOf(runs),
    ...budgetOf(runs),
    ['Active time', elapsed(sum(({ account }) => account.totals.activeMs - account.carried.activeMs))],
    ...waitsOf(
      sum(({ account }) => account.serviceWaits?.ms ?? 0),
      sum(({ account }) => account.serviceWaits?.waits ?? 0),
    ),
    ...pausesOf(
      sum(({ account }) => account.limitPauses?.ms ?? 0),
      sum(({ account }) => account.limitPauses?.pauses.length ?? 0),
    ),
  ]
}

/** The goals of the last run that had any, and whether they were met. */
function goalsOf(runs: SessionTranscript['runs']): readonly (readonly [name: string, value: string])[] {
  const goal = runs.findLast(({ account }) => account.goal !== undefined)?.account.goal
  if (goal === undefined) return []
  return [
    ['Goal', goal.goals.slice(0, maxGoals).map(goalName).join(', ')],
    ['Goal met', goalVerdict(goal)],
  ]
}

const maxGoals = 10

/** Whether the last change of the session was checked. */
function lastChangeOf(runs: SessionTranscript['runs']): readonly (readonly [name: string, value: string])[] {
  const verdicts = runs.map(({ account: { verification } }) =>
    verification === undefined ? '' : verificationVerdict(verification),
  )
  const last = verdicts.findLast((verdict) => verdict !== '')
  return last === undefined ? [] : [['Last change', last]]
}

/** Time spent waiting for services, which is not part of active time. */
function waitsOf(ms: number, waits: number): readonly (readonly [name: string, value: string])[] {
  return waits === 0 ? [] : [['Waited for services', `${elapsed(ms)}, ${many(waits, 'wait')}`]]
}

function pausesOf(ms: number, pauses: number): readonly (readonly [name: string, value: string])[] {
  return pauses === 0 ? [] : [['Paused at limits', `${elapsed(ms)}, ${many(pauses, 'pause')}`]]
}

/** The shared budget that ended the last run. */
function budgetOf(runs: SessionTranscript['runs']): readonly (readonly [name: string, value: string])[] {
  const shared = runs.at(-1)?.account.ending?.sharedBudget
  return shared === undefined ? [] : [['Budget', `${shared.budget}: ${sharedBudgetText(shared)}`]]
}

/** Why a run ended, in one sentence. */
export function endingText(ending: AccountedEnding | null): string {
  if (ending === null) return 'No ending is recorded.'
  return `${ending.reason}: ${ending.signal.message}`
}
