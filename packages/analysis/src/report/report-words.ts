import { costText } from '../words/what-if-words.ts'
import { counted, elapsed, many, money } from '../words/figures.ts'
import { programNames } from '../foreign/session.ts'
import type { SessionKind } from '../foreign/read-foreign.ts'
import { unreportedUsageText } from '../why/unreported-usage.ts'
import { dayOf } from './period.ts'
import { minuteText } from '../words/budget-words.ts'
import { localMinute } from '../words/service-words.ts'
import type {
  Breakdown,
  BudgetRow,
  GoalCounts,
  GoalRow,
  LimitRow,
  LimitTried,
  ModelRow,
  Outlier,
  Report,
  RunName,
  ServiceWaitRow,
  ServiceWaitSums,
  Spent,
} from './report-model.ts'
import { flagOf } from './tighter-limits.ts'

// Texts that the terminal and the page share.

/** `12 sessions of this folder, 2026-11-16 to 2026-11-23`. */
export function headline({ of, sessions, since, until, madeAt, byDay }: Report): string {
  const title = `${many(sessions, 'session')} ${of}`
  if (since !== null && isInFuture({ since, madeAt })) return `${title}, from ${dayAt(since)} on`
  const days = byDay.map(({ name }) => name).filter((name) => name !== '')
  const isBounded = since !== null || until !== null
  // If a clock was set back, or belongs to another machine, a run may begin later than now.
  const latest = [...days, ...(isBounded ? [dayAt(madeAt)] : [])].toSorted().at(-1) ?? ''
  const from = since === null ? (days[0] ?? '') : dayAt(since)
  const to = until === null ? latest : dayOf(Date.parse(until) - 1)
  const when = from === '' ? (to === '' ? '' : `until ${to}`) : from === to ? from : `${from} to ${to}`
  return `${title}${when === '' ? '' : `, ${when}`}`
}

function dayAt(moment: string): string {
  return dayOf(Date.parse(moment))
}

/** Why the report is empty, and what to do. */
export function nothingText(report: Report): string {
  if (isInFuture(report)) return 'That period is in the future.'
  if (report.since === null && report.until === null) return 'There were no runs.'
  return 'There were no runs in that period. Use --since 30d to look further back, or --all for other folders.'
}

/** Dates in ISO format compare as texts. */
function isInFuture({ since, madeAt }: Pick<Report, 'since' | 'madeAt'>): boolean {
  return since !== null && since > madeAt
}

/** `31 runs, 214 turns, 3,912,000 tokens, $12.31 and up to $0.40 more, 2 h 3 min`. */
export function spentText({ runs, turns, requests, tokens, activeMs, ...cost }: Spent): string {
  const counts = [many(runs, 'run'), many(turns, 'turn'), many(requests, 'request'), `${counted(tokens)} tokens`]
  return [...counts, costText(cost), elapsed(activeMs)].join(', ')
}

/** The cost of a model; `?` when it has no price and no cost was reported. */
export function modelCostText({ unpriced }: Pick<Report, 'unpriced'>, { model, ...cost }: ModelRow): string {
  const isKnown = cost.costUsd > 0 || cost.unknownUsd > 0 || !unpriced.includes(model)
  return isKnown ? costText(cost) : '?'
}

/** Sessions by program, when some are from other programs; '' otherwise. */
export function programsText({ programs, sessions }: Report): string {
  if (programs.halting === sessions) return ''
  const names: { readonly [program in SessionKind]: string } = { halting: 'this program', ...programNames }
  const present = (['halting', 'claude-code', 'codex'] as const).filter((program) => programs[program] > 0)
  return present.map((program) => `${counted(programs[program])} of ${names[program]}`).join(', ')
}

/** The savings and losses of a limit, in sentences. */
export function limitText({ reason, runs, costUsd, wentOn, answered, leftUsd, lost, lostUsd }: LimitRow): string {
  const names = lost.slice(0, 3).map(({ session, run }) => `${session.slice(0, 8)} ${run}`)
  const more = lost.length > 3 ? ` and ${counted(lost.length - 3)} more` : ''
  return [
    `${reason} ended ${many(runs, 'run')}, which cost ${money(costUsd)}.`,
    ...(leftUsd > 0 ? [`Their budgets had ${money(leftUsd)} left.`] : []),
    ...(wentOn > 0 ? [`${counted(wentOn)} continued afterwards.`] : []),
    ...(answered > 0 ? [`${counted(answered)} gave an answer anyway.`] : []),
    ...(lost.length > 0
      ? [
          `${counted(lost.length)} had changed something and gave no answer (${money(lostUsd)}): ${names.join(', ')}${more}.`,
        ]
      : []),
  ].join(' ')
}

/** The goals of runs, in sentences; empty when no run had any. */
export function goalTexts({ goals }: Report): readonly string[] {
  const { runs, met, unmet, unknown, heldFromStart, judged, flaky, changedTests, tries, maxTries, checkMs } = goals
  if (runs === 0) return []
  const verdicts = [
    ...(met > 0
      ? [`${counted(met)} met${heldFromStart > 0 ? ` (${counted(heldFromStart)} held from the start)` : ''}`]
      : []),
    ...(unmet > 0 ? [`${counted(unmet)} not met`] : []),
    ...(unknown > 0 ? [`${counted(unknown)} not known`] : []),
  ]
  return [
    `${many(runs, 'run')} had goals: ${verdicts.join(', ')}. Checks took ${elapsed(checkMs)}.`,
    ...(tries === 0
      ? []
      : [
          `${many(tries, 'answer')} ${tries === 1 ? 'was' : 'were'} sent back, at most ${counted(maxTries)} in one run.`,
        ]),
    ...(changedTests > 0 ? [`The agent changed test files in ${many(changedTests, 'run')}.`] : []),
    ...(flaky > 0 ? [`Checks were flaky in ${many(flaky, 'run')}.`] : []),
    ...(judged > 0
      ? [`A model judged in ${many(judged, 'run')}: its verdict is worth less than that of a program.`]
      : []),
  ]
}

/** How many runs left changes unchecked, in sentences; empty when no run changed files or tracked this. */
export function verificationTexts({ verification }: Report): readonly string[] {
  const { changed, unchecked, asked, checkedWhenAsked, keptAnswer } = verification
  if (changed === 0) return []
  return [
    `${counted(unchecked)} of ${many(changed, 'run')} that changed files ended unchecked: no check passed after the last change.`,
    ...(asked === 0
      ? []
      : [
          `The model was asked to verify its last change in ${many(asked, 'run')}: ${counted(checkedWhenAsked)} ended checked, and in ${counted(keptAnswer)} it called no tool.`,
        ]),
  ]
}

/** Waits for services, runs that ended because of them, and pauses at limits, in sentences. `madeAt` decides what is past. */
export function waitTexts({ serviceWaits, limitPauses, madeAt }: Report): readonly string[] {
  const { runs, waits, ms, longest, byModel, byCause, waiting, ended } = serviceWaits
  const now = Date.parse(madeAt)
  const from = ({ session, run }: RunName): string => `${session.slice(0, 8)} ${run}`
  return [
    ...(waits === 0
      ? []
      : [
          `${many(runs, 'run')} waited ${elapsed(ms)} for services: ${many(waits, 'wait')}. This does not count as active time.`,
          `By model: ${waitRows(byModel)}.`,
          `By cause: ${waitRows(byCause)}.`,
        ]),
    ...(longest === null ? [] : [`The longest wait took ${elapsed(longest.ms)}: ${from(longest)}.`]),
    ...waiting.slice(0, maxWaiting).map(({ until, ...name }) => {
      const at = Date.parse(until)
      return `${from(name)} waits until ${localMinute(at)}${at <= now ? ' (already past)' : ''}.`
    }),
    ...(waiting.length > maxWaiting ? [`And ${counted(waiting.length - maxWaiting)} more wait.`] : []),
    ...endedAtServices(ended, now),
    ...pauseTexts(limitPauses),
  ]
}

function pauseTexts({ runs, pauses, ms, raised, open }: Report['limitPauses']): readonly string[] {
  return [
    ...(pauses === 0
      ? []
      : [
          `${many(runs, 'run')} paused ${elapsed(ms)} at limits: ${many(pauses, 'pause')}, ${counted(raised)} with a raised limit. This does not count as active time.`,
        ]),
    ...open.slice(0, maxWaiting).map(({ session, run }) => `${session.slice(0, 8)} ${run} pauses at a limit.`),
    ...(open.length > maxWaiting ? [`And ${counted(open.length - maxWaiting)} more pause.`] : []),
  ]
}

const [maxWaiting, maxWaitRows] = [5, 5]

function waitRows(rows: readonly ServiceWaitRow[]): string {
  const lines = rows
    .slice(0, maxWaitRows)
    .map(({ name, ms, waits }) => `${name === '' ? 'not known' : name} ${elapsed(ms)} (${many(waits, 'wait')})`)
  const more = rows.length - lines.length
  return [...lines, ...(more > 0 ? [`${counted(more)} more`] : [])].join(', ')
}

function endedAtServices({ runs, costUsd, wentOn, retryAt }: ServiceWaitSums['ended'], now: number): readonly string[] {
  if (runs === 0 || retryAt === null) return []
  const continuedText = wentOn === 0 ? '' : `, ${counted(wentOn)} of them continued afterwards`
  const at = Date.parse(retryAt)
  const when = `${at <= now ? 'took' : 'takes'} requests again at ${localMinute(at)}`
  return [
    `${many(runs, 'run')} ended because a service was rate-limited or unavailable, which cost ${money(costUsd)}${continuedText}. ${runs === 1 ? 'It' : 'The last of them'} ${when}. With --wait-for-limits runs wait instead.`,
  ]
}

/** The runs that a shared budget ended, how much of the budget was used, and when it resets. `now`: the time of the report, in ISO 8601. */
export function budgetText(
  { budget, runs, costUsd, wentOn, usedUsd, limitUsd, resetsAt, waited, waitedMs }: BudgetRow,
  now: string,
): string {
  const used = usedUsd === null || limitUsd === null ? '' : ` ${money(usedUsd)} of ${money(limitUsd)} was used then.`
  const isOver = resetsAt !== null && Date.parse(resetsAt) <= Date.parse(now)
  const reset = resetsAt === null ? '' : ` It ${isOver ? 'was reset' : 'resets'} at ${minuteText(resetsAt)}.`
  const continuedText = wentOn === 0 ? '' : `, ${counted(wentOn)} of them continued afterwards`
  return [
    ...(runs === 0
      ? []
      : [`${budget} ended ${many(runs, 'run')}, which cost ${money(costUsd)}${continuedText}.${used}${reset}`]),
    ...(waited === 0
      ? []
      : [`${many(waited, 'request')} waited ${elapsed(waitedMs)} for what others had reserved of ${budget}.`]),
  ].join(' ')
}

/** Column titles of a table of goals, after the first one. */
export const goalHead: readonly string[] = ['runs', 'met', 'held', 'not met', 'not known', 'sent back']

/** The cells of a row of such a table. */
export function goalCells({ runs, met, heldFromStart, unmet, unknown, tries }: GoalCounts): readonly string[] {
  return [runs, met, heldFromStart, unmet, unknown, tries].map((count) => (count === 0 ? '' : counted(count)))
}

/** The tables of goals to show: that of the requested breakdown, or all with several rows. */
export function goalTables(
  { goals }: Report,
  by: Breakdown | undefined,
): readonly (readonly [by: Breakdown, rows: readonly GoalRow[]])[] {
  const all = [
    ['day', goals.byDay],
    ['model', goals.byModel],
    ['folder', goals.byFolder],
  ] as const
  return all.filter(([name, rows]) => (by === undefined ? rows.length > 1 : name === by && rows.length > 0))
}

/** `--max-turns 30 stops 4 runs earlier, saves $3.10, 1,200,000 tokens, 12 min; loses nothing`. */
export function triedText({
  limits,
  stops,
  atTheLatest,
  unknown,
  savedUsd,
  savedUnknownUsd,
  savedTokens,
  savedMs,
  lostAnswers,
  lostChanges,
}: LimitTried): string {
  const cost = { costUsd: savedUsd, unknownUsd: savedUnknownUsd }
  const saved = [
    ...(savedUsd > 0 || savedUnknownUsd > 0 ? [costText(cost)] : []),
    `${counted(savedTokens)} tokens`,
    elapsed(savedMs),
  ]
  const [least, most] = atTheLatest > 0 ? ['at least ', 'at most '] : ['', '']
  const losses = [
    ...(lostAnswers > 0 ? [many(lostAnswers, 'answer')] : []),
    ...(lostChanges > 0 ? [many(lostChanges, 'change')] : []),
  ]
  const loses =
    losses.length > 0 ? `loses ${most}${losses.join(', ')}` : unknown > 0 ? 'loses nothing in these' : 'loses nothing'
  const unknownText = unknown > 0 ? `; unknown for ${many(unknown, 'more run')}` : ''
  return `${flagOf(limits)} stops ${many(stops, 'run')} earlier, saves ${least}${saved.join(', ')}; ${loses}${unknownText}`
}

const figureTexts = {
  costUsd: (value: number) => money(value),
  tokens: (value: number) => `${counted(value)} tokens`,
  turns: (value: number) => many(value, 'turn'),
  activeMs: elapsed,
} as const

/** `3f2a8c1e: $4.10, where half of the sessions have at most $0.20`. */
export function outlierText({ session, what, value, median }: Outlier): string {
  return `${session.slice(0, 8)}: ${figureTexts[what](value)}, where half of the sessions have at most ${figureTexts[what](median)}`
}

/** `81 %`. */
export function shareText(share: number): string {
  const percent = share * 100
  return percent > 0 && percent < 1 ? 'less than 1 %' : `${percent > 99 && percent < 100 ? 99 : Math.round(percent)} %`
}

/** One sentence each on failed requests, the cache, compactions and stages after runs. */
export function serviceFacts({ service, cache, compactions, afterRuns, totals }: Report): readonly string[] {
  const failed = service.failures.reduce((sum, { attempts }) => sum + attempts, 0)
  const kinds = service.failures.map(({ kind, attempts }) => `${counted(attempts)} ${kind}`)
  return [
    ...(failed === 0
      ? ['No request to a model failed.']
      : [
          `${many(failed, 'attempt')} at a model request failed: ${kinds.join(', ')}. ${many(service.retried, 'request')} needed more than one attempt.`,
        ]),
    ...(service.untold === 0
      ? []
      : [
          unreportedUsageText({
            attempts: service.untold,
            unreported: service.unreported,
            tokens: totals.unknownTokens,
            usd: totals.unknownUsd,
          }),
        ]),
    ...(cache.share === null
      ? []
      : [`${shareText(cache.share)} of ${counted(cache.input)} input tokens came from the cache.`]),
    ...(compactions.count === 0 && compactions.requests === 0
      ? []
      : [
          `${many(compactions.count, 'compaction')}: ${many(compactions.requests, 'request')}, ${counted(compactions.tokens)} tokens, ${costText(compactions)}.`,
        ]),
    ...(afterRuns.stages === 0
      ? []
      : [
          `After runs: ${many(afterRuns.stages, 'stage')}, ${counted(afterRuns.tokens)} tokens, ${costText(afterRuns)}.`,
        ]),
  ]
}

/** `did not end`, or the reason. */
export function endingName(reason: string | null): string {
  return reason ?? 'did not end'
}
