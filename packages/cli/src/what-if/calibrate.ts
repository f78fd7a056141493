import { calibrateSessions, type Calibration } from '@halting/analysis'
import { recordedText, skippedText, unpricedText } from '@halting/analysis/foreign'
import type { ManySessions, PastSession } from '@halting/analysis/sessions'
import { copiesLeftOut } from '@halting/analysis/words'
import { type Flags, wantsJson } from '../flags/flags.ts'
import { gradingSources } from '../grade/grading-sources.ts'
import { oneLine } from '../io/figures.ts'
import { styleFor } from '../io/style.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { calibrationText } from './calibration-text.ts'
import { saveCalibrated } from './save-calibrated.ts'

// Spec R-CALIB-7.
/**
 * `halting what-if --suggest --may-lose 2%`: finds limits that each lose at most this share of solved runs. With --save,
 * writes them into the settings of this project.
 */
export async function calibrate(
  sessions: ManySessions<PastSession>,
  mayLose: number,
  flags: Flags,
  program: Program,
): Promise<number> {
  const sources = gradingSources(program)
  const read = await calibrateSessions(sessions, sources, { mayLose })
  const { runs, skipped, foreign, unpriced, copies } = read
  if (runs === 0) {
    const why = skipped[0] ?? (copies > 0 ? copiesLeftOut(copies) : 'no run is recorded')
    throw new UsageError(`No runs to analyze: ${why}`)
  }
  const calibration = groupsOfModel(read.calibration, flags.model)
  const saved =
    flags.save === true ? await saveCalibrated(calibration, sources.repositoryOf(program.cwd), program) : undefined
  const notes = [
    copiesLeftOut(copies),
    unpricedText([...unpriced]),
    recordedText(foreign),
    skippedText(foreign.map((each) => each.foreign.skipped)),
  ].filter((note) => note !== '')
  const answer = { runs, calibration, ...(saved !== undefined && { saved }), skipped, notes }
  const { output, env } = program
  if (wantsJson(flags)) output.out(`${JSON.stringify({ limits: {}, answers: [], ...answer })}\n`)
  else output.out(calibrationText(answer, output.width, styleFor(output.isTerminal.stdout, env)))
  return 0
}

/** Only the groups of one model. @throws UsageError for a model that no run used */
function groupsOfModel(calibration: Calibration, model: string | undefined): Calibration {
  if (model === undefined) return calibration
  const groups = calibration.groups.filter((group) => group.model === model)
  if (groups.length > 0) return { ...calibration, groups }
  const models = [...new Set(calibration.groups.map((group) => group.model))].filter((each) => each !== null)
  if (models.length === 0) throw new UsageError('No run asked a model.')
  const known = models.map((each) => oneLine(each, 60)).join(', ')
  throw new UsageError(`No run used ${oneLine(model, 60)}. The runs used: ${known}.`)
}
