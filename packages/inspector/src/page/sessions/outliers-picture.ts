import { counted, many } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { paragraph } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'
import { titleOf } from './columns.tsx'
import type { Outlier } from './outliers.ts'

/** As many as a person reads one after another. */
const mostTold = 100

/** Sessions that somebody should look at, with why. */
export function pictureOfOutliers(
  found: readonly SessionRow[],
  outliers: ReadonlyMap<string, readonly Outlier[]>,
  about: readonly string[],
): Picture {
  const left = found.length - mostTold
  return {
    title: many(found.length, 'outlier'),
    about,
    width: 960,
    blocks: [
      ...found.slice(0, mostTold).map((row) => {
        const why = (outliers.get(row.key) ?? []).map((each) => each.why).join(' ')
        return paragraph(`${titleOf(row)}: ${why}`, { size: 13, mostLines: 5 })
      }),
      ...(left <= 0 ? [] : [paragraph(`${counted(left)} more are not in this picture.`)]),
    ],
  }
}
