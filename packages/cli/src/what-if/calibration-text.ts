import {
  calibratedFigures,
  type CalibratedFigure,
  type CalibratedGroup,
  type CalibratedLimit,
  type Calibration,
  type LimitsTogether,
} from '@halting/analysis'
import {
  calibratedLimitNames,
  calibrationWarnings,
  figureText,
  hasLimit,
  intervalText,
  limitValue,
  lostText,
  noLimitText,
  shareText,
  solvedText,
  expectedLossText,
} from '@halting/analysis/words'
import type { SavedLimits } from '@halting/policy/settings'
import { columnsOf, wrapToColumns } from '../io/columns.ts'
import { counted, many, oneLine, rounded } from '../io/figures.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'

/** Calibrated limits to print. */
export interface CalibrationAnswer {
  readonly runs: number
  readonly calibration: Calibration
  readonly saved?: SavedLimits
  readonly skipped: readonly string[]
  readonly notes: readonly string[]
}

/** Maximum number of listed groups with too few runs. */
const maxSmallGroups = 10

/** A table per group of runs, then the groups that are too small, then what was saved. */
export function calibrationText(
  { calibration, saved, skipped, notes }: CalibrationAnswer,
  width: number,
  style: Style,
): string {
  const columns = Math.min(width, 110)
  const { mayLose, needed, groups } = calibration
  const large = groups.filter(hasLimit)
  const small = groups.filter((group) => !hasLimit(group))
  const paragraph = (text: string): readonly string[] => wrapToColumns(oneLine(text, Infinity), columns).split('\n')
  const lines = [
    ...(large.length === 0
      ? paragraph(
          `No limits: at ${shareText(mayLose)} they need ${many(needed, 'solved run')} of a model in a repository.`,
        )
      : paragraph(
          `Limits that each lose at most ${shareText(mayLose)} of solved runs. In parentheses: intervals at 95 %.`,
        )),
    ...large.flatMap((group) => ['', ...groupLines(group, columns, style)]),
    ...(small.length === 0 ? [] : ['', ...smallLines(small, columns, large.length > 0)]),
    ...calibrationWarnings(large).flatMap((warning) => ['', ...paragraph(`! ${warning}`).map(style.yellow)]),
    ...(saved === undefined
      ? large.length > 0
        ? ['', ...paragraph('Nothing was written. Add --save to make the limits of one model those of this project.')]
        : []
      : ['', ...savedLines(saved, columns)]),
    ...(skipped.length === 0
      ? []
      : ['', ...[`Not read: ${many(skipped.length, 'file')}.`, ...skipped].flatMap(paragraph)]),
    ...(notes.length === 0 ? [] : ['', ...notes.flatMap(paragraph)]),
  ]
  return `${lines.join('\n')}\n`
}

function groupName({ model, repository }: CalibratedGroup): string {
  const where = repository === null ? 'all repositories together' : oneLine(repository === '' ? '?' : repository, 100)
  return `${model === null ? 'All models' : oneLine(model === '' ? '?' : model, 60)} in ${where}`
}

function indented(text: string, columns: number, by = 2): readonly string[] {
  const indent = ' '.repeat(by)
  return wrapToColumns(oneLine(text, Infinity), columns - by)
    .split('\n')
    .map((line) => indent + line)
}

function groupLines(group: CalibratedGroup, columns: number, style: Style): readonly string[] {
  return [
    style.bold(wrapToColumns(groupName(group), columns)),
    ...indented(`${solvedText(group)}.`, columns),
    ...limitLines(group, columns, style),
    ...(group.together === null ? [] : indented(togetherText(group.together), columns)),
  ]
}

/** A table, or one paragraph per limit on a narrow terminal. */
function limitLines({ limits }: CalibratedGroup, columns: number, style: Style): readonly string[] {
  const rows = calibratedFigures.map((figure) => {
    const limit = limits[figure]
    const name = calibratedLimitNames[figure].flag
    return limit.kind === 'refused'
      ? [name, 'none', noLimitText(limit)]
      : [`${name} ${limitValue(figure, limit.limit)}`, ...cellsOf(figure, limit)]
  })
  const head = ['limit', 'loses', 'of future runs', 'saves']
  const calibrated = rows.filter(({ length }) => length === head.length)
  const [headLine = '', ...lines] = tableLines(calibrated, { columns: head.map(() => ({})), head })
  const refused = ([name = '', none = '', why = '']: readonly string[]): readonly string[] =>
    indented(`${name} ${none}: ${why}`, columns)
  if ([headLine, ...lines].every((line) => columnsOf(line) <= columns))
    return [
      style.dim(headLine),
      ...rows.flatMap((row) => (row.length === head.length ? [lines[calibrated.indexOf(row)] ?? ''] : refused(row))),
    ]
  return rows.flatMap((row) => {
    const [name = '', lost = '', toCome = '', saves = ''] = row
    if (row.length !== head.length) return refused(row)
    return [
      ...indented(name, columns),
      ...indented(`loses ${lost} of solved runs, ${toCome} of future runs`, columns, 4),
      ...indented(`saves ${saves}`, columns, 4),
    ]
  })
}

function cellsOf(figure: CalibratedFigure, { lost, toExpect, saved, stops }: CalibratedLimit): readonly string[] {
  const interval = saved.interval === null ? '' : ` (${intervalText(saved.interval)})`
  const saves =
    stops === 0
      ? 'nothing: stops no other run'
      : `${shareText(saved.share)}${interval}: ${savedText(figure, saved.amount)}, ${many(stops, 'run')}`
  return [`${counted(lost.runs)} of ${counted(lost.of)}, ${shareText(lost.share)}`, expectedLossText(toExpect), saves]
}

function savedText(figure: CalibratedFigure, amount: number): string {
  if (figure === 'tokens') return `${rounded(Math.round(amount))} tokens`
  return figure === 'turns' ? many(amount, 'turn') : figureText(figure, amount)
}

function togetherText({ limits, lost, stops, saved }: LimitsTogether): string {
  const several = Object.keys(limits).length > 1
  const saves = (['usd', 'tokens', 'activeMs'] as const).flatMap((figure) => {
    const { amount, share } = saved[figure]
    const isShown = figure === 'activeMs' ? amount >= 1_000 : amount > 0
    return isShown ? [`${savedText(figure, amount)} (${shareText(share)})`] : []
  })
  const lose = `${several ? 'All of them together lose' : 'It loses'} ${lostText(lost)} of the solved runs${several ? ': losses can add up' : ''}.`
  return `${lose} ${several ? 'They stop' : 'It stops'} ${many(stops, 'other run')}${saves.length === 0 ? '' : ` and ${several ? 'save' : 'saves'} ${saves.join(', ')}`}.`
}

function smallLines(small: readonly CalibratedGroup[], columns: number, isBelow: boolean): readonly string[] {
  const more = small.length - maxSmallGroups
  return [
    isBelow ? 'No limits:' : 'Groups:',
    ...small
      .slice(0, maxSmallGroups)
      .flatMap((group) =>
        indented(`${groupName(group)}: ${solvedText(group)}; ${noLimitText(firstRefusal(group))}.`, columns),
      ),
    ...(more > 0 ? [`  and ${many(more, 'more group')}; --json has all of them`] : []),
  ]
}

function firstRefusal({ limits }: CalibratedGroup): Parameters<typeof noLimitText>[0] {
  const { tokens } = limits
  return tokens.kind === 'refused' ? tokens : { why: 'unused', solved: tokens.solved, needed: 0 }
}

/** What was written, the previous values, and what was not written. */
function savedLines({ path, limits }: SavedLimits, columns: number): readonly string[] {
  const writtenLimits = limits.filter(({ notWritten }) => notWritten === undefined)
  return [
    ...wrapToColumns(
      writtenLimits.length === 0
        ? 'Nothing was written: lower limits apply already.'
        : `Written to ${oneLine(path, 300)}. They apply in this folder, for all models:`,
      columns,
    ).split('\n'),
    ...writtenLimits.flatMap(({ name, value, before }) => {
      const had = before === undefined ? 'was not set' : `was ${before === null ? 'no limit' : before}`
      return indented(`limits.${name}: ${value} (${had})`, columns)
    }),
    ...limits.flatMap(({ name, value, notWritten }) =>
      notWritten === undefined ? [] : indented(`not written: ${name} ${value}, since ${notWritten}`, columns),
    ),
  ]
}
