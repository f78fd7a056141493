import type { RunView } from '@halting/analysis/view'
import { bars } from '../picture/bars.ts'
import { below, beside, code, heading, paragraph, tight } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { goalLines, headline, limitBars, timeBars, totalsText, whyTitle } from './ending-figures.ts'

/** Why a run ended and where everything went, as the page shows it. */
export function pictureOfEnding(run: RunView): Picture {
  const goals = goalLines(run)
  return {
    title: headline(run),
    about: [],
    width: 960,
    blocks: [
      paragraph(totalsText(run)),
      ...(goals.length === 0
        ? []
        : [
            heading('Goal'),
            below(
              goals.map((text) => paragraph(text)),
              tight,
            ),
          ]),
      beside([below([heading('Limits'), bars(limitBars(run))]), below([heading('Time'), bars(timeBars(run))])]),
      heading(whyTitle),
      code(run.why),
    ],
  }
}
