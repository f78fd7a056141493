import { escaped } from '../export/escaped.ts'

/** One bar of a picture: `first` and `second` follow each other in it. */
export interface Bar {
  readonly label: string
  readonly first: number
  readonly second?: number
  /** What it says, for whoever does not see it, and beside it. */
  readonly value: string
}

const [rowHeight, barHeight, labelColumns, valueColumns] = [22, 12, 170, 190]
const width = 640
const longestLabel = 24

/**
 * Bars as a picture in the page itself: no script, no style of its own but classes of the page. What it says stands in it as text, so that it can be
 * read aloud, copied and found.
 */
export function bars(title: string, rows: readonly Bar[]): string {
  const most = Math.max(...rows.map(({ first, second = 0 }) => first + second))
  if (rows.length === 0 || !(most > 0)) return ''
  const room = width - labelColumns - valueColumns
  const height = rows.length * rowHeight + 4
  const drawn = rows.map(({ label, first, second = 0, value }, index) => {
    const y = index * rowHeight + 2
    const middle = y + rowHeight / 2
    // What is above nothing shows.
    const long = (part: number): number => (part > 0 ? Math.max(1.5, (part / most) * room) : 0)
    const [one, two] = [long(first), long(second)]
    return [
      `<g><title>${escaped(label)}: ${escaped(value)}</title>`,
      `<text x="${labelColumns - 8}" y="${middle}" class="name">${escaped(shortLabel(label))}</text>`,
      `<rect x="${labelColumns}" y="${y + (rowHeight - barHeight) / 2}" width="${fixed(one)}" height="${barHeight}" class="one"/>`,
      two > 0
        ? `<rect x="${fixed(labelColumns + one)}" y="${y + (rowHeight - barHeight) / 2}" width="${fixed(two)}" height="${barHeight}" class="two"/>`
        : '',
      `<text x="${fixed(labelColumns + one + two + 8)}" y="${middle}">${escaped(value)}</text></g>`,
    ].join('')
  })
  const picture = `<svg role="img" aria-label="${escaped(title)}" viewBox="0 0 ${width} ${height}">${drawn.join('\n')}</svg>`
  return `<div class="wide" role="region" tabindex="0" aria-label="${escaped(title)}">${picture}</div>\n`
}

/** Of a path its end says most. */
function shortLabel(label: string): string {
  const letters = Array.from(label)
  if (letters.length <= longestLabel) return label
  const most = longestLabel - 1
  return /[/\\]/.test(label) ? `…${letters.slice(-most).join('')}` : `${letters.slice(0, most).join('')}…`
}

function fixed(value: number): string {
  return String(Math.round(value * 10) / 10)
}
