import type { InspectedSession } from './inspected-session.ts'
import type { SessionRow } from './types.ts'

/** A session of a catalog, before it is read. */
export interface Entry extends Pick<SessionRow, 'key' | 'sessionId' | 'path' | 'changedAt' | 'isLive'> {
  /** Changes when there is something new to read. */
  readonly signature: string
}

/** The beginning of a long session, and sums over all of it. */
export interface Beginning {
  /** The beginning, as a session. */
  readonly session: InspectedSession
  /** Sums of the whole session. Not the cost, because the recorded sum lacks what was charged at worst case. */
  readonly sums: Pick<SessionRow, 'runs' | 'turns' | 'ending' | 'exitCode'>
}

/** A collection of sessions: files, or those of a cluster. */
export interface SessionCatalog<Found extends Entry = Entry> {
  /** Title of the page. */
  readonly title: string
  /** Lists the current sessions without reading them. */
  list(): Promise<readonly Found[]>
  /** The current state of an entry; undefined when it was removed. */
  refreshed(found: Found): Promise<Found | undefined>
  /**
   * The row of a session in a list.
   * @throws HaltingError for one that cannot be read.
   */
  rowOf(found: Found): Promise<SessionRow>
  /** Called after a batch of rows was read. */
  rowsAreRead?(): void
  /**
   * Reads a session completely.
   * @throws HaltingError for one that cannot be read.
   */
  read(found: Found): Promise<InspectedSession>
  /**
   * Reads the beginning of a long session, if that is much faster than reading all of it. Undefined if it is not, and for a session that cannot be
   * read.
   */
  readBeginning?(found: Found): Promise<Beginning | undefined>
  /** Number of sessions that `list` does not include, because nobody has requested them. Absent for none. */
  readonly remaining?: number
  /** Finds a session that `list` does not include; undefined for an unknown key. */
  find?(key: string): Promise<Found | undefined>
  /** Makes `list` include some of the remaining sessions. */
  more?(): Promise<void>
  /** Minimum pause between scans, in milliseconds. */
  readonly pauseMs: number
}
