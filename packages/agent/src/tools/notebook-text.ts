import type { JsonObject } from '@halting/core'
import { parseTree } from 'jsonc-parser'
import { indentAt } from '@halting/policy'

// Edits the text of a parsed notebook. Unchanged parts remain as written, including numbers that JavaScript would
// round.

/** The text with the cell at a position replaced. */
export function withCell(text: string, place: number, cell: JsonObject): string {
  const { cells } = cellsOf(text)
  const old = cells[place]
  if (old === undefined) throw new RangeError(`there is no cell ${place}`)
  return text.slice(0, old.start) + rendered(cell, text, indentAt(text, old.start)) + text.slice(old.end)
}

/** The text with a cell inserted at this position. */
export function withNewCell(text: string, place: number, cell: JsonObject): string {
  const { list, cells } = cellsOf(text)
  const newline = newlineOf(text)
  const outer = indentAt(text, list.start)
  const inner = cells[0] === undefined ? outer + unitOf(text) : indentAt(text, cells[0].start)
  const made = rendered(cell, text, inner)
  const gap = newline === '' ? '' : newline + inner
  const before = cells[place - 1]
  if (before !== undefined) return `${text.slice(0, before.end)},${gap}${made}${text.slice(before.end)}`
  const [next] = cells
  if (next !== undefined) return `${text.slice(0, next.start)}${made},${gap}${text.slice(next.start)}`
  return `${text.slice(0, list.start)}[${gap}${made}${newline === '' ? '' : newline + outer}]${text.slice(list.end)}`
}

/** The text without the cell at a position. */
export function withoutCell(text: string, place: number): string {
  const { cells } = cellsOf(text)
  const [before, cell, next] = [cells[place - 1], cells[place], cells[place + 1]]
  if (cell === undefined) throw new RangeError(`there is no cell ${place}`)
  if (before !== undefined) return text.slice(0, before.end) + text.slice(cell.end)
  return text.slice(0, cell.start) + text.slice(next?.start ?? cell.end)
}

/** A part of the text, by the index of its first character and the index after its last one. */
interface Span {
  readonly start: number
  readonly end: number
}

function cellsOf(text: string): { readonly list: Span; readonly cells: readonly Span[] } {
  // Of duplicate keys, the last one applies, as in JSON.parse.
  const list = parseTree(text)?.children?.findLast(({ children }) => children?.[0]?.value === 'cells')?.children?.[1]
  if (list === undefined) throw new RangeError('there are no cells')
  const spanOf = ({ offset, length }: typeof list): Span => ({ start: offset, end: offset + length })
  return { list: spanOf(list), cells: (list.children ?? []).map(spanOf) }
}

function rendered(cell: JsonObject, text: string, indent: string): string {
  const newline = newlineOf(text)
  if (newline === '') return JSON.stringify(cell)
  return JSON.stringify(cell, undefined, unitOf(text)).split('\n').join(`${newline}${indent}`)
}

/** Returns the indentation; Jupyter uses one space. */
function unitOf(text: string): string {
  return /^[ \t]+(?=")/m.exec(text)?.[0] ?? ' '
}

/** Returns the line separator; empty for a notebook on one line. */
function newlineOf(text: string): string {
  const trimmed = text.trimEnd()
  if (trimmed.includes('\r\n')) return '\r\n'
  return trimmed.includes('\n') ? '\n' : ''
}
