import type { SessionRow, TranscriptPart } from '@halting/analysis/view'
import type { FigureKind, FigureLine, SessionOutline } from '../../server/figures.ts'

/** What the page asks for. One speaks to the server, one has everything in the file it was exported to. */
export interface PageSource {
  readonly title: string
  /** All that there is was in the file: nothing comes later. */
  readonly isExported: boolean
  /** Gives how many sessions there are beyond these. */
  list(onRows: (rows: readonly SessionRow[]) => void, signal: AbortSignal): Promise<number>
  /** Lists more of these, whose rows come as changes; gives how many there are beyond. */
  more(): Promise<number>
  /** Without the figures of its runs. `beginning`: that of a long session will do. */
  session(key: string, asked?: 'beginning'): Promise<SessionOutline>
  /** Figures of one run, or of all: those that the view does not have. */
  figures(view: SessionOutline, kind: FigureKind, run: number | undefined): AsyncIterable<FigureLine>
  records(key: string, run: number, from: number, count: number): Promise<readonly unknown[]>
  parts(key: string, run: number, from: number, count: number): Promise<readonly TranscriptPart[]>
  /** The address of a session as one file; null in such a file. */
  exportAddress(key: string): string | null
  onChange(listener: (change: SourceChange) => void): () => void
}

export type SourceChange =
  /** These sessions changed, came or went. */
  | { readonly kind: 'changed'; readonly keys: readonly string[] }
  /** Their rows as they are now, and which of them went. */
  | { readonly kind: 'rows'; readonly rows: readonly SessionRow[]; readonly gone: readonly string[] }
  /** For a while nobody told anything: what changed is not known. */
  | { readonly kind: 'missed' }
