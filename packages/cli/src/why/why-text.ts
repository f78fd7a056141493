import type { Account, LimitFigures, StepFigures, Phase } from '@halting/analysis'
import { endings } from '@halting/core'
import { recordedIterationText } from '../frontends/iteration-text.ts'
import { columnsOf, wrapToColumns } from '../io/columns.ts'
import {
  checkTail,
  costText,
  goalFacts,
  goalName,
  limitPauseFacts,
  openPauseText,
  openWaitText,
  retryAtText,
  serviceWaitFacts,
  sharedBudgetText,
  verificationFacts,
  waitText,
} from '@halting/analysis/words'
import { counted, elapsed, limitLabels, many, money, moneyAtMost, oneLine } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'
import { barLines, type BarRow } from './bars.ts'
import { unreportedUsageText, type RunExplanation, type UnreportedUsage } from '@halting/analysis/why'
import type { RecordedStage } from '@halting/core/after'

/** Explains why a run stopped and what it used, in lines of at most `width` columns except for the command. `now` is in milliseconds since 1970. */
export function whyText(explanation: RunExplanation, width: number, style: Style, now: number = Date.now()): string {
  const columns = Math.min(width, 80)
  const sections = [...endingSections(explanation, columns, style, now), ...usageSections(explanation, columns, style)]
  return `${sections
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')}\n`
}

type Section = readonly string[]

/** Which run it is, why it ended, and what it reached. */
function endingSections(
  { sessionId, cwd, account, unreportedUsage, before, about, heldBy }: RunExplanation,
  columns: number,
  style: Style,
  now: number,
): readonly Section[] {
  const paragraph = paragraphsOf(columns)
  const { run, verification } = account
  const folder = cwd === '' ? '' : `, in ${oneLine(cwd, 200)}`
  const unreported = unreportedUsageText(unreportedUsage)
  return [
    [
      paragraph(`Session ${oneLine(sessionId, 60)}, ${oneLine(run.runId, 40)}${folder}`),
      ...(before.length === 0 ? [] : [style.dim(paragraph(`Earlier runs: ${before.join(', ')}.`))]),
    ],
    [
      style.bold(paragraph(headline(account, heldBy))),
      ...openWaitLines(account, now).map(paragraph),
      ...signalTexts(account).map(paragraph),
      ...about.map(paragraph),
    ],
    goalLines(account, columns, style),
    withTitle(
      'Last change',
      (verification === undefined ? [] : verificationFacts(verification)).flatMap((fact) => indented(fact, columns)),
      style,
    ),
    [paragraph(totalsLine(account, unreportedUsage)), ...(unreported === '' ? [] : [paragraph(unreported)])],
  ]
}

/** What the run used of its limits, time and money, and how to continue. */
function usageSections(
  { account, notices, stages, nextStep }: RunExplanation,
  columns: number,
  style: Style,
): readonly Section[] {
  const paragraph = paragraphsOf(columns)
  const retries = account.laps.filter(({ transition }) => transition !== 'next_turn')
  const dearest = account.totals.committedUsd === 0 ? [] : account.dearest
  const withoutEnd = account.ending === null ? 'Running' : 'Without a result'
  return [
    withTitle(
      'Notices',
      notices.map((text) => paragraph(`! ${text}`)),
      style,
    ),
    withTitle('Limits', barLines(limitRows(account), columns, style, maxLimitColumns), style),
    withTitle('Time', barLines(timeRows(account), columns, style), style),
    waitLines(account).map(paragraph),
    withTitle('Tools', toolLines(account, columns, style), style),
    withTitle(
      'Retries and reminders',
      retries.map((each) => `  ${paragraph(retryLine(each))}`),
      style,
    ),
    withTitle(
      'Slowest',
      stepLines(account.slowest, ({ ms }) => elapsed(ms), columns),
      style,
    ),
    withTitle('Most expensive', stepLines(dearest, stepCost, columns), style),
    withTitle(
      withoutEnd,
      stepLines(account.open, () => '', columns),
      style,
    ),
    withTitle('After the run', afterLines(stages, columns), style),
    [
      ...(nextStep.says === '' ? [] : [paragraph(nextStep.says)]),
      ...(nextStep.command === undefined ? [] : [`  ${nextStep.command}`]),
    ],
  ]
}

/** Wraps texts to a width, without line breaks of their own. */
function paragraphsOf(columns: number): (text: string) => string {
  return (text) => wrapToColumns(oneLine(text, Infinity), columns)
}

/** The goals, their state, and the end of the output of a failed check. */
function goalLines({ goal }: Account, columns: number, style: Style): readonly string[] {
  if (goal === undefined) return []
  const { goals, met, checks } = goal
  const failed = met === true ? undefined : checks.find((check) => !check.met)
  const lines = (text: string): readonly string[] => indented(text, columns)
  return [
    style.bold(goals.length > 1 ? 'Goals' : 'Goal'),
    ...goals.slice(0, maxGoals).flatMap((each) => lines(goalName(each))),
    ...(goals.length > maxGoals ? [`  and ${many(goals.length - maxGoals, 'more goal')}`] : []),
    ...goalFacts(goal).flatMap(lines),
    ...(failed === undefined || failed.tail === ''
      ? []
      : checkTail(failed)
          .split('\n')
          .map((line) => style.dim(`    ${oneLine(line, columns - 4)}`))),
  ]
}

const maxGoals = 10

function indented(text: string, columns: number): readonly string[] {
  return wrapToColumns(oneLine(text, Infinity), columns - 2)
    .split('\n')
    .map((line) => `  ${line}`)
}

/** Waits for services, for limits and budgets that others had reserved, and calls of the waiting tool. */
function waitLines({ serviceWaits, limitPauses, budgetWaits, standingWaits = [], tools }: Account): readonly string[] {
  const byTool = tools.find(({ tool }) => tool === waitTool)
  return [
    ...serviceWaitFacts(serviceWaits),
    ...limitPauseFacts(limitPauses),
    ...(budgetWaits === undefined ? [] : [waitText(budgetWaits)]),
    ...standingWaits.map(waitText),
    ...(byTool === undefined || byTool.calls === 0
      ? []
      : [`${many(byTool.calls, 'call')} of ${waitTool} took ${elapsed(byTool.ms)} of the tool time.`]),
  ]
}

/** The tool that lets a model wait. */
const waitTool = 'Wait'

/** The service for which the run is waiting and when it can be retried, or the limit at which it is paused. */
function openWaitLines({ ending, serviceWaits, limitPauses }: Account, now: number): readonly string[] {
  const again = ending === null ? undefined : retryAtText(ending, now)
  return [
    ...(serviceWaits?.open ?? []).map((wait) => openWaitText(wait, now)),
    ...(limitPauses?.open === undefined ? [] : [openPauseText(limitPauses.open, now)]),
    ...(again === undefined ? [] : [again]),
  ]
}

function withTitle(title: string, lines: readonly string[], style: Style): readonly string[] {
  return lines.length === 0 ? [] : [style.bold(title), ...lines]
}

function headline({ ending }: Account, heldBy: number | undefined): string {
  if (ending === null && heldBy !== undefined) return `The run is still running in process ${heldBy}.`
  if (ending === null) return 'No ending is recorded and no process is writing the session: its process was killed.'
  const { message } = ending.signal
  return message === '' ? ending.reason : `${ending.reason}: ${message}`
}

function signalTexts({ ending, overridden }: Account): readonly string[] {
  const named = ({
    reason,
    message,
    source,
  }: {
    readonly reason: string
    readonly message: string
    readonly source: string | null
  }): string => `${reason}${message === '' ? '' : `: ${message}`}${source === null ? '' : ` (${source})`}`
  return [
    ...(ending === null ? [] : requestedBy(ending)),
    ...(ending?.others ?? []).map((signal) => `Other stop signals: ${named(signal)}.`),
    ...(ending?.error === null || ending?.error === undefined || ending.error.message === ending.signal.message
      ? []
      : [`${ending.error.code}: ${ending.error.message}`]),
    ...(ending === null || ending.stillRunning.length === 0
      ? []
      : [`Still running, because they did not respond to the abort: ${ending.stillRunning.join(', ')}.`]),
    ...overridden.map(
      ({ by, request, signals }) =>
        `The hook ${by} let the run continue before request ${request}, despite ${signals.map(named).join(' and ')}.`,
    ),
  ]
}

/** The hook, guard or tool of the user that ended the run. For other endings, the message names the cause. */
function requestedBy({ reason, signal: { source } }: NonNullable<Account['ending']>): readonly string[] {
  return source === null || endings[reason].announcement !== 'stopped' ? [] : [`Requested by ${source}.`]
}

/** The totals of the run; if it continues another run, also the combined totals. */
function totalsLine({ totals, carried, webSearches = 0 }: Account, untold: UnreportedUsage): string {
  const { turns, requests, tokens, costUsd, committedUsd, activeMs } = totals
  const unknownUsd = subtracted(committedUsd, costUsd)
  const isCarried = carried.turns > 0 || carried.tokens > 0
  const searches =
    webSearches === 0 ? [] : [webSearches === 1 ? '1 web search' : `${counted(webSearches)} web searches`]
  if (!isCarried)
    return `${[many(turns, 'turn'), many(requests, 'request'), ...searches, spentOf({ tokens: tokens - untold.chargedTokens, costUsd, unknownUsd }), elapsed(activeMs)].join(', ')}.`
  const own = [
    many(turns - carried.turns, 'turn'),
    many(requests, 'request'),
    ...searches,
    spentOf({
      tokens: tokens - carried.tokens - untold.chargedTokens,
      costUsd: subtracted(costUsd, carried.costUsd),
      unknownUsd: 0,
    }),
    elapsed(activeMs - carried.activeMs),
  ]
  const all = [
    many(turns, 'turn'),
    spentOf({ tokens: tokens - untold.chargedTokens, costUsd, unknownUsd }),
    elapsed(activeMs),
  ]
  return `${own.join(', ')}. Including the run it continues: ${all.join(', ')}.`
}

/** Rounds to nano-dollars, to remove floating-point errors. */
function subtracted(usd: number, lessUsd: number): number {
  return Math.round((usd - lessUsd) * 1e9) / 1e9
}

type Spent = Pick<Account['totals'], 'tokens' | 'costUsd'> & { readonly unknownUsd: number }

/** Uses the same form as `halting report`. */
function spentOf({ tokens, ...cost }: Spent): string {
  return `${counted(tokens)} tokens${cost.costUsd > 0 || cost.unknownUsd > 0 ? `, ${costText(cost)}` : ''}`
}

const units: { readonly [unit in LimitFigures['unit']]: (value: number) => string } = {
  turns: counted,
  calls: counted,
  tokens: counted,
  tries: counted,
  repeats: counted,
  usd: money,
  ms: elapsed,
}

/** The limits of the run, and the shared budget that ended it. */
function limitRows({ limits, totals, ending }: Account): readonly BarRow[] {
  const rows = limits.map(limitRow(totals))
  const shared = ending?.sharedBudget
  if (shared === undefined) return rows
  const { budget, usedUsd, limitUsd } = shared
  const share = usedUsd === null || limitUsd === null || limitUsd <= 0 ? 1 : usedUsd / limitUsd
  return [...rows, { label: oneLine(budget, maxLimitColumns), share, value: sharedBudgetText(shared), isMarked: true }]
}

/** Maximum columns of a limit's name; names of standing budgets are longer. */
const maxLimitColumns = 28

function limitRow({ costUsd, committedUsd }: Account['totals']): (figures: LimitFigures) => BarRow {
  return ({ limit, unit, used, max, isReached }) => {
    const format = units[unit]
    const label = limitLabels[limit]
    // Costs at worst case are an upper bound, so they are not rounded down.
    const value = unit === 'usd' && committedUsd > costUsd ? moneyAtMost(used) : format(used)
    if (max === null) return { label, share: undefined, value: `${value}, no limit` }
    const share = max === 0 ? 1 : used / max
    return { label, share, value: `${value} of ${format(max)}`, isMarked: isReached }
  }
}

const phaseLabels: { readonly [phase in Phase]: string } = {
  model: 'model',
  tools: 'tools',
  hooks: 'hooks',
  compaction: 'compaction',
  checks: 'goal checks',
  waiting: 'waiting',
  other: 'other',
}

function timeRows({ phases, totals, carried }: Account): readonly BarRow[] {
  const whole = totals.activeMs - carried.activeMs
  return phases
    .filter(({ ms }, index) => ms > 0 || index === 0)
    .map(({ phase, ms }) => ({
      label: phaseLabels[phase],
      share: whole === 0 ? 0 : ms / whole,
      value: `${elapsed(ms)}${whole === 0 ? '' : `, ${percent(ms / whole)}`}`,
    }))
}

const maxTools = 8

/** Sorted by cost; without prices, by tokens. */
function toolLines({ tools, totals, ending }: Account, columns: number, style: Style): readonly string[] {
  if (tools.length === 0) return []
  const hasPrice = totals.committedUsd > 0
  const weights = tools.map(({ costUsd, unknownUsd, tokens }) => (hasPrice ? costUsd + unknownUsd : tokens))
  const whole = weights.reduce((sum, weight) => sum + weight, 0)
  const rows = tools.slice(0, maxTools).map(({ tool, tokens, unknownTokens, ...cost }, index): BarRow => {
    const share = whole === 0 ? 0 : (weights[index] ?? 0) / whole
    return {
      label: oneLine(tool ?? 'answers', 40),
      share,
      value: hasPrice ? costText(cost) : tokensText(tokens, unknownTokens),
    }
  })
  const bars = barLines(rows, columns, style)
  const more = tools.length - maxTools
  return [
    ...bars.flatMap((bar, index) => {
      const tool = tools[index]
      if (tool === undefined || tool.tool === null) return [bar]
      return [
        bar,
        style.dim(`    ${oneLine(detailsOf(tool, ending === null ? 'running' : 'without a result'), columns - 4)}`),
      ]
    }),
    ...(more > 0 ? [`  and ${many(more, 'more tool')}`] : []),
  ]
}

/** `1,050 tokens and up to 33,184 more`. */
function tokensText(tokens: number, unknown: number): string {
  return `${counted(tokens - unknown)} tokens${unknown > 0 ? ` and up to ${counted(unknown)} more` : ''}`
}

function detailsOf({ calls, failed, open, ms, resultCharacters }: Account['tools'][number], ifOpen: string): string {
  return [
    many(calls, 'call'),
    ...(failed > 0 ? [`${failed} failed`] : []),
    ...(open > 0 ? [`${open} ${ifOpen}`] : []),
    elapsed(ms),
    `${many(resultCharacters, 'character')} of results`,
  ].join(', ')
}

/** `reminded the model that it is repeating itself: once (last reminder)`. */
function retryLine({ transition, laps, used, allowed }: Account['laps'][number]): string {
  const times = laps === 1 ? 'once' : `${counted(laps)} times`
  const what = recordedIterationText(transition)
  if (allowed === null) return `${what}: ${times}`
  const isLastReminder = transition === 'no_progress_nudge' && used >= allowed
  return `${what}: ${times} (${isLastReminder ? 'last reminder' : `${counted(used)} of ${counted(allowed)} allowed`})`
}

/** Minimum width of the description of a step; a shorter one would say nothing. */
const minStepColumns = 8

function stepLines(
  steps: readonly StepFigures[],
  figure: (step: StepFigures) => string,
  columns: number,
): readonly string[] {
  const shown = steps.slice(0, 3).map((step) => ({ ...step, figure: figure(step) }))
  const hasFigures = shown.some((step) => step.figure !== '')
  const widest = Math.max(9, ...shown.map((step) => columnsOf(step.figure)))
  const room = columns - (hasFigures ? widest + 4 : 2)
  const rows = shown.flatMap(({ request, scope, what, figure: figureText }) => {
    const where = scope === '' ? `request ${request}` : `request ${request} of a subagent`
    // The request number identifies the step, so it is never truncated.
    const left = room - where.length - 2
    if (left >= minStepColumns) return [[figureText, `${oneLine(what, left)}, ${where}`]]
    return [
      [figureText, oneLine(what, Infinity)],
      ['', where],
    ]
  })
  if (!hasFigures)
    return tableLines(
      rows.map(([, text = '']) => [text]),
      { columns: [{ rest: 'cut' }], width: columns },
    )
  return tableLines(rows, { columns: [{ align: 'right', min: widest }, { rest: 'cut' }], width: columns })
}

function stepCost({ costUsd, unknownUsd }: StepFigures): string {
  return unknownUsd > 0 ? `up to ${moneyAtMost(unknownUsd)}` : money(costUsd)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** One line per stage after the run. */
function afterLines(stages: readonly RecordedStage[], columns: number): readonly string[] {
  return stages.map((stage) => `  ${oneLine(`${stage.name}: ${stageText(stage)}`, columns - 2)}`)
}

function stageText({ most, ended }: RecordedStage): string {
  if (ended === null) return `killed before it finished. It may have cost ${moneyAtMost(most.nanos / 1e9)}`
  const { reason, message, turns, tokens, costUsd, committedUsd, durationMs } = ended
  const figures = [
    many(turns, 'turn'),
    `${counted(tokens)} tokens`,
    ...(committedUsd > 0 ? [costText({ costUsd, unknownUsd: Math.round((committedUsd - costUsd) * 1e9) / 1e9 })] : []),
    elapsed(durationMs),
  ]
  return `${reason}, ${figures.join(', ')}${message === '' ? '' : `: ${message}`}`
}
