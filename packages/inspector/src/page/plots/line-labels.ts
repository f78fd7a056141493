import { fitText, textWidth } from '../picture/text-width.ts'

// Positions of the labels of lines on a plot, shared by the page and pictures.

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

/** Labels next to vertical lines, from left to right. A label without room between two lines is omitted. */
export function verticalLineLabels(
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

/** Labels on horizontal lines, alternating between the right and left ends, so that labels of close lines do not overlap. */
export function horizontalLineLabels(
  labels: readonly string[],
  { left, right }: Edges,
  size: number,
): readonly LineLabel[] {
  return labels.map((label, index) => {
    const text = fitText(label, right - left - 2 * gap, { size })
    return index % 2 === 0 ? { text, x: right - gap, anchor: 'end' } : { text, x: left + gap, anchor: 'start' }
  })
}
