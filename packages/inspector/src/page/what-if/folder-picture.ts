import type { Calibration, SuggestedLimit } from '@halting/analysis'
import { calibrationTexts, calibrationTitle, counted, visible } from '@halting/analysis/words'
import { heading, paragraph } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { plotBlock } from '../plots/plot-picture.ts'
import type { Plot, VisibleRange } from '../plots/plot.ts'
import type { StoppedRun } from './folder.ts'
import { nothingSuggested, runName, stoppedText, suggestedText } from './folder-words.ts'

/** The what-if view over all sessions, as shown. */
export interface PicturedFolder {
  /** What was read, in words. */
  readonly read: string
  readonly runs: number
  readonly suggested: readonly SuggestedLimit[]
  /** Limits calibrated on solved runs; null until computed. */
  readonly calibration: Calibration | null
  readonly plot: Plot
  readonly seen: VisibleRange
  readonly hidden: ReadonlySet<string>
  /** The runs that the selected value stops; null when none is selected. */
  readonly chosen: { readonly title: string; readonly stopped: readonly StoppedRun[] } | null
}

/** The maximum number of runs in a picture. */
const maxPictured = 60

/** A picture of savings and losses over all sessions, the limits without losses, and the runs that the selected value stops. */
export function pictureOfFolder(shown: PicturedFolder): Picture {
  const { read, runs, suggested, calibration, plot, seen, hidden, chosen } = shown
  const left = (chosen?.stopped.length ?? 0) - maxPictured
  return {
    title: 'What other limits would have done',
    about: [read],
    width: 960,
    blocks: [
      ...(calibration === null
        ? []
        : [
            heading(calibrationTitle(calibration)),
            ...calibrationTexts(calibration).map((text) => paragraph(visible(text), { maxLines: 8 })),
          ]),
      heading('Limits that lose nothing'),
      ...(suggested.length === 0
        ? [paragraph(nothingSuggested(runs))]
        : suggested.map((each) => {
            const { limit, effect } = suggestedText(each)
            return paragraph(`${limit}: ${effect}.`)
          })),
      heading(plot.name),
      paragraph(plot.about, { color: 'soft', size: 13 }),
      plotBlock(plot, seen, hidden),
      ...(chosen === null
        ? []
        : [
            heading(chosen.title),
            ...chosen.stopped
              .slice(0, maxPictured)
              .map((each) => paragraph(`${runName(each.run)} · ${stoppedText(each)}`, { size: 13, maxLines: 6 })),
            ...(left <= 0 ? [] : [paragraph(`${counted(left)} more runs are not in this picture.`)]),
          ]),
    ],
  }
}
