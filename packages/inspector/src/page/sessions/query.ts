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

/** What the address of the list says: which sessions, in which order. */
export interface ListState {
  readonly filter: SessionFilter
  readonly sorting: Sorting
}

/** The query of an address; '' for all sessions in the usual order. */
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

/** What a query asks for. What it says and nobody knows is left out: an address may be an old one. */
export function listStateOf(query: string): ListState {
  const asked = new URLSearchParams(query)
  let filter: SessionFilter = { text: asked.get('text') ?? '', words: {}, ranges: {}, flags: [] }
  for (const dimension of wordDimensions) {
    filter = withWords(filter, dimension, [...new Set(asked.getAll(dimension))])
  }
  for (const dimension of rangeDimensions) filter = withRange(filter, dimension, rangeOf(asked.get(dimension)))
  const only = (asked.get('only') ?? '').split(',')
  for (const flag of flagDimensions) filter = withFlag(filter, flag, only.includes(flag))
  return { filter, sorting: sortingOf(asked.get('sort')) }
}

function rangeOf(text: string | null): Range | undefined {
  const [, from = '', below = ''] = /^(.*?)\.\.(.*)$/.exec(text ?? '') ?? []
  const given = { from: numberOf(from), below: numberOf(below) }
  if (given.from === undefined && given.below === undefined) return undefined
  return {
    ...(given.from === undefined ? {} : { from: given.from }),
    ...(given.below === undefined ? {} : { below: given.below }),
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
