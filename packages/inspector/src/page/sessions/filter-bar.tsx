import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import { counted } from '@halting/analysis/words'
import type { SessionRow } from '@halting/analysis/view'
import { wordCounts } from './distribution.ts'
import {
  flagDimensions,
  hasFlag,
  noFilter,
  rowsShown,
  withFlag,
  withRange,
  withWord,
  wordDimensions,
  wordsOf,
  type FlagDimension,
  type SessionFilter,
  type WordDimension,
} from './filter.ts'
import { filterChips, wordLabel } from './filter-text.ts'
import { RangeFields } from './range-fields.tsx'

interface FilterBarProps {
  readonly rows: readonly SessionRow[]
  readonly outlierKeys: ReadonlySet<string>
  readonly filter: SessionFilter
  readonly onFilter: (filter: SessionFilter) => void
}

const titles: { readonly [dimension in WordDimension]: string } = {
  ending: 'Ending',
  standing: 'State',
  model: 'Model',
  folder: 'Folder',
  program: 'Program',
}

const flagTitles: { readonly [flag in FlagDimension]: string } = {
  live: 'running',
  problem: 'with a problem or an unknown price',
  outlier: 'outliers',
}

/** The active filters, and controls to change them. */
export function FilterBar({ rows, outlierKeys, filter, onFilter }: FilterBarProps): JSX.Element {
  const chips = filterChips(filter)
  const flagCounts = useMemo(() => countsOfFlags(rows, outlierKeys), [rows, outlierKeys])
  return (
    <div class="filter-bar" role="search" aria-label="Filter the sessions">
      <div class="filter-row">
        <label class="filter-text">
          <span class="hidden-text">Title, folder or id contains</span>
          <input
            type="search"
            id="session-search"
            placeholder="Title, folder or id"
            value={filter.text}
            onInput={({ currentTarget }) => onFilter({ ...filter, text: currentTarget.value })}
          />
        </label>
        {wordDimensions.map((dimension) => (
          <FacetFilter key={dimension} {...{ rows, outlierKeys, filter, onFilter, dimension }} />
        ))}
        <RangeFields filter={filter} onFilter={onFilter} />
        <SinceChoice filter={filter} onFilter={onFilter} />
        <fieldset class="flags">
          <legend class="hidden-text">Show only sessions that are</legend>
          {flagDimensions.map((flag) => (
            <label key={flag}>
              <input
                type="checkbox"
                checked={filter.flags.includes(flag)}
                onChange={({ currentTarget }) => onFilter(withFlag(filter, flag, currentTarget.checked))}
              />
              {flagTitles[flag]} <span class="soft numbers">{counted(flagCounts[flag])}</span>
            </label>
          ))}
        </fieldset>
      </div>
      {chips.length === 0 ? null : (
        <ul class="chips" aria-label="Active filters">
          {chips.map(({ text, without }) => (
            <li key={text}>
              <button type="button" aria-label={`Remove filter: ${text}`} onClick={() => onFilter(without)}>
                {text} <span aria-hidden="true">×</span>
              </button>
            </li>
          ))}
          <li>
            <button type="button" onClick={() => onFilter(noFilter)}>
              All sessions
            </button>
          </li>
        </ul>
      )}
    </div>
  )
}

/** The number of all sessions with each flag. */
function countsOfFlags(
  rows: readonly SessionRow[],
  outlierKeys: ReadonlySet<string>,
): { readonly [flag in FlagDimension]: number } {
  const count = (flag: FlagDimension): number =>
    rows.reduce((sum, row) => sum + (hasFlag(row, flag, outlierKeys) ? 1 : 0), 0)
  return { live: count('live'), problem: count('problem'), outlier: count('outlier') }
}

/** There may be hundreds of folders; the text search finds the others. */
const maxWords = 40

function FacetFilter(props: FilterBarProps & { readonly dimension: WordDimension }): JSX.Element {
  const { rows, outlierKeys, filter, onFilter, dimension } = props
  const chosen = filter.words[dimension] ?? []
  const counts = useMemo(() => {
    const otherRows = rowsShown(rows, filter, outlierKeys, dimension)
    return wordCounts(otherRows.map((row) => wordsOf(row, dimension)))
  }, [rows, filter, outlierKeys])
  const listed = counts.slice(0, maxWords)
  const missing = chosen.filter((word) => listed.every((each) => each.word !== word))
  const all = [...missing.map((word) => ({ word, count: 0 })), ...listed]
  return (
    <details class="choice" data-dimension={dimension}>
      <summary>
        {titles[dimension]}
        {chosen.length === 0 ? '' : ` (${chosen.length})`}
      </summary>
      <ul>
        {all.map(({ word, count }) => (
          <li key={word}>
            <label>
              <input
                type="checkbox"
                checked={chosen.includes(word)}
                onChange={() => onFilter(withWord(filter, dimension, word))}
              />
              {wordLabel(dimension, word)} <span class="soft numbers">{counted(count)}</span>
            </label>
          </li>
        ))}
        {counts.length > listed.length ? (
          <li class="soft">and {counted(counts.length - listed.length)} more: search for them</li>
        ) : null}
      </ul>
    </details>
  )
}

const hour = 3_600_000
const spans: readonly (readonly [string, number])[] = [
  ['the last hour', hour],
  ['the last day', 24 * hour],
  ['the last 7 days', 7 * 24 * hour],
  ['the last 30 days', 30 * 24 * hour],
]

/** Selects a recent period; any other period can be entered among the ranges. */
function SinceChoice(props: Pick<FilterBarProps, 'filter' | 'onFilter'>): JSX.Element {
  const { filter, onFilter } = props
  const isSet = filter.ranges.changedAt !== undefined
  const choose = (span: string): void => {
    const found = spans.find(([name]) => name === span)
    if (span === '') onFilter(withRange(filter, 'changedAt', undefined))
    else if (found !== undefined) onFilter(withRange(filter, 'changedAt', { from: roundMinute(Date.now() - found[1]) }))
  }
  return (
    <label>
      <span class="hidden-text">Changed</span>
      <select value={isSet ? 'set' : ''} onChange={({ currentTarget }) => choose(currentTarget.value)}>
        <option value="">Changed at any time</option>
        {isSet ? <option value="set">Changed: custom period</option> : null}
        {spans.map(([name]) => (
          <option key={name} value={name}>
            Changed in {name}
          </option>
        ))}
      </select>
    </label>
  )
}

function roundMinute(at: number): number {
  return Math.floor(at / 60_000) * 60_000
}
