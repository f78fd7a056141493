import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { counted, many } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { endingColor, type ColorName } from '../common/colors.ts'
import { PictureButtons } from '../picture/picture-buttons.tsx'
import { useRoving } from '../common/roving-focus.ts'
import { histogramOf, wordCounts, type Bin, type Histogram } from './distribution.ts'
import { pictureOfHistogram, pictureOfWords, type DistributionSubject } from './distribution-picture.ts'
import { edgeText, rangeText } from './figure-text.ts'
import {
  rowsShown,
  withRange,
  withWord,
  withWords,
  wordsOf,
  type RangeDimension,
  type SessionFilter,
  type WordDimension,
} from './filter.ts'
import { wordLabel } from './filter-text.ts'
import { endingOf, isOnlyCopy, type FigureName } from './row-kinds.ts'
import { filterText } from './sessions-picture.ts'

interface DistributionsProps {
  readonly rows: readonly SessionRow[]
  readonly outlierKeys: ReadonlySet<string>
  readonly filter: SessionFilter
  readonly onFilter: (filter: SessionFilter) => void
}

const drawnFigures: readonly (readonly [FigureName, string])[] = [
  ['costUsd', 'Dollars'],
  ['turns', 'Turns'],
  ['tokens', 'Tokens'],
  ['activeMs', 'Time'],
]

const drawnWords: readonly (readonly [WordDimension, string])[] = [
  ['ending', 'Endings'],
  ['model', 'Models'],
]

/** Distributions of figures, endings and models. A click on a bar filters for its sessions; a second click removes the filter. */
export function Distributions({ rows, ...rest }: DistributionsProps): JSX.Element {
  const counted = useMemo(() => rows.filter((row) => row.problem === undefined && !isOnlyCopy(row)), [rows])
  const props = { ...rest, rows: counted }
  return (
    <section class="distributions" aria-label="Distributions">
      {drawnFigures.map(([figure, title]) => (
        <FigureBars key={figure} {...props} figure={figure} title={title} />
      ))}
      {drawnWords.map(([dimension, title]) => (
        <WordBars key={dimension} {...props} dimension={dimension} title={title} />
      ))}
    </section>
  )
}

/** Rows that pass all other filters, from which this distribution selects. */
function useOthers(props: DistributionsProps, left: RangeDimension | WordDimension): readonly SessionRow[] {
  const { rows, filter, outlierKeys } = props
  return useMemo(() => rowsShown(rows, filter, outlierKeys, left), [rows, filter, outlierKeys, left])
}

function FigureBars(props: DistributionsProps & { readonly figure: FigureName; readonly title: string }): JSX.Element {
  const { filter, onFilter, figure, title } = props
  const otherRows = useOthers(props, figure)
  const rows = useMemo(() => otherRows.filter((row) => isKnownOf(row, figure)), [otherRows, figure])
  const histogram = useMemo(
    (): Histogram =>
      histogramOf(
        rows.map((row) => row[figure]),
        figure,
      ),
    [rows, figure],
  )
  const { bins, scale } = histogram
  const { group, onKeyDown, tabIndexOf, onFocus } = useRoving(bins.length)
  const highest = Math.max(1, ...bins.map(({ count }) => count))
  const chosen = filter.ranges[figure]
  const isChosen = (bin: Bin): boolean => chosen !== undefined && bin.from === chosen.from && bin.below === chosen.below
  const choose = (bin: Bin): void => {
    const { count: _, ...range } = bin
    onFilter(withRange(filter, figure, isChosen(bin) ? undefined : range))
  }
  return (
    <figure class="distribution" data-figure={figure}>
      <figcaption>
        {title}
        <span class="soft">{bins.length === 0 ? ': no session' : `, ${scale} scale`}</span>
      </figcaption>
      <div ref={group} class="columns" role="group" aria-label={`${title} of sessions`} onKeyDown={onKeyDown}>
        {bins.map((bin, index) => {
          const text = `${rangeText(figure, bin)}: ${many(bin.count, 'session')}`
          return (
            <button
              key={`${bin.from ?? ''}-${bin.below ?? ''}`}
              type="button"
              data-roving
              data-count={bin.count}
              class="column"
              title={text}
              aria-label={text}
              aria-pressed={isChosen(bin)}
              tabIndex={tabIndexOf(index)}
              onFocus={() => onFocus(index)}
              onClick={() => choose(bin)}
            >
              <span style={{ height: `${(100 * bin.count) / highest}%` }} />
            </button>
          )
        })}
      </div>
      {bins.length === 0 ? null : (
        <div class="axis soft numbers" aria-hidden="true">
          <span>{edgeText(figure, bins[0]?.from ?? 0)}</span>
          <span>{edgeText(figure, bins.at(-1)?.below ?? 0)}</span>
        </div>
      )}
      {bins.length === 0 ? null : (
        <div class="pictures">
          <PictureButtons
            name={`${title} of sessions`}
            pictureOf={() =>
              pictureOfHistogram(subjectOf(title, rows, withRange(filter, figure, undefined)), figure, histogram)
            }
          />
        </div>
      )}
    </figure>
  )
}

/** The cost of a session without a price is unknown, and not zero. */
function isKnownOf({ costUsd, unpriced }: SessionRow, figure: FigureName): boolean {
  return figure !== 'costUsd' || costUsd > 0 || unpriced.length === 0
}

/** The subject of a picture. */
function subjectOf(title: string, rows: readonly SessionRow[], others: SessionFilter): DistributionSubject {
  return { title, sessions: rows.length, about: [filterText(others, '')] }
}

const maxBars = 12

function WordBars(
  props: DistributionsProps & { readonly dimension: WordDimension; readonly title: string },
): JSX.Element {
  const { filter, onFilter, dimension, title } = props
  const rows = useOthers(props, dimension)
  const counts = useMemo(() => wordCounts(rows.map((row) => wordsOf(row, dimension))), [rows, dimension])
  const codes = useMemo(() => new Map(rows.map((row) => [endingOf(row), row.exitCode])), [rows])
  const shownCounts = counts.slice(0, maxBars)
  const { group, onKeyDown, tabIndexOf, onFocus } = useRoving(shownCounts.length)
  const highest = Math.max(1, ...counts.map(({ count }) => count))
  const chosen = filter.words[dimension] ?? []
  const colorOfWord = (word: string): ColorName =>
    dimension === 'ending' ? endingColor(codes.get(word) ?? null) : 'series-1'
  return (
    <figure class="distribution" data-figure={dimension}>
      <figcaption>
        {title}
        <span class="soft">{counts.length === 0 ? ': no session' : ''}</span>
      </figcaption>
      <div ref={group} class="bars" role="group" aria-label={`${title} of sessions`} onKeyDown={onKeyDown}>
        {shownCounts.map(({ word, count }, index) => {
          const color = colorOfWord(word)
          return (
            <button
              key={word}
              type="button"
              data-roving
              data-count={count}
              class="bar"
              aria-label={`${wordLabel(dimension, word)}: ${many(count, 'session')}`}
              aria-pressed={chosen.includes(word)}
              tabIndex={tabIndexOf(index)}
              onFocus={() => onFocus(index)}
              onClick={() => onFilter(withWord(filter, dimension, word))}
            >
              <span class="bar-name">{wordLabel(dimension, word)}</span>
              <span class="bar-track">
                <span style={{ width: `${(100 * count) / highest}%`, background: `var(--${color})` }} />
              </span>
              <span class="numbers">{counted(count)}</span>
            </button>
          )
        })}
        {counts.length > shownCounts.length ? (
          <span class="soft">and {many(counts.length - shownCounts.length, 'other')}</span>
        ) : null}
      </div>
      {shownCounts.length === 0 ? null : (
        <div class="pictures">
          <PictureButtons
            name={`${title} of sessions`}
            pictureOf={() =>
              pictureOfWords(
                subjectOf(title, rows, withWords(filter, dimension, [])),
                counts.map(({ word, count }) => ({
                  word: wordLabel(dimension, word),
                  count,
                  color: colorOfWord(word),
                })),
              )
            }
          />
        </div>
      )}
    </figure>
  )
}
