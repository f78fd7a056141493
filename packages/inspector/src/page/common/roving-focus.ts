import { useRef, useState } from 'preact/hooks'
import type { RefObject } from 'preact'

/** A group of buttons with one Tab stop: arrow keys, Home and End move between them. */
export interface Roving {
  /** Ref of the surrounding element. */
  readonly group: RefObject<HTMLDivElement | null>
  readonly onKeyDown: (event: KeyboardEvent) => void
  /** `tabIndex` of the button with this index. */
  readonly tabIndexOf: (index: number) => 0 | -1
  readonly onFocus: (index: number) => void
}

/** Handles `count` buttons, in their order in the group. */
export function useRoving(count: number): Roving {
  const group = useRef<HTMLDivElement>(null)
  const [at, setAt] = useState(0)
  const current = Math.max(0, Math.min(at, count - 1))
  const onKeyDown = (event: KeyboardEvent): void => {
    const next = nextOf(event.key, current, count)
    if (next === undefined) return
    event.preventDefault()
    event.stopPropagation()
    setAt(next)
    group.current?.querySelectorAll<HTMLElement>('[data-roving]')[next]?.focus()
  }
  return { group, onKeyDown, tabIndexOf: (index) => (index === current ? 0 : -1), onFocus: setAt }
}

function nextOf(key: string, current: number, count: number): number | undefined {
  if (count === 0) return undefined
  switch (key) {
    case 'ArrowRight':
    case 'ArrowDown':
      return (current + 1) % count
    case 'ArrowLeft':
    case 'ArrowUp':
      return (current + count - 1) % count
    case 'Home':
      return 0
    case 'End':
      return count - 1
    default:
      return undefined
  }
}
