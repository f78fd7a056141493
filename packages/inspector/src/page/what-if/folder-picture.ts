import type { Calibration, SuggestedLimit } from '@halting/analysis'
import { calibrationTexts, calibrationTitle, counted, visible } from '@halting/analysis/words'
import { heading, paragraph } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { plotBlock } from '../plots/plot-picture.ts'
import type { Plot, Seen } from '../plots/plot.ts'
import type { StoppedRun } from './folder.ts'
import { nothingSuggested, runName, stoppedText, suggestedText } from './folder-words.ts'

/** The view over all sessions as it is shown. */
export interface PicturedFolder {
  /** What was read. */
  readonly read: string
  readonly runs: number
  readonly suggested: readonly SuggestedLimit[]
  /** The limits that are calibrated on solved runs; null until they are. */
  readonly calibration: Calibration | null
  readonly plot: Plot
  readonly seen: Seen
  readonly hidden: ReadonlySet<string>
  /** The runs that the chosen value stops; null where none was chosen. */
  readonly chosen: { readonly title: string; readonly stopped: readonly StoppedRun[] } | null
}

/** As many as are read one after another. */
const mostTold = 60

/** Savings against losses over all sessions, the limits that lose nothing, and the runs that the chosen one stops. */
export function pictureOfFolder(shown: PicturedFolder): Picture {
  const { read, runs, suggested, calibration, plot, seen, hidden, chosen } = shown
  const left = (chosen?.stopped.length ?? 0) - mostTold
  return {
    title: 'What other limits would have done',
    about: [read],
    width: 960,
    blocks: [
      ...(calibration === null
        ? []
        : [
            heading(calibrationTitle(calibration)),
            ...calibrationTexts(calibration).map((text) => paragraph(visible(text), { mostLines: 8 })),
          ]),
      heading('Limits that lose nothing'),
      ...(suggested.length === 0
        ? [paragraph(nothingSuggested(runs))]
        : suggested.map((each) => {
            const { limit, does } = suggestedText(each)
            return paragraph(`${limit}: ${does}.`)
          })),
      heading(plot.name),
      paragraph(plot.about, { color: 'soft', size: 13 }),
      plotBlock(plot, seen, hidden),
      ...(chosen === null
        ? []
        : [
            heading(chosen.title),
            ...chosen.stopped
              .slice(0, mostTold)
              .map((each) => paragraph(`${runName(each.run)} · ${stoppedText(each)}`, { size: 13, mostLines: 6 })),
            ...(left <= 0 ? [] : [paragraph(`${counted(left)} more runs are not in this picture.`)]),
          ]),
    ],
  }
}
