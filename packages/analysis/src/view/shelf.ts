import type { InspectedSession } from './inspected-session.ts'
import type { SessionRow } from './types.ts'

/** A session that stands somewhere, before it is read. */
export interface Entry extends Pick<SessionRow, 'key' | 'sessionId' | 'path' | 'changedAt' | 'isLive'> {
  /** Another one when there is something new to read. */
  readonly signature: string
}

/** What a long session begins with, and what is known of all of it. */
export interface Beginning {
  /** The beginning, as a session. */
  readonly session: InspectedSession
  /** Of the whole session. Not what it cost: an end tells that without what was charged at worst case, which the page counts. */
  readonly sums: Pick<SessionRow, 'runs' | 'turns' | 'ending' | 'exitCode'>
}

/** Where sessions stand: in files, or in a cluster. */
export interface Shelf<Found extends Entry = Entry> {
  /** Title of the page. */
  readonly title: string
  /** Which sessions there are at this moment. It reads none of them. */
  look(): Promise<readonly Found[]>
  /** The same of one; undefined where it is gone. */
  lookAt(found: Found): Promise<Found | undefined>
  /** Its figures alone, for a list of many. @throws HaltingError for one that cannot be read. */
  rowOf(found: Found): Promise<SessionRow>
  /** Called when rows were asked for, and no more are for now. */
  rowsAreRead?(): void
  /** All of it. @throws HaltingError for one that cannot be read. */
  read(found: Found): Promise<InspectedSession>
  /** What a long session begins with, where that takes much less than to read all of it; undefined where it does not, and for one that cannot be read. */
  readBeginning?(found: Found): Promise<Beginning | undefined>
  /** How many sessions there are that a look does not have, because nobody has asked for them. None where it is absent. */
  readonly remaining?: number
  /** One that a look does not have; undefined where there is none of this key. */
  find?(key: string): Promise<Found | undefined>
  /** From now on a look has more of these. */
  more?(): Promise<void>
  /** So long nothing is looked at after a look. */
  readonly pauseMs: number
}
