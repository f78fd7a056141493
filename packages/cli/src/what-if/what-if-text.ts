import { programNames } from '@halting/analysis/foreign'
import type { OtherLimits, PeriodSpent, WhatIf, RunAnswer, WhatIfAnswers } from '@halting/analysis'
import { periodText, spentText, verdictText } from '@halting/analysis/words'
import { wrapToColumns } from '../io/columns.ts'
import { counted, many, oneLine, money } from '../io/figures.ts'
import { barLines } from '../why/bars.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'

type Spent = WhatIf['saved']

/** One paragraph per run, then the totals, then suggested limits. */
export function whatIfText(
  { answers, suggested, runs, periods, skipped, notes }: WhatIfAnswers,
  width: number,
  style: Style,
): string {
  const columns = Math.min(width, 100)
  const lines = [
    ...(answers.length > maxParagraphs
      ? answerTable(answers, columns, style)
      : answers.flatMap((each) => answerLines(each, columns, style))),
    ...(answers.length > 1 ? ['', style.bold(wrapToColumns(summaryOf(answers), columns))] : []),
    ...(suggested === undefined ? [] : suggestedLines(suggested, runs, columns, answers.length > 0)),
    ...(periods === undefined ? [] : periodLines(periods, columns, style)),
    ...(skipped.length === 0
      ? []
      : [
          '',
          ...[`Not read: ${many(skipped.length, 'file')}.`, ...skipped].map((text) =>
            wrapToColumns(oneLine(text, Infinity), columns),
          ),
        ]),
    ...(notes.length === 0 ? [] : ['', ...notes.map((note) => wrapToColumns(oneLine(note, Infinity), columns))]),
  ]
  return `${lines.join('\n')}\n`
}

/** Maximum number of periods per budget; those in which it ended runs come first. The JSON has all of them. */
const maxPeriods = 31

/** Spending per budget and period. */
function periodLines(periods: readonly PeriodSpent[], columns: number, style: Style): readonly string[] {
  return [...new Set(periods.map(({ budget }) => budget))].flatMap((budget) => {
    const all = periods.filter((each) => each.budget === budget)
    const shownPeriods = all.toSorted((a, b) => b.ended - a.ended || b.recordedUsd - a.recordedUsd).slice(0, maxPeriods)
    const rows = all
      .filter((each) => shownPeriods.includes(each))
      .map((each) => ({
        label: each.period,
        share: each.spentUsd / each.maxUsd,
        value: periodText(each),
        isMarked: each.ended > 0,
      }))
    const more = all.length - rows.length
    return [
      '',
      style.bold(`Budget of ${oneLine(budget, 60)}`),
      ...barLines(rows, columns, style),
      ...(more > 0 ? [`  and ${many(more, 'more period')}; --json has all of them`] : []),
    ]
  })
}

/** With more runs, a table replaces the paragraphs. */
const maxParagraphs = 8

function answerLines(
  { session, run, program, unpriced, isCopy, answer }: RunAnswer,
  columns: number,
  style: Style,
): readonly string[] {
  const by = program === 'halting' ? '' : ` of ${programNames[program]}`
  const name = `${oneLine(session.slice(0, 8), 8)} ${oneLine(run, 12)}${by}${isCopy ? ', a copy' : ''}`
  const indented = (text: string): readonly string[] =>
    wrapToColumns(oneLine(text, Infinity), columns - 2)
      .split('\n')
      .map((line) => `  ${line}`)
  const lost = lossesText(answer)
  return [
    style.bold(name),
    ...indented(verdictText(answer, unpriced)),
    ...(answer.verdict === 'stops'
      ? indented(`Saves ${answer.isAtTheLatest ? 'at least ' : ''}${spentText(answer.saved)}.`)
      : []),
    ...(lost === '' ? [] : indented(`Loses ${answer.isAtTheLatest ? 'at most ' : ''}${lost}.`)),
  ]
}

function lossesText({ lost: { changes, answer } }: WhatIf): string {
  const calls = Object.entries(changes).map(([tool, count]) => `${many(count, 'call')} of ${oneLine(tool, 40)}`)
  return [...calls, ...(answer ? ['the answer'] : [])].join(', ')
}

function summaryOf(answers: readonly RunAnswer[]): string {
  const of = (verdict: WhatIf['verdict']): readonly WhatIf[] =>
    answers.map(({ answer }) => answer).filter((each) => each.verdict === verdict)
  const stopped = of('stops')
  const sum = (figure: (spent: Spent) => number): number =>
    stopped.reduce((total, { saved }) => total + figure(saved), 0)
  const saved = {
    turns: sum(({ turns }) => turns),
    tokens: sum(({ tokens }) => tokens),
    costUsd: sum(({ costUsd }) => costUsd),
    unknownUsd: sum(({ unknownUsd }) => unknownUsd),
    activeMs: sum(({ activeMs }) => activeMs),
  }
  const changes = new Map<string, number>()
  for (const { lost } of stopped)
    for (const [tool, count] of Object.entries(lost.changes)) changes.set(tool, (changes.get(tool) ?? 0) + count)
  const lost = [
    ...[...changes].map(([tool, count]) => `${many(count, 'call')} of ${oneLine(tool, 40)}`),
    ...[stopped.filter(({ lost: { answer } }) => answer).length]
      .filter((count) => count > 0)
      .map((count) => many(count, 'answer')),
  ]
  const [least, most] = stopped.some(({ isAtTheLatest }) => isAtTheLatest) ? ['at least ', 'at most '] : ['', '']
  const counts = `${stopped.length} would have stopped, ${of('same').length} the same, ${of('unknown').length} not known`
  const loses = lost.length === 0 ? 'nothing' : `${most}${lost.join(', ')}`
  return `${many(answers.length, 'run')}${byProgram(answers)}: ${counts}. Saves ${least}${spentText(saved)}. Loses ${loses}.`
}

/** The number of runs per program, unless all are of halting. */
function byProgram(answers: readonly RunAnswer[]): string {
  const of = (name: RunAnswer['program']): number => answers.filter(({ program }) => program === name).length
  const counts = [
    ['this program', of('halting')],
    [programNames['claude-code'], of('claude-code')],
    [programNames.codex, of('codex')],
  ] as const
  const byProgramCounts = counts.filter(([, count]) => count > 0).map(([name, count]) => `${counted(count)} of ${name}`)
  return of('halting') === answers.length ? '' : ` (${byProgramCounts.join(', ')})`
}

function suggestedLines(
  suggested: NonNullable<WhatIfAnswers['suggested']>,
  runs: number,
  columns: number,
  isBelow: boolean,
): readonly string[] {
  const before = isBelow ? [''] : []
  if (suggested.length === 0)
    return [
      ...before,
      wrapToColumns(`No limit would have saved anything in ${many(runs, 'run')} without losing something.`, columns),
    ]
  return [
    ...before,
    wrapToColumns(`In ${many(runs, 'run')} these would have lost nothing:`, columns),
    ...suggested.flatMap(({ limits, saved, stops }) => [
      `  ${flagsOf(limits)}`,
      ...wrapToColumns(`stops ${many(stops, 'run')} earlier, saves ${spentText(saved)}`, columns - 4)
        .split('\n')
        .map((line) => `    ${line}`),
    ]),
  ]
}

function flagsOf({ maxTurns, maxToolCalls, maxGoalTries, maxDurationMs, noProgress }: OtherLimits): string {
  if (typeof maxTurns === 'number') return `--max-turns ${maxTurns}`
  if (typeof maxToolCalls === 'number') return `--max-tool-calls ${maxToolCalls}`
  if (typeof maxGoalTries === 'number') return `--until-tries ${maxGoalTries}`
  if (typeof maxDurationMs === 'number') return `--max-duration ${Math.ceil(maxDurationMs / 1_000)}s`
  return noProgress === true ? '--no-progress' : ''
}

/** Maximum number of table rows; the JSON has all of them. */
const maxTableRows = 40

const names = { halting: 'halting', 'claude-code': 'claude', codex: 'codex' } as const

/** One line per run: those that would have stopped come first, sorted by savings. */
function answerTable(answers: readonly RunAnswer[], columns: number, style: Style): readonly string[] {
  const rows = answers.toSorted((a, b) => sortWeight(b) - sortWeight(a))
  const more = rows.length - maxTableRows
  const cells = rows.slice(0, maxTableRows).map(({ session, run, program, unpriced, answer }) => {
    const { kept, saved } = answer
    const cost = unpriced.length > 0 ? '?' : money(kept.costUsd + saved.costUsd)
    const turns = counted(kept.turns + saved.turns)
    return [oneLine(session.slice(0, 8), 8), oneLine(run, 6), names[program], turns, cost, answerText(answer)]
  })
  return [
    ...tableLines(cells, {
      columns: [{}, {}, {}, { align: 'right' }, { align: 'right' }, { rest: 'cut' }],
      width: columns,
      indent: 0,
      head: ['session', 'run', 'by', 'turns', 'cost', 'with these limits'],
      headStyle: style.bold,
    }),
    ...(more > 0 ? [`and ${many(more, 'more run')}; --json lists all`] : []),
  ]
}

function sortWeight({ answer: { verdict, saved } }: RunAnswer): number {
  return verdict === 'stops' ? 1 + saved.costUsd * 1e6 + saved.tokens : verdict === 'same' ? 0 : -1
}

function answerText({ verdict, reason, kept, saved, lost, isAtTheLatest }: RunAnswer['answer']): string {
  if (verdict !== 'stops') return verdict === 'same' ? `the same: ${reason}` : 'not known'
  const changes = Object.values(lost.changes).reduce((sum, count) => sum + count, 0)
  const losses = [...(changes > 0 ? [many(changes, 'change')] : []), ...(lost.answer ? ['the answer'] : [])]
  const gain = saved.costUsd > 0 ? money(saved.costUsd) : `${counted(saved.tokens)} tokens`
  const place = `${isAtTheLatest ? 'by turn' : 'after'} ${counted(kept.turns)}`
  return `${reason} ${place}, saves ${gain}${losses.length === 0 ? '' : `, loses ${losses.join(', ')}`}`
}
