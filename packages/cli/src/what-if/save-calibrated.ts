import { calibratedFigures, type CalibratedGroup, type Calibration } from '@halting/analysis'
import { calibratedLimitNames, limitValue, many, noLimitText } from '@halting/analysis/words'
import { homeFolder } from '@halting/policy/files'
import { saveProjectLimits, type ProjectLimits, type SavedLimits } from '@halting/policy/settings'
import { runLimitOfPrint } from '../flags/run-limit.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'

// Spec R-CALIB-8, R-CALIB-9.
/**
 * Writes the limits of one model into the settings of this project, where they apply to all models.
 * @throws UsageError if it is unclear which limits are meant, or there are none
 */
export async function saveCalibrated(
  { groups, mayLose }: Calibration,
  repository: string,
  { cwd, env }: Pick<Program, 'cwd' | 'env'>,
): Promise<SavedLimits> {
  const group = groupToSave(groups, repository)
  const limits: ProjectLimits = Object.fromEntries(
    calibratedFigures.flatMap((figure): readonly (readonly [string, number | string])[] => {
      const each = group.limits[figure]
      return each.kind === 'limit' ? [[calibratedLimitNames[figure].setting, limitValue(figure, each.limit)]] : []
    }),
  )
  if (Object.keys(limits).length === 0) {
    const orMore = mayLose < 0.05 ? ', or allow more: --may-lose 5%' : ''
    throw new UsageError(
      `There is no limit to save for ${groupName(group)}: ${refusalText(group)}. Grade more runs (halting grade SESSION good)${orMore}.`,
    )
  }
  const { maxRunUsd, from } = runLimitOfPrint
  return saveProjectLimits(limits, {
    cwd,
    env,
    home: homeFolder(env),
    defaultLimits: { maxRunUsd: { value: maxRunUsd, from } },
  })
}

/** The only group of this repository. Groups over several repositories are ignored. */
function groupToSave(groups: readonly CalibratedGroup[], repository: string): CalibratedGroup {
  const single = groups.filter((group) => group.repository !== null)
  const [group, ...others] = single.filter((each) => each.repository === repository)
  if (single.length === 0) throw new UsageError('There is no limit to save: no run asked a model.')
  if (group === undefined) {
    const places = [...new Set(single.map((each) => each.repository))].map((each) => oneLine(each ?? '', 100))
    throw new UsageError(
      `--save writes the settings of this project (${oneLine(repository, 100)}), and none of these runs worked in it. They worked in ${listNames(places)}. Run it there.`,
    )
  }
  if (others.length === 0) return group
  const models = [group, ...others].map(({ model, runs }) => `${modelName(model)} (${many(runs, 'run')})`)
  throw new UsageError(
    `Limits in settings apply to all models, and these runs used several: ${listNames(models)}. Choose one with --model NAME.`,
  )
}

function refusalText({ limits }: CalibratedGroup): string {
  const refused = calibratedFigures.map((figure) => limits[figure]).find((each) => each.kind === 'refused')
  return refused?.kind === 'refused' ? noLimitText(refused) : 'nothing was used'
}

function groupName({ model, repository }: CalibratedGroup): string {
  return `${modelName(model)} in ${oneLine(repository ?? '', 100)}`
}

function modelName(model: string | null): string {
  return oneLine(model ?? '', 60) || 'an unknown model'
}

const maxNames = 6

function listNames(names: readonly string[]): string {
  const more = names.length - maxNames
  return `${names.slice(0, maxNames).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
