import {
  flagDimensions,
  rangeDimensions,
  withFlag,
  withRange,
  withWords,
  wordDimensions,
  type Range,
  type SessionFilter,
} from './filter.ts'
import { columnNames, usualSorting, type Sorting } from './sorting.ts'

/** The state of the list that is stored in the address: filter and sorting. */
export interface ListState {
  readonly filter: SessionFilter
  readonly sorting: Sorting
}

/** The query of an address; '' for all sessions in the default order. */
export function queryOf({ filter, sorting }: ListState): string {
  const query = new URLSearchParams()
  if (filter.text.trim() !== '') query.set('text', filter.text)
  for (const dimension of wordDimensions) {
    for (const word of filter.words[dimension] ?? []) query.append(dimension, word)
  }
  for (const dimension of rangeDimensions) {
    const range = filter.ranges[dimension]
    if (range !== undefined) query.set(dimension, `${range.from ?? ''}..${range.below ?? ''}`)
  }
  if (filter.flags.length > 0) query.set('only', filter.flags.join(','))
  if (sorting.by !== usualSorting.by || sorting.isDown !== usualSorting.isDown) {
    query.set('sort', `${sorting.by}${sorting.isDown ? ',down' : ''}`)
  }
  return query.toString()
}

/** Parses a query. Unknown values are ignored, because an address may come from an earlier version. */
export function listStateOf(query: string): ListState {
  const parameters = new URLSearchParams(query)
  let filter: SessionFilter = { text: parameters.get('text') ?? '', words: {}, ranges: {}, flags: [] }
  for (const dimension of wordDimensions) {
    filter = withWords(filter, dimension, [...new Set(parameters.getAll(dimension))])
  }
  for (const dimension of rangeDimensions) filter = withRange(filter, dimension, rangeOf(parameters.get(dimension)))
  const only = (parameters.get('only') ?? '').split(',')
  for (const flag of flagDimensions) filter = withFlag(filter, flag, only.includes(flag))
  return { filter, sorting: sortingOf(parameters.get('sort')) }
}

function rangeOf(text: string | null): Range | undefined {
  const [, from = '', below = ''] = /^(.*?)\.\.(.*)$/.exec(text ?? '') ?? []
  const range = { from: numberOf(from), below: numberOf(below) }
  if (range.from === undefined && range.below === undefined) return undefined
  return {
    ...(range.from === undefined ? {} : { from: range.from }),
    ...(range.below === undefined ? {} : { below: range.below }),
  }
}

function numberOf(text: string): number | undefined {
  const value = text.trim() === '' ? Number.NaN : Number(text)
  return Number.isFinite(value) ? value : undefined
}

function sortingOf(text: string | null): Sorting {
  const [name, direction] = (text ?? '').split(',')
  const by = columnNames.find((each) => each === name)
  return by === undefined ? usualSorting : { by, isDown: direction === 'down' }
}
