import type { SessionRow, TranscriptPart } from '@halting/analysis/view'

/** Location of a hit. Runs count from 0. */
interface Hit {
  readonly key: string
  readonly run: number
  readonly part: number
  /** The text around it, on one line. */
  readonly excerpt: string
}

export interface SearchProgress {
  /** The search text. */
  readonly text: string
  readonly searched: number
  readonly of: number
  readonly hits: readonly Hit[]
  /** Sessions that could not be read. */
  readonly unread: number
}

/** Loads parts of a transcript, from this index on. */
export type Parts = (key: string, run: number, from: number, count: number) => Promise<readonly TranscriptPart[]>

const partsAtOnce = 200
const maxHits = 500
/** The maximum number of hits per session. */
const maxPerSession = 3

/** Searches the content of sessions, one after another, ignoring case, and reports its progress. Stops at once when aborted. */
export async function searchContent(
  text: string,
  rows: readonly SessionRow[],
  parts: Parts,
  report: (progress: SearchProgress) => void,
  stop: AbortSignal,
): Promise<SearchProgress> {
  const query = text.trim().toLowerCase()
  let progress: SearchProgress = { text: text.trim(), searched: 0, of: rows.length, hits: [], unread: 0 }
  if (query === '') return progress
  for (const row of rows) {
    if (stop.aborted || progress.hits.length >= maxHits) break
    const found = await hitsIn(row, query, parts, stop)
    if (stop.aborted) break
    progress = {
      ...progress,
      searched: progress.searched + 1,
      hits: [...progress.hits, ...found.hits],
      unread: progress.unread + Number(found.isUnread),
    }
    report(progress)
  }
  return progress
}

interface Found {
  readonly hits: readonly Hit[]
  readonly isUnread: boolean
}

async function hitsIn({ key, runs }: SessionRow, asked: string, parts: Parts, stop: AbortSignal): Promise<Found> {
  const hits: Hit[] = []
  try {
    for (let run = 0; run < runs; run++) {
      for (let from = 0; !stop.aborted; from += partsAtOnce) {
        const page = await parts(key, run, from, partsAtOnce)
        for (const [index, part] of page.entries()) {
          const excerpt = excerptOf(part, asked)
          if (excerpt !== undefined) hits.push({ key, run, part: from + index, excerpt })
          if (hits.length >= maxPerSession) return { hits, isUnread: false }
        }
        if (page.length < partsAtOnce) break
      }
    }
  } catch {
    // The session was removed or cannot be read. The others are searched anyway, and the failure is counted.
    return { hits, isUnread: true }
  }
  return { hits, isUnread: false }
}

/** The text around the first occurrence; undefined if there is none. */
export function excerptOf(part: TranscriptPart, asked: string): string | undefined {
  for (const text of textsOf(part)) {
    const at = text.toLowerCase().indexOf(asked)
    if (at < 0) continue
    const start = Math.max(0, at - 60)
    const end = at + asked.length + 100
    const around = text.slice(start, end).replaceAll(/\s+/g, ' ').trim()
    return `${start > 0 ? '…' : ''}${around}${end < text.length ? '…' : ''}`
  }
  return undefined
}

function textsOf(part: TranscriptPart): readonly string[] {
  switch (part.kind) {
    case 'note':
      return [part.text, part.more ?? '']
    case 'call':
      return [part.name, part.input, part.result ?? '', ...part.agent.flatMap(textsOf)]
    default:
      return [part.text]
  }
}
