import type { SessionRow, SessionView, TranscriptPart } from './types.ts'

/** Where the inspector gets its sessions from: files, a cluster, or one file that was exported. */
export interface SessionSource {
  /** One line about what is looked at: a folder, an address. */
  readonly title: string
  /** A row for each session, read as they are taken. A session that cannot be read is told with its problem. */
  list(signal: AbortSignal): AsyncIterable<SessionRow>
  /** How many sessions there are that `list` does not have yet; none when absent. */
  readonly remaining?: number
  /** From now on `list` has more of these; they are told as changes. */
  more?(): Promise<void>
  /** The row of one session, as the list has it; undefined where there is none of this key. */
  row(key: string): Promise<SessionRow | undefined>
  /**
   * Undefined where there is none of this key. `asked`: `beginning` takes the beginning of a long session that was not read as a whole yet; default `whole`.
   * @throws HaltingError for one that cannot be read.
   */
  session(key: string, asked?: 'whole' | 'beginning'): Promise<SessionView | undefined>
  /** Records of a run as they are, from this number on; none where there are none. @throws HaltingError for a session that cannot be read. */
  records(key: string, run: number, from: number, count: number): Promise<readonly unknown[]>
  /** Parts of the transcript of a run, from this number on; none where there are none. @throws HaltingError for a session that cannot be read. */
  parts(key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]>
  /** Calls back with the keys of sessions that changed, came or went. Gives the way to be called no more. */
  watch(onChange: (keys: readonly string[]) => void): () => void
}
