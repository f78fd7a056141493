import { many } from '../../io/figures.ts'
import type { Style } from '../../io/style.ts'
import { oneLineOf } from './lines.ts'
import { isPressed } from './text-field.ts'

/** Lines of which as many are shown as there is room for; the rest is a key away. */
export interface Scrolled {
  /** At most so many; of fewer than two, one line that says that there is more. */
  lines(width: number, most: number): readonly string[]
  /** Whether all of them have been on the screen. */
  readonly isSeen: boolean
  /** Whether the key was one for it. */
  handleInput(data: string): boolean
}

export function scrolled(linesFor: (width: number) => readonly string[], style: Style): Scrolled {
  let made: { readonly width: number; readonly lines: readonly string[] } | undefined
  let [from, page, seen] = [0, 1, 0]
  const all = (width: number): readonly string[] => {
    // Lines of another width are others: they are seen anew.
    if (made?.width !== width) [made, seen, from] = [{ width, lines: linesFor(width) }, 0, 0]
    return made.lines
  }
  const moves: readonly (readonly [Parameters<typeof isPressed>[1], () => number])[] = [
    ['down', () => 1],
    ['up', () => -1],
    ['pageDown', () => page],
    ['pageUp', () => -page],
  ]
  return {
    lines(width, most) {
      const whole = all(width)
      if (whole.length <= most) {
        ;[from, seen] = [0, whole.length]
        return whole
      }
      page = Math.max(1, most - 1)
      from = Math.max(0, Math.min(from, whole.length - page))
      const to = from + page
      // What is skipped is not seen, nor what there is no room for at all.
      if (from <= seen && most >= 2) seen = Math.max(seen, to)
      const left = whole.length - to
      const where = left > 0 ? `${many(left, 'more line')} below: ↓ PgDn` : 'the end: ↑ PgUp'
      return [...(most < 2 ? [] : whole.slice(from, to)), style.bold(`  ${oneLineOf(`… ${where}`, width - 2)}`)]
    },
    get isSeen() {
      return made !== undefined && seen >= made.lines.length
    },
    handleInput(data) {
      const move = moves.find(([key]) => isPressed(data, key))?.[1]
      if (move === undefined || made === undefined || made.lines.length <= page) return false
      from = Math.max(0, Math.min(from + move(), made.lines.length - page))
      return true
    },
  }
}
