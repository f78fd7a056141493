import type { RunView } from '@halting/analysis/view'
import { bars } from '../picture/bars.ts'
import { below, beside, code, heading, paragraph, tight } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import {
  goalLines,
  gradeLines,
  headline,
  lastChangeLines,
  limitBars,
  timeBars,
  totalsText,
  whyTitle,
} from './ending-figures.ts'

/** Why a run ended and where everything went, as the page shows it. */
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
        below(
          lines.map((text) => paragraph(text)),
          tight,
        ),
      ]),
      beside([below([heading('Limits'), bars(limitBars(run))]), below([heading('Time'), bars(timeBars(run))])]),
      heading(whyTitle),
      code(run.why),
    ],
  }
}
