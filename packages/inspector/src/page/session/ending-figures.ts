import { endings } from '@halting/core'
import type { LimitFigures } from '@halting/analysis'
import {
  counted,
  elapsed,
  goalFacts,
  goalName,
  gradeText,
  limitLabels,
  many,
  money,
  moneyAtMost,
  sharedBudgetText,
  verificationFacts,
  visible,
} from '@halting/analysis/words'
import type { RunView } from '@halting/analysis/view'
import { phaseColors } from '../common/colors.ts'
import { type PictureBar, barRows } from '../picture/bars.ts'
import { costWithGaps } from '../sessions/figure-text.ts'
import { stacked, sideBySide, code, heading, paragraph, tight } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'

// The ending of a run for display, shared by the page and its picture.

/** The exit code of a run's ending; null for a run that has not ended, and for an unknown ending. */
export function exitCodeOf({ account: { ending } }: Pick<RunView, 'account'>): number | null {
  return ending === null ? null : (endings[ending.reason]?.exitCode ?? null)
}

/** The reason and message of the ending. */
export function headline({ account: { ending } }: Pick<RunView, 'account'>): string {
  if (ending === null) return 'No ending is recorded'
  const { message } = ending.signal
  return visible(message === '' ? ending.reason : `${ending.reason}: ${message}`)
}

/** The totals of the run on one line. */
export function totalsText({ account: { totals }, unpriced }: RunView): string {
  const unknownUsd = Math.round((totals.committedUsd - totals.costUsd) * 1e9) / 1e9
  const bound = unknownUsd > 0 ? ` and up to ${moneyAtMost(unknownUsd)} more` : ''
  return [
    many(totals.turns, 'turn'),
    many(totals.requests, 'request'),
    `${counted(totals.tokens)} tokens`,
    `${costWithGaps(totals.costUsd, unpriced)}${bound}`,
    elapsed(totals.activeMs),
  ].join(', ')
}

const units = {
  turns: counted,
  calls: counted,
  tokens: counted,
  tries: counted,
  repeats: counted,
  usd: money,
  ms: elapsed,
} satisfies Record<LimitFigures['unit'], (value: number) => string>

/** A bar for each limit, and for the shared budget that ended the run. */
export function limitBars({ account: { limits, ending } }: RunView): readonly PictureBar[] {
  const own = limits.map(({ limit, unit, used, max, isReached }): PictureBar => {
    const [label, shown] = [limitLabels[limit], units[unit]]
    if (max === null) return { label, share: null, value: `${shown(used)}, no limit`, color: 'soft' }
    return {
      label,
      share: max === 0 ? 1 : used / max,
      value: `${shown(used)} of ${shown(max)}${isReached ? ', reached' : ''}`,
      color: isReached ? 'bad' : 'accent',
    }
  })
  const shared = ending?.sharedBudget
  if (shared === undefined) return own
  const { budget, usedUsd, limitUsd } = shared
  const share = usedUsd === null || limitUsd === null || limitUsd <= 0 ? 1 : usedUsd / limitUsd
  return [...own, { label: visible(budget), share, value: visible(sharedBudgetText(shared)), color: 'bad' }]
}

/** A bar for each phase; waits for services are not active time, and have no bar. */
export function timeBars({ account: { totals, carried, phases, serviceWaits } }: RunView): readonly PictureBar[] {
  const totalMs = totals.activeMs - carried.activeMs
  const waited: readonly PictureBar[] =
    serviceWaits === undefined || serviceWaits.waits === 0
      ? []
      : [{ label: 'services', share: null, value: `${elapsed(serviceWaits.ms)}, not active`, color: 'soft' }]
  const active = phases.flatMap(({ phase, ms }) => {
    if (ms === 0) return []
    const share = totalMs === 0 ? '' : `, ${Math.round((100 * ms) / totalMs)} %`
    return [
      {
        label: phase,
        share: totalMs === 0 ? 0 : ms / totalMs,
        value: `${elapsed(ms)}${share}`,
        color: phaseColors[phase],
      },
    ]
  })
  return [...active, ...waited]
}

/** The goals of the run and their results, a sentence each; empty for a run without goals. */
export function goalLines({ account: { goal } }: RunView): readonly string[] {
  if (goal === undefined) return []
  return [...goal.goals.slice(0, maxGoals).map(goalName), ...goalFacts(goal)].map(visible)
}

const maxGoals = 10

/** Whether the last change was checked, a sentence each; empty when nothing changed or changes were not tracked. */
export function lastChangeLines({ account: { verification } }: RunView): readonly string[] {
  return verification === undefined ? [] : verificationFacts(verification).map(visible)
}

/** The grade of the run; empty when it cannot be known. */
export function gradeLines({ graded: { grade } }: RunView): readonly string[] {
  return grade === null ? [] : [gradeText(grade)]
}

export const whyTitle = 'Output of halting why'

/** A picture of the ending, with the same content as the page. */
export function pictureOfEnding(run: RunView): Picture {
  const sections = [
    { title: 'Goal', lines: goalLines(run) },
    { title: 'Last change', lines: lastChangeLines(run) },
    { title: 'Grade', lines: gradeLines(run) },
  ].filter(({ lines }) => lines.length > 0)
  return {
    title: headline(run),
    about: [],
    width: 960,
    blocks: [
      paragraph(totalsText(run)),
      ...sections.flatMap(({ title, lines }) => [
        heading(title),
        stacked(
          lines.map((text) => paragraph(text)),
          tight,
        ),
      ]),
      sideBySide([
        stacked([heading('Limits'), barRows(limitBars(run))]),
        stacked([heading('Time'), barRows(timeBars(run))]),
      ]),
      heading(whyTitle),
      code(run.why),
    ],
  }
}
