import { useEffect, useRef, useState } from 'preact/hooks'
import type { TranscriptPart } from '@halting/analysis/view'
import { messageOf, source } from '../data/store.ts'

/** Number of parts per page, and the maximum number of pages in the document. */
export const pageSize = 40
const maxPages = 5

interface PagesOf {
  readonly sessionKey: string
  readonly run: number
  readonly count: number
  readonly version: unknown
  readonly chosen: number | null
}

export interface Pages {
  /** Index of the first loaded part. */
  readonly from: number
  /** Index after the last loaded part. */
  readonly to: number
  readonly parts: readonly TranscriptPart[]
  readonly problem: string | undefined
  readonly earlier: () => void
  readonly later: () => void
}

interface Shown {
  readonly first: number
  readonly pages: readonly (readonly TranscriptPart[])[]
}

/** Pages of a transcript around the selected part. They are loaded again when the session changes, because calls may have results by then. */
export function usePages({ sessionKey, run, count, version, chosen }: PagesOf): Pages {
  const [shown, setShown] = useState<Shown>({ first: 0, pages: [] })
  const [problem, setProblem] = useState<string>()
  const latest = useRef(shown)
  latest.current = shown
  // Only the latest request counts, because responses may arrive in a different order.
  const latestRequest = useRef(0)
  const last = Math.max(0, Math.ceil(count / pageSize) - 1)
  const load = (first: number, length: number): void => {
    const own = ++latestRequest.current
    source()
      .parts(sessionKey, run, first * pageSize, length * pageSize)
      .then((parts) => {
        if (latestRequest.current !== own) return
        const pages: TranscriptPart[][] = []
        for (let index = 0; index < parts.length; index += pageSize) pages.push(parts.slice(index, index + pageSize))
        setProblem(undefined)
        setShown({ first, pages })
      })
      .catch((error: unknown) => {
        if (latestRequest.current === own) setProblem(messageOf(error))
      })
  }
  useEffect(() => {
    const { first, pages } = latest.current
    const page = chosen === null ? first : Math.floor(chosen / pageSize)
    const isThere = page >= first && page < first + pages.length
    if (isThere && chosen !== null) return
    const start = Math.max(0, page - 1)
    load(start, Math.min(3, last - start + 1))
  }, [sessionKey, run, chosen])
  useEffect(() => {
    const { first, pages } = latest.current
    if (pages.length > 0) load(first, Math.min(maxPages, Math.max(pages.length, Math.min(3, last - first + 1))))
  }, [version])
  const { first, pages } = shown
  const parts = pages.flat()
  return {
    from: first * pageSize,
    to: first * pageSize + parts.length,
    parts,
    problem,
    earlier: () => load(Math.max(0, first - 1), Math.min(maxPages, pages.length + 1)),
    later: () => {
      const end = Math.min(last, first + pages.length)
      const start = Math.max(first, end - maxPages + 1)
      load(start, end - start + 1)
    },
  }
}
