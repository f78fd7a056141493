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

function numberIn(query: URLSearchParams, name: string): number {
  const given = query.get(name) ?? ''
  if (/^\d{1,15}$/.test(given)) return Number(given)
  throw new BadQuestion(`${name} takes a whole number, 0 or more.`)
}
