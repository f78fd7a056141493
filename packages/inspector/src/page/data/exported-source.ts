import type { TranscriptPart } from '@halting/analysis/view'
import type { FigureLine, SessionOutline } from '../../server/figures.ts'
import type { PageSource } from './page-source.ts'

/** What the server writes into an exported file, in addition to the pieces of records and parts. */
interface Exported {
  readonly view: SessionOutline
  /** The number of records or parts in one element. */
  readonly inElement: number
}

/** A source that reads everything from data elements of the page itself. Undefined for a page from a server. */
export function exportedSource(page: Pick<Document, 'getElementById'>): PageSource | undefined {
  const text = textOf(page, 'halting-session')
  if (text === undefined) return undefined
  // Written by the same build as this page.
  const { view, inElement } = JSON.parse(text) as Exported
  const { row } = view
  const pieces = new Pieces(page, inElement)
  // The server writes these types, see above.
  return {
    title: row.title,
    isExported: true,
    list(onRows) {
      onRows([row])
      return Promise.resolve(0)
    },
    more: () => Promise.resolve(0),
    session: (key) =>
      key === row.key
        ? Promise.resolve(view)
        : Promise.reject(new Error('That session is not in this file. halting inspect shows all of them.')),
    async *figures(_view, kind, run) {
      for (let place = 0, text; (text = textOf(page, `halting-${kind}-${place}`)) !== undefined; place++) {
        const line = JSON.parse(text) as FigureLine
        if (run === undefined || run === line.run) yield line
      }
    },
    records: (_key, run, from, count) => pieces.from('records', run, from, count),
    parts: (_key, run, from, count) =>
      pieces.from('parts', run, from, count) as Promise<readonly TranscriptPart[]>,
    exportAddress: () => null,
    onChange: () => () => {},
  }
}

/** The number of pieces that stay parsed, because users often look at neighbouring records. */
const maxCached = 16

/** Records and parts of the file; each piece is parsed on demand. */
class Pieces {
  private readonly page: Pick<Document, 'getElementById'>
  private readonly inElement: number
  private readonly parsed = new Map<string, readonly unknown[]>()

  constructor(page: Pick<Document, 'getElementById'>, inElement: number) {
    this.page = page
    this.inElement = inElement
  }

  async from(kind: 'records' | 'parts', run: number, from: number, count: number): Promise<readonly unknown[]> {
    const found: unknown[] = []
    const first = Math.floor(from / this.inElement) * this.inElement
    for (let at = first; at < from + count; at += this.inElement) {
      const piece = this.piece(`halting-${kind}-${run}-${at}`)
      if (piece === undefined) break
      found.push(...piece.slice(Math.max(0, from - at), from + count - at))
    }
    return found
  }

  private piece(name: string): readonly unknown[] | undefined {
    const known = this.parsed.get(name)
    if (known !== undefined) return known
    const text = textOf(this.page, name)
    if (text === undefined) return undefined
    // The server writes a list.
    const read = JSON.parse(text) as readonly unknown[]
    this.parsed.set(name, read)
    for (const old of this.parsed.keys()) if (this.parsed.size > maxCached) this.parsed.delete(old)
    return read
  }
}

function textOf(page: Pick<Document, 'getElementById'>, name: string): string | undefined {
  return page.getElementById(name)?.textContent ?? undefined
}
