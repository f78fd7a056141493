import { stat } from 'node:fs/promises'
import { resolve } from 'node:path'
import {
  suggestLimits,
  type OtherLimits,
  mayChange,
  answerBudgets,
  answerRuns,
  type StandingLimit,
  type WhatIfAnswers,
} from '@halting/analysis'
import { copiesLeftOut, standingNotes } from '@halting/analysis/words'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { styleFor } from '../io/style.ts'
import { foreignFolders } from '../foreign/find-foreign.ts'
import { recordedText, skippedText, unpricedText } from '@halting/analysis/foreign'
import { pastSessionOf, readPastSession, type PastSession, type ManySessions } from '@halting/analysis/sessions'
import { filesOfAllFolders } from '../foreign/all-session-files.ts'
import { openSessionSet } from '../foreign/session-set.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { findSessionFiles } from '../stored-sessions/find-session.ts'
import { limitsFromFlags } from '../flags/limit-flags.ts'
import { whatIfText } from './what-if-text.ts'

/** `halting what-if [SESSION|FOLDER …] --max-turns 20 …`: shows where other limits would have stopped sessions. Makes no request. */
export async function whatIfCommand(flags: Flags, words: readonly string[], program: Program): Promise<number> {
  const limits = runLimitsFromFlags(flags)
  const isAsked = Object.keys(limits).length > 0
  const budgets = standingLimitsFromFlags(flags)
  const mayLose = requestedLossShare(flags, isAsked || budgets.length > 0)
  if (mayLose !== undefined) {
    const { calibrate } = await import('./calibrate.ts')
    return calibrate(await openSessions(flags, words, program), mayLose, flags, program)
  }
  if (!isAsked && budgets.length === 0 && flags.suggest !== true)
    throw new UsageError(
      'Name at least one limit: --max-turns, --max-budget-usd, --max-run-usd, --max-tokens, --max-duration, --max-tool-calls, --until-tries, --wait-for-limits, --no-progress, --budget-per-day, --budget-per-month; or --suggest.',
    )
  if (budgets.length > 0 && (isAsked || flags.suggest === true))
    throw new UsageError(
      '--budget-per-day and --budget-per-month cannot be combined with run limits or --suggest. Ask for them separately.',
    )
  const wanted = {
    limits: isAsked ? limits : undefined,
    suggests: flags.suggest === true,
    copies: (await isOneSession(words, program)) ? ('shown' as const) : ('left out' as const),
  }
  const sessions = await openSessions(flags, words, program)
  const standing = budgets.length > 0 ? await answerBudgets(sessions, budgets, wanted.copies) : undefined
  const answered = standing ?? (await answerRuns(sessions, wanted))
  const { runs, answers, trajectories, unpriced, skipped, foreign, copies } = answered
  if (runs === 0) {
    const why = skipped[0] ?? (copies > 0 ? copiesLeftOut(copies) : 'no run is recorded')
    throw new UsageError(`No runs to analyze: ${why}`)
  }
  const result: WhatIfAnswers = {
    answers,
    suggested: wanted.suggests ? suggestLimits(trajectories, { changes: mayChange }) : undefined,
    runs,
    ...(standing !== undefined && { budgets, periods: standing.periods }),
    skipped,
    notes: [
      ...(standing === undefined ? [] : standingNotes(standing)),
      copiesLeftOut(copies),
      unpricedText([...unpriced]),
      recordedText(foreign),
      skippedText(foreign.map((each) => each.foreign.skipped)),
    ].filter((note) => note !== ''),
  }
  const { output, env } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify({ limits, ...result })}\n`)
  else output.out(whatIfText(result, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

/** The share of solved runs that suggested limits may lose; undefined unless requested. */
function requestedLossShare({ mayLose, suggest, save, model }: Flags, isAskedElse: boolean): number | undefined {
  if (mayLose === undefined && save === true)
    throw new UsageError('--save needs limits to save: halting what-if --suggest --may-lose 2% --save.')
  if (mayLose === undefined && model !== undefined)
    throw new UsageError('--model belongs to --may-lose: halting what-if --suggest --may-lose 2% --model NAME.')
  if (mayLose !== undefined && (suggest !== true || isAskedElse))
    throw new UsageError('--may-lose belongs to --suggest, without limits: halting what-if --suggest --may-lose 2%.')
  return mayLose
}

function standingLimitsFromFlags({ budgetPerDay = [], budgetPerMonth = [] }: Flags): readonly StandingLimit[] {
  const limit = (per: StandingLimit['per'], given: string): StandingLimit => {
    const [usd, ...model] = given.split(':')
    return { per, usd: Number(usd), ...(model.length > 0 && { model: model.join(':') }) }
  }
  return [...budgetPerDay.map((given) => limit('day', given)), ...budgetPerMonth.map((given) => limit('month', given))]
}

function runLimitsFromFlags(flags: Flags): OtherLimits {
  const { noProgress, waitForLimits } = flags
  return {
    ...limitsFromFlags(flags),
    ...(waitForLimits !== undefined && { waitForLimitsMs: waitForLimits }),
    ...(noProgress !== undefined && { noProgress }),
  }
}

/** Opens the sessions to analyze; only data that limits depend on is read. */
function openSessions(flags: Flags, words: readonly string[], program: Program): Promise<ManySessions<PastSession>> {
  return openSessionSet(flags, words, program, {
    files: () => sessionFiles(flags, words, program),
    ofFile: readPastSession,
    ofCluster: pastSessionOf,
  })
}

/** @throws UsageError if there are no sessions */
async function sessionFiles(flags: Flags, words: readonly string[], program: Program): Promise<readonly string[]> {
  if (flags.all !== true) return findSessionFiles([...words, ...foreignFolders(flags, program)], program)
  if (words.length > 0) throw new UsageError('--all means the sessions of all folders. Remove it, or the names.')
  return filesOfAllFolders(flags, program)
}

/** Whether the user named a single session: then copied runs are shown, too; otherwise each run counts once. */
async function isOneSession(words: readonly string[], { cwd }: Program): Promise<boolean> {
  const [word, ...more] = words
  if (word === undefined || more.length > 0) return false
  return (await stat(resolve(cwd, word)).catch(() => undefined))?.isDirectory() !== true
}
