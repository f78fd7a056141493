import { foldSession, runsOf, type StepRecord } from '@halting/core/steps'
import type { Spent } from '@halting/core/adapters'
import { maxInlineBytes } from '../engine/batch.ts'
import type { Opening } from './messages.ts'
import { noSpending, sessionSpending } from './spending.ts'
import type { ObjectState } from './conversation.ts'

/** A part of what a session begins with that is a copy of another one. */
export interface ForkPage {
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
export interface AdoptionState {
  readonly from: string
  readonly pages: number
  /** What the other session has paid. */
  readonly spent?: Spent
}

/** The conversation in parts that the engine takes; one that is empty where nothing was said. */
export function forkPages(
  from: string,
  opening: Opening,
  conversation: readonly StepRecord[],
  atMs: number,
): readonly ForkPage[] {
  const pages: StepRecord[][] = [[]]
  let bytes = 0
  for (const record of conversation) {
    const size = Buffer.byteLength(JSON.stringify(record))
    if (bytes > 0 && bytes + size > maxInlineBytes) {
      pages.push([])
      bytes = 0
    }
    bytes += size
    pages.at(-1)?.push(record)
  }
  const spent = sessionSpending(foldSession(runsOf(conversation)))
  const common = { from, opening: { ...opening, forkedFrom: from }, spent, atMs }
  return pages.map((records, number) => ({ ...common, number, records }))
}

export const adoptionKey = 'adopted'

/** What another session has paid of this one, which is a copy of that. */
export async function readInheritedSpending(state: Pick<ObjectState, 'get'>): Promise<Spent> {
  return (await state.get<AdoptionState>(adoptionKey))?.spent ?? noSpending
}

/** What becomes of a page: it is taken, was taken, or the session is another one. */
export function pageVerdict(
  adoption: AdoptionState | null,
  page: ForkPage,
  hasBegun: boolean,
): 'new' | 'again' | 'refused' {
  if (adoption === null) return hasBegun || page.number > 0 ? 'refused' : 'new'
  if (adoption.from !== page.from || page.number > adoption.pages) return 'refused'
  return page.number === adoption.pages && !hasBegun ? 'new' : 'again'
}
