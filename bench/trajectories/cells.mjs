// The contents of a table: texts, shares with exact intervals, figures with intervals. They stay data, so that two halves can be compared.
import { exactInterval, medianInterval } from './statistics.mjs'

/**
 * @typedef {{ kind: 'share', count: number, of: number, value: number, low: number, high: number }} Share
 * @typedef {{ kind: 'figure', value: number, low?: number, high?: number, unit: string, of?: number, isShort?: boolean }} Figure
 * @typedef {string | number | Share | Figure | undefined} Cell
 * @typedef {{ id: string, title: string, note: string, head: string[], rows: Cell[][] }} Table
 */

/** A share of runs with its exact 95 % interval. Undefined for no runs. @param {number} count @param {number} of @returns {Share | undefined} */
export const share = (count, of) => (of === 0 ? undefined : { kind: 'share', count, of, value: count / of, ...exactInterval(count, of) })

/** How many of these runs satisfy the condition. @template T @param {readonly T[]} runs @param {(run: T) => boolean} is */
export const shareOf = (runs, is) => share(runs.filter(is).length, runs.length)

/** A figure of this unit: `usd`, `tokens`, `seconds`, `turns`, `%` (of 1), or `area` under a curve. @param {number | undefined | { value: number, low?: number, high?: number, of?: number }} given @param {string} unit @returns {Figure | undefined} */
export function figure(given, unit) {
  if (given === undefined) return undefined
  return typeof given === 'number' ? { kind: 'figure', value: given, unit } : { kind: 'figure', ...given, unit }
}

/**
 * The median of the recorded values. Its interval is in the data, and not in the text. @param {readonly (number | undefined)[]} values @param {string} unit @returns {Figure |
 * undefined}
 */
export function medianCell(values, unit) {
  const found = medianInterval(values.filter((value) => value !== undefined))
  return found === undefined ? undefined : { kind: 'figure', ...found, unit, isShort: true }
}

const percent = (value, digits) => (100 * value).toFixed(digits)

function decimals(share) {
  const part = 100 * Math.min(share, 1 - share)
  return part === 0 || part >= 5 ? 0 : part >= 1 ? 1 : 2
}

function shareText({ count, of, value, low, high }) {
  const digits = Math.max(decimals(value), high < 0.1 ? 1 : 0, high < 0.01 ? 2 : 0)
  const [from, at] = count === 0 ? ['0', '0'] : [percent(low, digits), percent(value, digits)]
  return `${at} % (${from} to ${percent(high, digits)}), ${count.toLocaleString('en')} of ${of.toLocaleString('en')}`
}

const forms = {
  usd: (value) => `$${value.toFixed(value < 1 ? 3 : 2)}`,
  tokens: (value) => Math.round(value).toLocaleString('en'),
  seconds: (value) => `${value.toFixed(value < 10 ? 1 : 0)} s`,
  turns: (value) => `${Number.isInteger(value) ? value : value.toFixed(1)}`,
  '%': (value) => `${percent(value, 1)} %`,
  area: (value) => value.toFixed(2),
}

function figureText({ value, low, high, unit, isShort = false }) {
  const form = forms[unit]
  if (isShort || low === undefined || high === undefined) return form(value)
  const bare = (bound) => form(bound).replace(/ %$/, '')
  return `${form(value)} (${bare(low)} to ${bare(high)})`
}

/** @param {Cell} cell */
export function textOf(cell) {
  if (cell === undefined || cell === null) return '–'
  if (typeof cell === 'number') return cell.toLocaleString('en')
  if (typeof cell === 'string') return cell.replaceAll('|', '\\|')
  return cell.kind === 'share' ? shareText(cell) : figureText(cell)
}

/** A table as Markdown, without its title. @param {Table} table */
export function markdownOf({ head, rows }) {
  const line = (cells) => `| ${cells.join(' | ')} |`
  const rule = line(head.map((_, index) => (index === 0 ? '---' : '---:')))
  return [line(head), rule, ...rows.map((row) => line(row.map(textOf)))].join('\n')
}

/**
 * A text in which the tables of these names replace what is between their markers: `<!-- table: NAME -->` and `<!-- end of table -->`. @param {string} text @param {readonly
 * Table[]} tables
 */
export function withTables(text, tables) {
  const known = new Map(tables.map((table) => [table.id, table]))
  return text.replace(/<!-- table: (\S+) -->\n[\s\S]*?<!-- end of table -->/g, (found, id) => {
    const table = known.get(id)
    return table === undefined ? found : `<!-- table: ${id} -->\n\n${markdownOf(table)}\n\n<!-- end of table -->`
  })
}

/**
 * Cells of two measurements whose intervals do not overlap: by table, first cell of the row, and column.
 * @param {readonly Table[]} tables @param {readonly Table[]} others
 */
export function disagreements(tables, others) {
  const found = []
  let compared = 0
  const otherTables = new Map(others.map((table) => [table.id, table]))
  for (const { id, head, rows } of tables) {
    const other = otherTables.get(id)
    const otherRows = new Map(other?.rows.map((row) => [rowName(row), row]))
    for (const row of rows) {
      for (const [column, cell] of row.entries()) {
        const twin = otherRows.get(rowName(row))?.[other?.head.indexOf(head[column]) ?? -1]
        if (!hasInterval(cell) || !hasInterval(twin)) continue
        compared++
        if (cell.low > twin.high || twin.low > cell.high) found.push({ table: id, row: rowName(row), column: head[column], here: textOf(cell), there: textOf(twin) })
      }
    }
  }
  return { compared, found }
}

/** The texts at the beginning of a row. */
function rowName(row) {
  const end = row.findIndex((cell) => typeof cell !== 'string')
  return row.slice(0, end === -1 ? undefined : end).join(', ')
}

const hasInterval = (cell) => typeof cell === 'object' && cell !== null && cell.low !== undefined && cell.high !== undefined
