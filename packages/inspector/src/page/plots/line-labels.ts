import { fitted, textWidth } from '../picture/text-width.ts'

// Where the names of lines stand on a plot: the same on the page and in a picture.

export interface LineLabel {
  readonly text: string
  readonly x: number
  readonly anchor: 'start' | 'end'
}

interface Edges {
  readonly left: number
  readonly right: number
}

const gap = 4

/** Beside upright lines, from left to right; where a name has no room between two lines there is none. */
export function besideLines(
  lines: readonly { readonly x: number; readonly label: string }[],
  { right }: Edges,
  size: number,
): readonly LineLabel[] {
  let free = -Infinity
  return lines.flatMap(({ x, label }) => {
    const wide = textWidth(label, { size })
    const isAtEdge = x + gap + wide > right
    const from = isAtEdge ? x - gap - wide : x + gap
    if (from < free) return []
    free = from + wide + 2 * gap
    return [{ text: label, x: isAtEdge ? x - gap : x + gap, anchor: isAtEdge ? 'end' : 'start' }]
  })
}

/** On level lines, by turns at their right and left ends: two that are near each other are told apart. */
export function onLines(labels: readonly string[], { left, right }: Edges, size: number): readonly LineLabel[] {
  return labels.map((label, index) => {
    const text = fitted(label, right - left - 2 * gap, { size })
    return index % 2 === 0 ? { text, x: right - gap, anchor: 'end' } : { text, x: left + gap, anchor: 'start' }
  })
}
