import { useCallback, useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { RefObject } from 'preact'

/** The rows that are in the document: the visible ones and a few around them. */
export interface VirtualRows {
  /** Ref of the scrolling element. */
  readonly scroller: RefObject<HTMLDivElement | null>
  readonly from: number
  /** The end of the range, exclusive. */
  readonly to: number
  /** Height of a row, in CSS pixels. */
  readonly rowHeight: number
  /** Number of rows that fit. */
  readonly fitting: number
  /** Scrolls just enough to show a row. */
  readonly reveal: (index: number) => void
}

const rowsAround = 8

/** Virtual rows with a fixed height, in `rem`. */
export function useVirtualRows(count: number, rowRem: number): VirtualRows {
  const scroller = useRef<HTMLDivElement>(null)
  const [{ top, height }, setSeen] = useState({ top: 0, height: 600 })
  const rowHeight = rowRem * rootFontSize()
  const measure = useCallback(() => {
    const element = scroller.current
    if (element === null) return
    const seen = { top: element.scrollTop, height: element.clientHeight }
    // Nothing changes while the first visible row is the same.
    setSeen((before) =>
      Math.floor(before.top / rowHeight) === Math.floor(seen.top / rowHeight) && before.height === seen.height
        ? before
        : seen,
    )
  }, [rowHeight])
  useEffect(() => {
    const element = scroller.current
    if (element === null) return
    element.addEventListener('scroll', measure, { passive: true })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => {
      element.removeEventListener('scroll', measure)
      observer.disconnect()
    }
  }, [measure])
  useLayoutEffect(measure, [count, measure])
  const reveal = useCallback(
    (index: number) => {
      const element = scroller.current
      if (element === null) return
      const start = index * rowHeight
      const room = element.clientHeight
      if (start < element.scrollTop) element.scrollTop = start
      else if (start + rowHeight > element.scrollTop + room) element.scrollTop = start + rowHeight - room
      measure()
    },
    [rowHeight, measure],
  )
  const first = Math.floor(top / rowHeight)
  const fitting = Math.max(1, Math.floor(height / rowHeight))
  const from = Math.max(0, Math.min(first, count - fitting) - rowsAround)
  const to = Math.min(count, first + fitting + 1 + rowsAround)
  return { scroller, from, to, rowHeight, fitting, reveal }
}

/** Pixels per `rem`, which depends on the font size of the user. */
function rootFontSize(): number {
  return Number.parseFloat(getComputedStyle(document.documentElement).fontSize) || 16
}
