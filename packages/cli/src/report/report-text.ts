import { calibrationTexts, calibrationTitle, costText } from '@halting/analysis/words'
import { wrapToColumns } from '../io/columns.ts'
import { counted, elapsed, many, oneLine } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'
import { barLines } from '../why/bars.ts'
import {
  limitsWorthReporting,
  budgetText,
  endingName,
  serviceFacts,
  goalCells,
  goalHead,
  goalTables,
  goalTexts,
  verificationTexts,
  headline,
  limitText,
  modelCostText,
  nothingText,
  outlierText,
  programsText,
  waitTexts,
  spentText,
  triedText,
  type Breakdown,
  type Report,
  type SessionSpent,
  type SpentRow,
} from '@halting/analysis/report'

interface ReportLayout {
  /** Prints only this breakdown, with all rows. */
  readonly by?: Breakdown | undefined
  readonly width: number
  readonly style: Style
}

const [maxDays, maxRows, maxSessions] = [14, 8, 5]
/** Maximum width, because longer lines are hard to read. */
const maxColumns = 100

/** The report as text of at most `width` columns. */
export function reportText(report: Report, { by, width, style }: ReportLayout): string {
  const columns = Math.min(width, maxColumns)
  const paragraph = (text: string): readonly string[] => wrapToColumns(oneLine(text, Infinity), columns).split('\n')
  const item = (text: string): readonly string[] =>
    wrapToColumns(oneLine(text, Infinity), columns - 4)
      .split('\n')
      .map((line, index) => (index === 0 ? `  ${line}` : `    ${line}`))
  const part = (title: string, lines: readonly string[]): readonly string[] =>
    lines.length === 0 ? [] : ['', style.bold(wrapToColumns(title, columns)), ...lines]
  const programs = programsText(report)
  const head = [
    ...paragraph(headline(report)).map((line) => style.bold(line)),
    ...(programs === '' ? [] : paragraph(`${programs}.`)),
  ]
  const last = [
    // Lists all of them, since their costs are missing from the totals.
    ...part(`Not read: ${many(report.skipped.length, 'file')}`, report.skipped.flatMap(item)),
    ...(report.notes.length === 0 ? [] : ['', ...report.notes.flatMap(paragraph)]),
  ]
  if (report.totals.runs === 0) return joinLines([...head, ...paragraph(nothingText(report)), ...last])
  const spent = breakdownLines(report, { by, width: columns, style })
  const goals = part('Goals', [...goalTexts(report).flatMap(item), ...goalLines(report, by, columns, style)])
  if (by !== undefined) return joinLines([...head, ...paragraph(spentText(report.totals)), ...spent, ...goals, ...last])
  const endings = report.endings.map(({ reason, exitCode, runs, ...row }) => [
    endingName(reason),
    counted(runs),
    exitCode === null ? '' : String(exitCode),
    costText(row),
    elapsed(row.activeMs),
  ])
  return joinLines([
    ...head,
    ...paragraph(spentText(report.totals)),
    ...spent,
    ...part('How they ended', figureLines(['', 'runs', 'exit', 'cost', 'time'], endings, columns, style)),
    ...goals,
    ...part('Last changes', verificationTexts(report).flatMap(item)),
    ...part('Ended by a limit', report.limits.map(limitText).flatMap(item)),
    ...part('Shared budgets', report.budgets.map((row) => budgetText(row, report.madeAt)).flatMap(item)),
    ...part('What tighter limits would have done', limitsWorthReporting(report.tried).map(triedText).flatMap(item)),
    ...part(calibrationTitle(report.calibration), calibrationTexts(report.calibration).flatMap(item)),
    ...part('Tools', toolLines(report, columns, style)),
    ...part('Time', timeLines(report, columns, style)),
    ...part('Waits', waitTexts(report).flatMap(item)),
    ...part('Models and the window', serviceFacts(report).flatMap(item)),
    ...part('The most expensive sessions', sessionLines(report.bySession, columns, style)),
    ...part('The longest sessions', sessionLines(longestSessions(report), columns, style)),
    ...part('Far above the others', report.outliers.map(outlierText).flatMap(item)),
    ...part('Did not end', openLines(report).flatMap(item)),
    ...last,
  ])
}

function joinLines(lines: readonly string[]): string {
  return `${lines.join('\n')}\n`
}

function breakdownLines(report: Report, { by, width, style }: ReportLayout): readonly string[] {
  const most = by === undefined ? maxRows : Infinity
  const days = by === undefined ? report.byDay.slice(-maxDays) : report.byDay
  const hasSeveral = (rows: readonly unknown[]): boolean => rows.length > 1
  return [
    ...(by === undefined || by === 'day' ? ['', style.bold('By day'), ...spentBars(days, width, style)] : []),
    ...moreRowsLine(report.byDay.length - days.length, 'earlier day', by === undefined || by === 'day'),
    ...(by === undefined || by === 'model'
      ? ['', style.bold('By model'), ...modelLines(report, most, width, style)]
      : []),
    ...(by === 'folder' || (by === undefined && hasSeveral(report.byFolder))
      ? ['', style.bold('By folder'), ...spentBars(report.byFolder.slice(0, most), width, style, 44)]
      : []),
    ...moreRowsLine(report.byFolder.length - most, 'more folder', by === undefined),
  ]
}

function goalLines(report: Report, by: Breakdown | undefined, width: number, style: Style): readonly string[] {
  return goalTables(report, by).flatMap(([name, rows]) => {
    const most = by === undefined ? maxRows : Infinity
    const shownRows = name === 'day' && by === undefined ? rows.slice(-maxDays) : rows.slice(0, most)
    const cells = shownRows.map((row) => [row.name === '' ? 'not known' : row.name, ...goalCells(row)])
    return [
      ...figureLines([`by ${name}`, ...goalHead], cells, width, style),
      ...moreRowsLine(rows.length - shownRows.length, `more ${name}`, by === undefined),
    ]
  })
}

function moreRowsLine(count: number, what: string, isAsked: boolean): readonly string[] {
  return isAsked && count > 0 ? [`  and ${many(count, what)}; --by lists all`] : []
}

function spentBars(rows: readonly SpentRow[], width: number, style: Style, longest = 16): readonly string[] {
  const isPriced = rows.some(({ costUsd, unknownUsd }) => costUsd + unknownUsd > 0)
  // Without prices, the bars show tokens.
  const weightOf = (row: SpentRow): number => (isPriced ? row.costUsd + row.unknownUsd : row.tokens)
  const most = Math.max(...rows.map(weightOf))
  return barLines(
    rows.map((row) => ({
      label: oneLine(row.name === '' ? 'not known' : row.name, Infinity),
      share: most === 0 ? undefined : weightOf(row) / most,
      value: `${costText(row)}, ${many(row.runs, 'run')}, ${counted(row.tokens)} tokens`,
    })),
    width,
    style,
    longest,
  )
}

function modelLines(report: Report, most: number, width: number, style: Style): readonly string[] {
  const hasSearched = report.byModel.some(({ searches = 0 }) => searches > 0)
  const cells = report.byModel.slice(0, most).map((row) => {
    const { model, requests, failed, tokens, input, cacheRead, cacheWrite, ms, searches = 0 } = row
    const sent = input + cacheRead + cacheWrite
    return [
      model === '' ? 'not known' : model,
      modelCostText(report, row),
      counted(requests),
      counted(tokens),
      sent === 0 ? '' : `${Math.round((cacheRead / sent) * 100)} %`,
      elapsed(ms),
      failed === 0 ? '' : counted(failed),
      ...(hasSearched ? [searches === 0 ? '' : counted(searches)] : []),
    ]
  })
  const heads = ['', 'cost', 'requests', 'tokens', 'cached', 'time', 'failed', ...(hasSearched ? ['searches'] : [])]
  return figureLines(heads, cells, width, style)
}

function toolLines({ tools }: Report, width: number, style: Style): readonly string[] {
  const called = tools.filter(({ calls }) => calls > 0)
  const troubled = called.filter(({ failed, denied, invalid, cut }) => failed + denied + invalid + cut > 0)
  // Tools with failures come before tools that are only used often.
  const shownRows = [...new Set([...called.slice(0, maxRows), ...troubled])].slice(0, 2 * maxRows)
  if (shownRows.length === 0) return []
  const rows = shownRows.map(({ tool, calls, failed, denied, invalid, cut, ms, ...cost }) => [
    tool ?? '',
    counted(calls),
    ...[failed, denied, invalid, cut].map((count) => (count === 0 ? '' : counted(count))),
    elapsed(ms),
    costText(cost),
  ])
  const left = called.length - shownRows.length
  return [
    ...figureLines(['', 'calls', 'failed', 'denied', 'invalid', 'cut', 'time', 'cost'], rows, width, style),
    ...(left > 0 ? [`  and ${many(left, 'more tool')}; --json lists all`] : []),
  ]
}

/** Waits for services are not active time, so their row has no bar. */
function timeLines(
  { time, totals, serviceWaits: { ms: waitedMs } }: Report,
  width: number,
  style: Style,
): readonly string[] {
  const rows = Object.entries(time).filter(([, ms]) => ms > 0)
  if (rows.length === 0 && waitedMs === 0) return []
  const share = (ms: number): number | undefined => (totals.activeMs === 0 ? undefined : ms / totals.activeMs)
  const waited =
    waitedMs > 0 ? [{ label: 'services', share: undefined, value: `${elapsed(waitedMs)}, not active` }] : []
  return barLines(
    [...rows.map(([label, ms]) => ({ label, share: share(ms), value: elapsed(ms) })), ...waited],
    width,
    style,
  )
}

/** Empty if these are the most expensive sessions in the same order. */
function longestSessions({ bySession }: Report): readonly SessionSpent[] {
  const sorted = bySession.toSorted((a, b) => b.activeMs - a.activeMs)
  const isSame = sorted.slice(0, maxSessions).every((session, index) => session === bySession[index])
  return isSame ? [] : sorted
}

function sessionLines(sessions: readonly SessionSpent[], width: number, style: Style): readonly string[] {
  // For a single session, the totals contain everything.
  if (sessions.length < 2) return []
  const rows = sessions
    .slice(0, maxSessions)
    .map(({ session, title, turns, activeMs, ending, ...row }) => [
      `${session.slice(0, 8)} ${title}`,
      costText(row),
      counted(turns),
      elapsed(activeMs),
      endingName(ending),
    ])
  return figureLines(['', 'cost', 'turns', 'time', 'ended'], rows, width, style)
}

function openLines({ open }: Report): readonly string[] {
  const lines = open.slice(0, maxRows).map(({ session, run, heldBy, ...cost }) => {
    const status = heldBy === null ? '' : `, still running in process ${heldBy}`
    return `${session.slice(0, 8)} ${run}: ${costText(cost)}${status}`
  })
  return open.length > maxRows ? [...lines, `and ${counted(open.length - maxRows)} more`] : lines
}

/** Names and figures in columns. Names get the space that figures leave; if it is too narrow, the last figures are dropped. */
function figureLines(
  head: readonly string[],
  rows: readonly (readonly string[])[],
  width: number,
  style: Style,
): readonly string[] {
  const cells = rows.map((row) => row.map((cell) => oneLine(cell, Infinity)))
  const columns = head.map((_, at) => (at === 0 ? { rest: 'cut' as const } : { align: 'right' as const }))
  return tableLines(cells, { columns, width, keep: 2, head, headStyle: style.dim })
}
