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
  expectedLossText,
} from './calibration-words.ts'
import { counted, many } from './figures.ts'

// Calibrated limits in words, for reports and the page of the inspector.

/** The number of groups that are described; more are only counted. */
const [maxGroups, maxRefused] = [8, 3]

/** A limit of a group, or why it has no limit, as a row of a table. */
export interface CalibratedRow {
  /** What it limits. */
  readonly label: string
  /** The flag of the limit; '' for none. */
  readonly flag: string
  /** The limit in words; '' for none. */
  readonly limit: string
  /** How many solved runs it would have lost, or why there is no limit. */
  readonly lost: string
  /** The expected loss of future solved runs, with the 95 % interval. */
  readonly toExpect: string
  /** How much it saves of its figure. */
  readonly saves: string
}

/** One row for each figure. */
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
      toExpect: expectedLossText(toExpect),
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

/** Short names for sentences: no repository if there is only one, else the shortest end of its path that identifies it. */
function shortNames(groups: readonly CalibratedGroup[]): (group: CalibratedGroup) => string {
  const paths = [...new Set(groups.flatMap(({ repository }) => (repository === null ? [] : [repository])))]
  return ({ model, repository }) => {
    if (paths.length > 1) return groupName({ model, repository: repository === null ? null : endOf(repository, paths) })
    return groupName({ model, repository: null }).replace(/ in all repositories$/, '')
  }
}

/** The shortest end of a path that no other path has. */
function endOf(path: string, paths: readonly string[]): string {
  const names = path.split('/')
  for (let count = 1; count < names.length; count++) {
    const end = names.slice(-count).join('/')
    if (end !== '' && !paths.some((other) => other !== path && `/${other}`.endsWith(`/${end}`))) return end
  }
  return path
}

/** Title of the section of a report: `Limits that would have lost at most 2 % of the solved runs`. */
export function calibrationTitle({ mayLose }: Pick<Calibration, 'mayLose'>): string {
  return `Limits that would have lost at most ${shareText(mayLose)} of the solved runs`
}

/** The command line that saves the limits of a calibration. */
export function calibrationCommand({ mayLose }: Pick<Calibration, 'mayLose'>): string {
  return `halting what-if --suggest --may-lose ${shareText(mayLose).replace(' ', '')} --save`
}

/** Whether a group has at least one limit. */
export function hasLimit({ limits }: Pick<CalibratedGroup, 'limits'>): boolean {
  return calibratedFigures.some((figure) => limits[figure].kind === 'limit')
}

/** Weaknesses of the limits of these groups, one sentence of each kind, because groups of the same runs would repeat it. */
export function calibrationWarnings(limited: readonly CalibratedGroup[]): readonly string[] {
  return [guessWarning, sessionsWarning].flatMap((warningOf) =>
    limited
      .map(warningOf)
      .filter((text) => text !== '')
      .slice(0, 1),
  )
}

/** The limits of each group with their intervals, or why there are none; a paragraph each. */
export function calibrationTexts(calibration: Calibration): readonly string[] {
  const { groups } = calibration
  const nameOf = shortNames(groups)
  const limited = groups.filter(hasLimit)
  const refused = groups.filter((group) => !hasLimit(group))
  const left = [
    ...(limited.length > maxGroups ? [`${many(limited.length - maxGroups, 'more group')} with limits`] : []),
    ...(refused.length > maxRefused
      ? [`${many(refused.length - maxRefused, 'more group')} with too few solved runs`]
      : []),
  ]
  return [
    ...limited.slice(0, maxGroups).map((group) => limitsText(group, nameOf(group))),
    ...refused.slice(0, maxRefused).map((group) => refusedText(group, nameOf(group))),
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
  return `${calibratedLimitNames[figure].label} ${figureText(figure, limit)} (lost ${counted(lost.runs)} of ${counted(lost.of)}; expect ${expectedLossText(toExpect)}${saves})`
}

function refusedText(group: CalibratedGroup, name: string): string {
  const [first] = calibratedFigures.map((figure) => group.limits[figure])
  const why = first?.kind === 'refused' ? `: ${noLimitText({ ...first, solved: group.solved.all })}` : ''
  return `${name}${why}. ${solvedText(group)}.`
}
