import { figureKinds, type FigureKind } from './figures.ts'

/** An invalid request; the message says what is valid. */
export class BadRequest extends Error {
  override readonly name = 'BadQuestion'
}

/** Maximum number of records or parts per request. */
export const maxPerRequest = 1_000

/**
 * The key of the session.
 * @throws BadRequest if it is missing.
 */
export function keyIn(query: URLSearchParams): string {
  const key = query.get('key') ?? ''
  if (key === '') throw new BadRequest('Name the session: key=KEY, as in api/sessions.')
  return key
}

/**
 * The requested piece of a run.
 * @throws BadRequest for invalid numbers, and for too many at once.
 */
export function pieceIn(query: URLSearchParams): {
  readonly run: number
  readonly from: number
  readonly count: number
} {
  const count = numberIn(query, 'count')
  if (count < 1 || count > maxPerRequest)
    throw new BadRequest(`count takes a whole number from 1 to ${maxPerRequest}. Ask for more in pieces.`)
  return { run: numberIn(query, 'run'), from: numberIn(query, 'from'), count }
}

/**
 * The requested kind of figures, and the run if it is only one.
 * @throws BadRequest for an unknown kind.
 */
export function figuresIn(query: URLSearchParams): { readonly kind: FigureKind; readonly run?: number } {
  const name = query.get('of')
  const kind = figureKinds.find((each) => each === name)
  if (kind === undefined) throw new BadRequest(`of takes one of ${figureKinds.join(', ')}.`)
  return { kind, ...(query.has('run') && { run: numberIn(query, 'run') }) }
}

/** Whether the beginning of a long session is enough. */
export function sizeIn(query: URLSearchParams): 'beginning' | 'whole' {
  return query.has('beginning') ? 'beginning' : 'whole'
}

function numberIn(query: URLSearchParams, name: string): number {
  const value = query.get(name) ?? ''
  if (/^\d{1,15}$/.test(value)) return Number(value)
  throw new BadRequest(`${name} takes a whole number, 0 or more.`)
}
