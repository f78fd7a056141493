import { foldSession, splitRuns, type StepRecord } from '@halting/core/steps'
import type { Spent } from '@halting/core/adapters'
import { maxInlineBytes } from '../engine/batch.ts'
import type { Opening } from './messages.ts'
import { noSpending, sessionSpending } from './spending.ts'
import type { ObjectState } from './conversation.ts'

/** One page of the conversation that a forked session begins with. */
export interface ForkPage {
  /** Id of the session that is copied. */
  readonly from: string
  readonly opening: Opening
  /** Page number, from 0. Pages arrive in order; a repeated page changes nothing. */
  readonly number: number
  readonly records: readonly StepRecord[]
  /** Their cost, which the original session has paid. */
  readonly spent: Spent
  /** When the fork was requested, in milliseconds since 1970. Absent from earlier versions. */
  readonly atMs?: number
}

/** Progress of a fork. It stays stored, because a session is a copy of one other session, once. */
export interface AdoptionState {
  readonly from: string
  readonly pages: number
  /** What the original session has paid. */
  readonly spent?: Spent
}

/** Splits the conversation into pages that the engine accepts; one empty page if there is no conversation. */
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
  const spent = sessionSpending(foldSession(splitRuns(conversation)))
  const common = { from, opening: { ...opening, forkedFrom: from }, spent, atMs }
  return pages.map((records, number) => ({ ...common, number, records }))
}

export const adoptionKey = 'adopted'

/** What the original session has paid of this forked one. */
export async function readInheritedSpending(state: Pick<ObjectState, 'get'>): Promise<Spent> {
  return (await state.get<AdoptionState>(adoptionKey))?.spent ?? noSpending
}

/** Whether a page is new, a repetition, or refused because the session is something else. */
export function pageVerdict(
  adoption: AdoptionState | null,
  page: ForkPage,
  hasBegun: boolean,
): 'new' | 'again' | 'refused' {
  if (adoption === null) return hasBegun || page.number > 0 ? 'refused' : 'new'
  if (adoption.from !== page.from || page.number > adoption.pages) return 'refused'
  return page.number === adoption.pages && !hasBegun ? 'new' : 'again'
}
