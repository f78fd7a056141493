import type { SessionRow, SessionView, TranscriptPart } from './types.ts'

/** Provides the inspector with sessions: from files, a cluster, or an exported file. */
export interface SessionSource {
  /** One line on where the sessions are from: a folder or an address. */
  readonly title: string
  /** Yields a row for each session as it is read. A session that cannot be read has a `problem` in its row. */
  list(signal: AbortSignal): AsyncIterable<SessionRow>
  /** Number of sessions that `list` does not include yet; absent for none. */
  readonly remaining?: number
  /** Adds some of the remaining sessions to `list`. They are reported as changes. */
  more?(): Promise<void>
  /** The row of one session as `list` has it; undefined for an unknown key. */
  row(key: string): Promise<SessionRow | undefined>
  /**
   * Loads a session; undefined for an unknown key. `asked`: `beginning` returns the beginning of a long session that has not been read completely
   * yet; default `whole`.
   * @throws HaltingError for one that cannot be read.
   */
  session(key: string, asked?: 'whole' | 'beginning'): Promise<SessionView | undefined>
  /**
   * Records of a run, from this number on; empty when there are no more.
   * @throws HaltingError for a session that cannot be read.
   */
  records(key: string, run: number, from: number, count: number): Promise<readonly unknown[]>
  /**
   * Parts of the transcript of a run, from this number on; empty when there are no more.
   * @throws HaltingError for a session that cannot be read.
   */
  parts(key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]>
  /** Calls back with the keys of sessions that were changed, added or removed. Returns a function that ends this. */
  watch(onChange: (keys: readonly string[]) => void): () => void
}
