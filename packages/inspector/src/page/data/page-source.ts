import type { SessionRow, TranscriptPart } from '@halting/analysis/view'
import type { FigureKind, FigureLine, SessionOutline } from '../../server/figures.ts'

/** Provides the page with data: from the server, or from the exported file. */
export interface PageSource {
  readonly title: string
  /** Whether all data is in the file, so that nothing changes. */
  readonly isExported: boolean
  /** Lists the sessions; resolves to the number of sessions that are not listed. */
  list(onRows: (rows: readonly SessionRow[]) => void, signal: AbortSignal): Promise<number>
  /** Lists more sessions, which arrive as changes; resolves to the number of sessions that remain unlisted. */
  more(): Promise<number>
  /** A session without the figures of its runs. `beginning`: the beginning of a long session is enough. */
  session(key: string, asked?: 'beginning'): Promise<SessionOutline>
  /** Figures of one run, or of all runs, that the outline does not contain. */
  figures(view: SessionOutline, kind: FigureKind, run: number | undefined): AsyncIterable<FigureLine>
  records(key: string, run: number, from: number, count: number): Promise<readonly unknown[]>
  parts(key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]>
  /** Address for the export of a session as one file; null in an exported file. */
  exportAddress(key: string): string | null
  onChange(listener: (change: SourceChange) => void): () => void
}

export type SourceChange =
  /** Sessions that were changed, added or removed. */
  | { readonly kind: 'changed'; readonly keys: readonly string[] }
  /** Current rows of changed sessions, and keys of removed ones. */
  | { readonly kind: 'rows'; readonly rows: readonly SessionRow[]; readonly gone: readonly string[] }
  /** The connection was interrupted, so changes may have been missed. */
  | { readonly kind: 'missed' }
