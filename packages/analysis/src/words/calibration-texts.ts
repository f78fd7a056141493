import {
  calibratedFigures,
  type CalibratedFigure,
  type CalibratedGroup,
  type CalibratedLimit,
} from '../calibration/calibrated-limit.ts'
import type { Calibration } from '../calibration/calibrate-limits.ts'
import {
  calibratedLimitNames,
  figureText,
  guessWarning,
  sessionsWarning,
  lostText,
  noLimitText,
  shareText,
  solvedText,
  toExpectText,
} from './calibration-words.ts'
import { counted, many } from './figures.ts'

// Limits that are calibrated on solved runs: in reports, and on the page of the inspector.

/** More groups than these are counted. */
const [mostGroups, mostRefused] = [8, 3]

/** A limit of a group, or why there is none, as a row of a table. */
export interface CalibratedRow {
  /** What it limits. */
  readonly label: string
  /** The limit with its flag; '' where there is none. */
  readonly flag: string
  /** The limit for a person; '' where there is none. */
  readonly limit: string
  /** How many solved runs it would have lost, or why there is none. */
  readonly lost: string
  /** What it will lose of solved runs to come, with the interval at 95 %. */
  readonly toExpect: string
  /** What it saves of the figure. */
  readonly saves: string
}

/** A row for each figure. */
export function calibratedRows({ limits }: CalibratedGroup): readonly CalibratedRow[] {
  return calibratedFigures.map((figure) => {
    const each = limits[figure]
    const { label, flag } = calibratedLimitNames[figure]
    if (each.kind === 'refused') return { label, flag: '', limit: '', lost: noLimitText(each), toExpect: '', saves: '' }
    const { limit, lost, toExpect, saved } = each
    const saves = `${figureText(figure, saved.amount)} (${shareText(saved.share)})`
    return {
      label,
      flag,
      limit: figureText(figure, limit),
      lost: lostText(lost),
      toExpect: toExpectText(toExpect),
      saves,
    }
  })
}

/** `claude-opus-5 in /home/me/project`. */
export function groupName({ model, repository }: Pick<CalibratedGroup, 'model' | 'repository'>): string {
  const models = model === null ? 'all models' : model === '' ? 'a model that is not known' : model
  const place = repository === null ? 'all repositories' : repository === '' ? 'a folder that is not known' : repository
  return `${models} in ${place}`
}

/** Short names for sentences: no repository where there is one alone, else the end of its path that tells it from the others. */
function shortNames(groups: readonly CalibratedGroup[]): (group: CalibratedGroup) => string {
  const paths = [...new Set(groups.flatMap(({ repository }) => (repository === null ? [] : [repository])))]
  return ({ model, repository }) => {
    if (paths.length > 1) return groupName({ model, repository: repository === null ? null : endOf(repository, paths) })
    return groupName({ model, repository: null }).replace(/ in all repositories$/, '')
  }
}

/** As few of its last names as no other path ends with. */
function endOf(path: string, paths: readonly string[]): string {
  const names = path.split('/')
  for (let count = 1; count < names.length; count++) {
    const end = names.slice(-count).join('/')
    if (end !== '' && !paths.some((other) => other !== path && `/${other}`.endsWith(`/${end}`))) return end
  }
  return path
}

/** The section of a report: `Limits that would have lost at most 2 % of the solved runs`. */
export function calibrationTitle({ mayLose }: Pick<Calibration, 'mayLose'>): string {
  return `Limits that would have lost at most ${shareText(mayLose)} of the solved runs`
}

/** The command line that saves the limits of a calibration. */
export function calibrationCommand({ mayLose }: Pick<Calibration, 'mayLose'>): string {
  return `halting what-if --suggest --may-lose ${shareText(mayLose).replace(' ', '')} --save`
}

/** Whether a group has a limit on anything. */
export function hasLimit({ limits }: Pick<CalibratedGroup, 'limits'>): boolean {
  return calibratedFigures.some((figure) => limits[figure].kind === 'limit')
}

/** What makes the limits of these groups weak, one sentence of each kind: groups of the same runs would repeat it. */
export function calibrationWarnings(limited: readonly CalibratedGroup[]): readonly string[] {
  return [guessWarning, sessionsWarning].flatMap((warningOf) =>
    limited
      .map(warningOf)
      .filter((text) => text !== '')
      .slice(0, 1),
  )
}

/** For each group its limits with their intervals, or why there are none, a paragraph each. */
export function calibrationTexts(calibration: Calibration): readonly string[] {
  const { groups } = calibration
  const nameOf = shortNames(groups)
  const limited = groups.filter(hasLimit)
  const refused = groups.filter((group) => !hasLimit(group))
  const left = [
    ...(limited.length > mostGroups ? [`${many(limited.length - mostGroups, 'more group')} with limits`] : []),
    ...(refused.length > mostRefused
      ? [`${many(refused.length - mostRefused, 'more group')} with too few solved runs`]
      : []),
  ]
  return [
    ...limited.slice(0, mostGroups).map((group) => limitsText(group, nameOf(group))),
    ...refused.slice(0, mostRefused).map((group) => refusedText(group, nameOf(group))),
    ...(left.length === 0 ? [] : [`and ${left.join(', ')}; --json has all of them`]),
    ...calibrationWarnings(limited),
    ...(limited.length > 0 ? [`To save the limits of a project: ${calibrationCommand(calibration)}`] : []),
  ]
}

function limitsText(group: CalibratedGroup, name: string): string {
  const limits = calibratedFigures.flatMap((figure) => {
    const each = group.limits[figure]
    return each.kind === 'limit' ? [limitText(figure, each)] : []
  })
  const missing = calibratedFigures.flatMap((figure) => {
    const each = group.limits[figure]
    return each.kind === 'limit' ? [] : [`no limit on ${calibratedLimitNames[figure].label} (${noLimitText(each)})`]
  })
  const together =
    group.together === null || limits.length < 2 ? '' : ` All together lose ${lostText(group.together.lost)}.`
  return `${name}: ${[...limits, ...missing].join('; ')}.${together} ${solvedText(group)}.`
}

function limitText(figure: CalibratedFigure, { limit, lost, toExpect, saved }: CalibratedLimit): string {
  const saves = saved.amount > 0 ? `, saves ${shareText(saved.share)}` : ''
  return `${calibratedLimitNames[figure].label} ${figureText(figure, limit)} (lost ${counted(lost.runs)} of ${counted(lost.of)}; expect ${toExpectText(toExpect)}${saves})`
}

function refusedText(group: CalibratedGroup, name: string): string {
  const [first] = calibratedFigures.map((figure) => group.limits[figure])
  const why = first?.kind === 'refused' ? `: ${noLimitText({ ...first, solved: group.solved.all })}` : ''
  return `${name}${why}. ${solvedText(group)}.`
}
