import { columnsOf } from '../io/columns.ts'
import type { Style } from '../io/style.ts'
import { tableLines } from '../io/table.ts'

/** A row with a bar. */
export interface BarRow {
  readonly label: string
  /** The share from 0 to 1; undefined for no bar. */
  readonly share: number | undefined
  readonly value: string
  /** Whether the row is highlighted. */
  readonly isMarked?: boolean
}

const [maxBarColumns, minBarColumns] = [24, 4]

/** Labels, bars and values in columns. Bars use the remaining width, or are left out if it is too small. */
export function barLines(
  rows: readonly BarRow[],
  width: number,
  style: Style,
  longestLabel: number = 16,
): readonly string[] {
  const labels = Math.min(longestLabel, Math.max(...rows.map(({ label }) => columnsOf(label))))
  const values = Math.max(...rows.map(({ value }) => columnsOf(value)))
  const room = Math.min(maxBarColumns, width - labels - values - 6)
  const bar = room < minBarColumns ? 0 : room
  const cells = rows.map(({ label, share, value, isMarked }) => {
    const drawn = share === undefined ? '' : drawBar(share, bar)
    const cell = isMarked === true ? { text: drawn, style: style.red } : drawn
    return [label, ...(bar === 0 ? [] : [cell]), value]
  })
  const columns = [{ max: labels }, ...(bar === 0 ? [] : [{ min: bar }]), { rest: 'cut' as const }]
  return tableLines(cells, { columns, width })
}

/** A bar. A share above 0 never looks empty, and a share below 1 never looks full. */
function drawBar(share: number, width: number): string {
  const exact = Math.min(1, Math.max(0, share)) * width
  const filled = share > 0 && share < 1 ? Math.min(width - 1, Math.max(1, Math.round(exact))) : Math.round(exact)
  return width === 0 ? '' : '█'.repeat(filled) + '░'.repeat(width - filled)
}
