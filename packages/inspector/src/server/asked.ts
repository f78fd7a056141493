import { figureKinds, type FigureKind } from './figures.ts'

/** A question that cannot be answered as it was asked; its message says how it can. */
export class BadQuestion extends Error {
  override readonly name = 'BadQuestion'
}

/** Records and parts come in pieces of at most so many. */
export const mostAtOnce = 1_000

/** Which session. @throws BadQuestion for none. */
export function keyIn(query: URLSearchParams): string {
  const key = query.get('key') ?? ''
  if (key === '') throw new BadQuestion('Name the session: key=KEY, as in api/sessions.')
  return key
}

/** Which piece of a run. @throws BadQuestion for numbers that are none, and for more than is told at once. */
export function pieceIn(query: URLSearchParams): {
  readonly run: number
  readonly from: number
  readonly count: number
} {
  const count = numberIn(query, 'count')
  if (count < 1 || count > mostAtOnce)
    throw new BadQuestion(`count takes a whole number from 1 to ${mostAtOnce}. Ask for more in pieces.`)
  return { run: numberIn(query, 'run'), from: numberIn(query, 'from'), count }
}

/** Which figures: of one run, or of all. @throws BadQuestion for others. */
export function figuresIn(query: URLSearchParams): { readonly kind: FigureKind; readonly run?: number } {
  const given = query.get('of')
  const kind = figureKinds.find((each) => each === given)
  if (kind === undefined) throw new BadQuestion(`of takes one of ${figureKinds.join(', ')}.`)
  return { kind, ...(query.has('run') && { run: numberIn(query, 'run') }) }
}

/** Whether the beginning of a long session will do. */
export function sizeIn(query: URLSearchParams): 'beginning' | 'whole' {
  return query.has('beginning') ? 'beginning' : 'whole'
}

function numberIn(query: URLSearchParams, name: string): number {
  const given = query.get(name) ?? ''
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new BadQuestion(`${name} takes a whole number, 0 or more.`)
}
