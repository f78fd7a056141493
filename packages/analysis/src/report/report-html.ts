import { costText } from '../words/what-if-words.ts'
import { counted, elapsed, many } from '../words/figures.ts'
import { escapeHtml } from '../export/escape-html.ts'
import { pageHead } from '../export/page-head.ts'
import { pageStyle } from '../export/page-style.ts'
import { calibratedRows, calibrationTexts, calibrationTitle, groupName, hasLimit } from '../words/calibration-texts.ts'
import { dayOf } from './period.ts'
import { flagOf, limitsWorthReporting } from './tighter-limits.ts'
import type { Breakdown, Report, SessionSpent, SpentRow } from './report-model.ts'
import {
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
  shareText,
  spentText,
  triedText,
} from './report-words.ts'

// A single file without external resources (`pageHead`). Every text of a session is escaped: titles, folders, names of tools and models.

/** The page lists at most this many sessions, because a larger page would not open. The JSON has all of them. */
const maxSessions = 500
const maxRows = 100

/** The report as an HTML page. */
export function* reportHtml(report: Report, by?: Breakdown): Iterable<string> {
  const title = headline(report)
  const programs = programsText(report)
  yield `${pageHead(title, pageStyle + reportStyle)}<body>
<a class="skip" href="#figures">Skip to the figures</a>
<header>
<h1>${escapeHtml(title)}</h1>
<p>${escapeHtml(spentText(report.totals))}</p>
${programs === '' ? '' : `<p class="soft">${escapeHtml(programs)}</p>`}
</header>
<main id="figures">
`
  if (report.totals.runs > 0) {
    yield* breakdownHtml(report, by)
    if (by === undefined) yield* laterSectionsHtml(report)
  } else yield `<p>${escapeHtml(nothingText(report))}</p>\n`
  yield section(
    `Not read: ${many(report.skipped.length, 'file')}`,
    report.skipped.length === 0 ? '' : list(report.skipped),
  )
  yield report.notes.map((note) => `<p class="soft">${escapeHtml(note)}</p>\n`).join('')
  yield `</main>
<footer><p class="soft">Created ${escapeHtml(report.madeAt)}. Days are in the time zone ${escapeHtml(report.timeZone)}. Costs are in US dollars.</p></footer>
</body>
</html>
`
}

function* breakdownHtml(report: Report, by: Breakdown | undefined): Iterable<string> {
  const wants = (which: Breakdown): boolean => by === undefined || by === which
  if (wants('day')) yield section('By day', spentHtml('day', report.byDay))
  if (wants('model')) yield section('By model', modelsHtml(report))
  if (by === 'folder' || (by === undefined && report.byFolder.length > 1))
    yield section('By folder', spentHtml('folder', report.byFolder))
  if (by === undefined && report.byProgram.length > 1)
    yield section('By program', spentHtml('program', report.byProgram))
  if (by !== undefined) yield section('Goals', goalsHtml(report, by))
}

function* laterSectionsHtml(report: Report): Iterable<string> {
  yield section('How they ended', endingsHtml(report))
  yield section('Goals', goalsHtml(report, undefined))
  yield section('Last changes', list(verificationTexts(report)))
  yield section('Ended by a limit', list(report.limits.map(limitText)))
  yield section('Shared budgets', list(report.budgets.map((row) => budgetText(row, report.madeAt))))
  yield section('What tighter limits would have done', triedHtml(report))
  yield section(calibrationTitle(report.calibration), calibrationHtml(report))
  yield section('Tools', toolsHtml(report))
  yield section('Time', timeHtml(report))
  yield section('Waits', list(waitTexts(report)))
  yield section('Models and the window', list(serviceFacts(report)))
  yield section('Far above the others', list(report.outliers.map(outlierText)))
  yield section(
    'Did not end',
    list(
      report.open.map(
        ({ session, run, heldBy, ...cost }) =>
          `${session} ${run}: ${costText(cost)}${heldBy === null ? '' : `, still running in process ${heldBy}`}`,
      ),
    ),
  )
  yield section('Sessions, most expensive first', sessionsHtml(report.bySession))
}

function section(title: string, content: string): string {
  if (content === '') return ''
  const id = title.toLowerCase().replaceAll(/[^a-z]+/g, '-')
  return `<section aria-labelledby="${id}"><h2 id="${id}">${escapeHtml(title)}</h2>\n${content}</section>\n`
}

function list(items: readonly string[]): string {
  return items.length === 0 ? '' : `<ul>${items.map((item) => `<li>${escapeHtml(item)}</li>`).join('\n')}</ul>\n`
}

/** A table that scrolls on its own when it is wider than the page, also with the keyboard. */
function table(name: string, head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const titles = head.map((cell) => `<th scope="col">${escapeHtml(cell)}</th>`).join('')
  const lines = rows.map(([first = '', ...cells]) => {
    const otherCells = cells.map((cell) => `<td>${escapeHtml(cell)}</td>`).join('')
    return `<tr><th scope="row" dir="auto">${escapeHtml(first)}</th>${otherCells}</tr>`
  })
  return `<div class="wide" role="region" tabindex="0" aria-label="${escapeHtml(name)}"><table><thead><tr>${titles}</tr></thead><tbody>\n${lines.join('\n')}\n</tbody></table></div>\n`
}

const countOrBlank = (count: number): string => (count === 0 ? '' : counted(count))

function spentHtml(what: 'day' | 'folder' | 'program', rows: readonly SpentRow[]): string {
  const named = rows
    .slice(0, what === 'day' ? Infinity : maxRows)
    .map((row) => ({ ...row, name: row.name || 'not known' }))
  const picture = barChart(
    `Cost by ${what}`,
    named.slice(what === 'day' ? -62 : 0, what === 'day' ? undefined : 20).map((row) => ({
      label: row.name,
      first: row.costUsd,
      second: row.unknownUsd,
      value: costText(row),
    })),
  )
  const cells = named.map(({ name, sessions, runs, turns, tokens, activeMs, ...row }) => [
    name,
    costText(row),
    counted(sessions),
    counted(runs),
    counted(turns),
    counted(tokens),
    elapsed(activeMs),
  ])
  return picture + table(`By ${what}`, [what, 'cost', 'sessions', 'runs', 'turns', 'tokens', 'time'], cells)
}

function modelsHtml(report: Report): string {
  const picture = barChart(
    'Cost by model',
    report.byModel.map((row) => ({
      label: row.model || 'not known',
      first: row.costUsd,
      second: row.unknownUsd,
      value: modelCostText(report, row),
    })),
  )
  const cells = report.byModel.map((row) => {
    const { model, requests, failed, tokens, input, cacheRead, cacheWrite, output, ms } = row
    const sent = input + cacheRead + cacheWrite
    return [
      model || 'not known',
      modelCostText(report, row),
      counted(requests),
      countOrBlank(failed),
      counted(tokens),
      counted(output),
      sent === 0 ? '' : shareText(cacheRead / sent),
      elapsed(ms),
    ]
  })
  const head = ['model', 'cost', 'requests', 'failed', 'tokens', 'output', 'cached', 'time']
  return picture + table('By model', head, cells)
}

function endingsHtml({ endings }: Report): string {
  const picture = barChart(
    'Runs by how they ended',
    endings.map(({ reason, exitCode, runs }) => ({
      label: endingName(reason),
      first: exitCode === 0 ? runs : 0,
      second: exitCode === 0 ? 0 : runs,
      value: many(runs, 'run'),
    })),
  )
  const cells = endings.map(({ reason, exitCode, runs, tokens, activeMs, ...row }) => [
    endingName(reason),
    exitCode === null ? '' : String(exitCode),
    counted(runs),
    costText(row),
    counted(tokens),
    elapsed(activeMs),
  ])
  return picture + table('How they ended', ['reason', 'exit code', 'runs', 'cost', 'tokens', 'time'], cells)
}

function goalsHtml(report: Report, by: Breakdown | undefined): string {
  const tables = goalTables(report, by).map(([name, rows]) => {
    const cells = rows.slice(0, maxRows).map((row) => [row.name || 'not known', ...goalCells(row)])
    return table(`Goals by ${name}`, [name, ...goalHead], cells)
  })
  return list(goalTexts(report)) + tables.join('')
}

function calibrationHtml({ calibration }: Report): string {
  const limited = calibration.groups.filter(hasLimit).slice(0, maxRows)
  const head = ['limit', 'at most', 'lost', 'to expect', 'saves']
  const tables = limited.map((group) => {
    const cells = calibratedRows(group).map(({ label, limit, lost, toExpect, saves }) => [
      label,
      limit || 'none',
      lost,
      toExpect,
      saves,
    ])
    return table(groupName(group), head, cells)
  })
  return list(calibrationTexts(calibration)) + tables.join('')
}

function triedHtml({ tried }: Report): string {
  const cells = tried.map(({ limits, stops, unknown, lostAnswers, lostChanges, ...saved }) => [
    flagOf(limits),
    counted(stops),
    costText({ costUsd: saved.savedUsd, unknownUsd: saved.savedUnknownUsd }),
    counted(saved.savedTokens),
    elapsed(saved.savedMs),
    countOrBlank(lostAnswers),
    countOrBlank(lostChanges),
    countOrBlank(unknown),
  ])
  const head = ['limit', 'stops runs', 'saves', 'tokens', 'time', 'loses answers', 'loses changes', 'not known']
  return list(limitsWorthReporting(tried).map(triedText)) + table('Limits that were tried', head, cells)
}

function toolsHtml({ tools }: Report): string {
  const called = tools.filter(({ calls }) => calls > 0).slice(0, maxRows)
  const picture = barChart(
    'Calls by tool; failed, denied, invalid and cut calls are marked',
    called.slice(0, 20).map(({ tool, calls, failed, denied, invalid, cut }) => {
      const bad = failed + denied + invalid + cut
      const value = `${counted(calls)}${bad === 0 ? '' : `, ${counted(bad)} unsuccessful`}`
      return { label: tool ?? '', first: calls - bad, second: bad, value }
    }),
  )
  const cells = called.map(({ tool, calls, failed, denied, invalid, cut, ms, tokens, ...cost }) => [
    tool ?? '',
    counted(calls),
    ...[failed, denied, invalid, cut].map(countOrBlank),
    elapsed(ms),
    counted(tokens),
    costText(cost),
  ])
  const head = ['tool', 'calls', 'failed', 'denied', 'invalid', 'cut', 'time', 'tokens', 'cost']
  return picture + table('Tools', head, cells)
}

/** Waits for services are not active time: they have a row without a bar. */
function timeHtml({ time, serviceWaits: { ms: waitedMs } }: Report): string {
  const rows = Object.entries(time).filter(([, ms]) => ms > 0)
  const waited = waitedMs > 0 ? [{ label: 'services', first: 0, value: `${elapsed(waitedMs)}, not active` }] : []
  return barChart('Where the time went', [
    ...rows.map(([label, ms]) => ({ label, first: ms, value: elapsed(ms) })),
    ...waited,
  ])
}

function sessionsHtml(sessions: readonly SessionSpent[]): string {
  const cells = sessions
    .slice(0, maxSessions)
    .map(({ session, title, folder, turns, tokens, activeMs, ending, ...row }) => [
      `${session.slice(0, 8)} ${title}`,
      costText(row),
      counted(turns),
      counted(tokens),
      elapsed(activeMs),
      endingName(ending),
      dayOf(row.beganAt === null ? null : Date.parse(row.beganAt)),
      folder,
    ])
  const left = sessions.length - maxSessions
  const head = ['session', 'cost', 'turns', 'tokens', 'time', 'ended', 'began', 'folder']
  return (
    table('Sessions', head, cells) +
    (left > 0 ? `<p class="soft">${escapeHtml(`${many(left, 'more session')}: --json has all of them.`)}</p>\n` : '')
  )
}

/** One bar of a chart, with two segments in a row. */
interface Bar {
  readonly label: string
  readonly first: number
  readonly second?: number
  /** The value in words, shown next to the bar and read by screen readers. */
  readonly value: string
}

const [rowHeight, barHeight, labelColumns, valueColumns] = [22, 12, 170, 190]
const width = 640
const maxLabelLength = 24

/**
 * A bar chart as inline SVG, without scripts and styled by classes of the page. Labels and values are text, so that they can be read aloud, copied
 * and searched.
 */
function barChart(title: string, rows: readonly Bar[]): string {
  const highest = Math.max(...rows.map(({ first, second = 0 }) => first + second))
  if (rows.length === 0 || !(highest > 0)) return ''
  const room = width - labelColumns - valueColumns
  const height = rows.length * rowHeight + 4
  const bars = rows.map(({ label, first, second = 0, value }, index) => {
    const y = index * rowHeight + 2
    const middle = y + rowHeight / 2
    // A value above zero is always visible.
    const barLength = (part: number): number => (part > 0 ? Math.max(1.5, (part / highest) * room) : 0)
    const [one, two] = [barLength(first), barLength(second)]
    return [
      `<g><title>${escapeHtml(label)}: ${escapeHtml(value)}</title>`,
      `<text x="${labelColumns - 8}" y="${middle}" class="name">${escapeHtml(shortLabel(label))}</text>`,
      `<rect x="${labelColumns}" y="${y + (rowHeight - barHeight) / 2}" width="${fixed(one)}" height="${barHeight}" class="one"/>`,
      two > 0
        ? `<rect x="${fixed(labelColumns + one)}" y="${y + (rowHeight - barHeight) / 2}" width="${fixed(two)}" height="${barHeight}" class="two"/>`
        : '',
      `<text x="${fixed(labelColumns + one + two + 8)}" y="${middle}">${escapeHtml(value)}</text></g>`,
    ].join('')
  })
  const picture = `<svg role="img" aria-label="${escapeHtml(title)}" viewBox="0 0 ${width} ${height}">${bars.join('\n')}</svg>`
  return `<div class="wide" role="region" tabindex="0" aria-label="${escapeHtml(title)}">${picture}</div>\n`
}

/** Shortens a label; of a path, the end is kept. */
function shortLabel(label: string): string {
  const letters = Array.from(label)
  if (letters.length <= maxLabelLength) return label
  const maxLength = maxLabelLength - 1
  return /[/\\]/.test(label) ? `…${letters.slice(-maxLength).join('')}` : `${letters.slice(0, maxLength).join('')}…`
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10)
}

/** Styles of the report in addition to those of all pages. */
const reportStyle = `
table{border-collapse:collapse;width:100%;margin:.5rem 0;font-variant-numeric:tabular-nums}
caption{text-align:left;color:var(--soft);padding:.2rem .3rem}
th,td{padding:.2rem .5rem;text-align:right;border-bottom:1px solid var(--line);vertical-align:top;white-space:nowrap}
th{color:var(--soft);font-weight:400}
td:first-child,th:first-child,td.words,th.words{text-align:left}
th[scope=row]{color:inherit;text-align:left;white-space:normal;min-width:9rem}
.wide{overflow-x:auto}
.wide:focus-visible{outline-offset:-.1rem}
svg{width:100%;min-width:30rem;max-width:45rem;height:auto;display:block;margin:.5rem 0}
svg text{font:12px system-ui,sans-serif;fill:var(--ink);dominant-baseline:central}
svg .name{text-anchor:end;fill:var(--soft)}
svg .one{fill:var(--link)}svg .two{fill:var(--bad)}
ul{padding-left:1.2rem}li{margin:.3rem 0}
main section{margin-top:1.5rem}
@media print{svg{break-inside:avoid}tr{break-inside:avoid}}
`
