import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { counted, many } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { sessionAddress, titleOf } from './columns.tsx'
import { withFlag, type SessionFilter } from './filter.ts'
import { contentSearch } from './list-state.ts'
import { outlierRules, type Outlier } from './outliers.ts'
import { filterText } from './sessions-picture.ts'
import { paragraph } from '../picture/block.ts'
import type { Picture } from '../picture/picture.ts'

interface OutlierListProps {
  readonly rows: readonly SessionRow[]
  readonly outliers: ReadonlyMap<string, readonly Outlier[]>
  readonly filter: SessionFilter
  readonly onFilter: (filter: SessionFilter) => void
}

const maxListed = 10

/** A list of outliers, with reasons. */
export function OutlierList({ rows, outliers, filter, onFilter }: OutlierListProps): JSX.Element {
  // The most expensive first, because these matter most.
  const found = useMemo(
    () => rows.filter(({ key }) => outliers.has(key)).toSorted((a, b) => b.costUsd - a.costUsd),
    [rows, outliers],
  )
  return (
    <section class="outliers" aria-labelledby="outliers-title">
      <h2 id="outliers-title">{found.length === 0 ? 'No outliers' : many(found.length, 'outlier')}</h2>
      {found.length === 0 ? null : (
        <PictureButtons
          name="outliers"
          pictureOf={() => pictureOfOutliers(found, outliers, [filterText(filter, contentSearch.value?.text ?? '')])}
        />
      )}
      <ul>
        {found.slice(0, maxListed).map((row) => (
          <li key={row.key}>
            <a href={sessionAddress(row)}>{titleOf(row)}</a>:{' '}
            {(outliers.get(row.key) ?? []).map(({ why }) => (
              <span key={why}>{why} </span>
            ))}
          </li>
        ))}
      </ul>
      {found.length <= maxListed ? null : (
        <p>
          <button type="button" onClick={() => onFilter(withFlag(filter, 'outlier', true))}>
            All {counted(found.length)} in the table
          </button>
        </p>
      )}
      <details>
        <summary>What makes a session an outlier</summary>
        <ul>
          {Object.entries(outlierRules).map(([rule, text]) => (
            <li key={rule}>{text}</li>
          ))}
        </ul>
      </details>
    </section>
  )
}

/** The maximum number of outliers in a picture. */
const maxPictured = 100

/** A picture of the outliers, with reasons. */
function pictureOfOutliers(
  found: readonly SessionRow[],
  outliers: ReadonlyMap<string, readonly Outlier[]>,
  about: readonly string[],
): Picture {
  const left = found.length - maxPictured
  return {
    title: many(found.length, 'outlier'),
    about,
    width: 960,
    blocks: [
      ...found.slice(0, maxPictured).map((row) => {
        const why = (outliers.get(row.key) ?? []).map((each) => each.why).join(' ')
        return paragraph(`${titleOf(row)}: ${why}`, { size: 13, maxLines: 5 })
      }),
      ...(left <= 0 ? [] : [paragraph(`${counted(left)} more are not in this picture.`)]),
    ],
  }
}
