import { foldSession, runsOf, type StepRecord } from '@halting/core/steps'
import type { Spent } from '@halting/core/adapters'
import { mostInlineBytes } from '../engine/batch.ts'
import type { Opening } from './messages.ts'
import { nothingSpent, spentIn } from './spent.ts'
import type { State } from './conversation.ts'

/** A part of what a session begins with that is a copy of another one. */
export interface AdoptedPage {
  /** What is copied. */
  readonly from: string
  readonly opening: Opening
  /** From 0. They come in order; one that comes again changes nothing. */
  readonly number: number
  readonly records: readonly StepRecord[]
  /** What they have cost, which the session that they are of has paid. */
  readonly spent: Spent
  /** When the copy was asked for, in milliseconds since 1970; earlier versions do not say it. */
  readonly atMs?: number
}

/** How far the copy has come. Kept: a session is a copy of one other, once. */
export interface Adopted {
  readonly from: string
  readonly pages: number
  /** What the other session has paid. */
  readonly spent?: Spent
}

/** The conversation in parts that the engine takes; one that is empty where nothing was said. */
export function adoptedPages(
  from: string,
  opening: Opening,
  conversation: readonly StepRecord[],
  atMs: number,
): readonly AdoptedPage[] {
  const pages: StepRecord[][] = [[]]
  let bytes = 0
  for (const record of conversation) {
    const size = Buffer.byteLength(JSON.stringify(record))
    if (bytes > 0 && bytes + size > mostInlineBytes) {
      pages.push([])
      bytes = 0
    }
    bytes += size
    pages.at(-1)?.push(record)
  }
  const spent = spentIn(foldSession(runsOf(conversation)))
  const common = { from, opening: { ...opening, forkedFrom: from }, spent, atMs }
  return pages.map((records, number) => ({ ...common, number, records }))
}

export const adoptedKey = 'adopted'

/** What another session has paid of this one, which is a copy of that. */
export async function inheritedBy(state: Pick<State, 'get'>): Promise<Spent> {
  return (await state.get<Adopted>(adoptedKey))?.spent ?? nothingSpent
}

/** What becomes of a page: it is taken, was taken, or the session is another one. */
export function pageIn(adopted: Adopted | null, page: AdoptedPage, hasBegun: boolean): 'new' | 'again' | 'refused' {
  if (adopted === null) return hasBegun || page.number > 0 ? 'refused' : 'new'
  if (adopted.from !== page.from || page.number > adopted.pages) return 'refused'
  return page.number === adopted.pages && !hasBegun ? 'new' : 'again'
}
