import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { notNotebookReasons } from './notebook-texts.ts'

/** A cell of a Jupyter notebook, with the fields that the tools use. */
export interface Cell {
  /** The cell's own id; otherwise `cell-N`, counted from 0. */
  readonly id: string
  readonly type: string
  readonly source: string
  readonly outputs: readonly JsonObject[]
  readonly json: JsonObject
}

export type Notebook =
  | { readonly kind: 'notebook'; readonly cells: readonly Cell[]; readonly json: JsonObject }
  | { readonly kind: 'none'; readonly why: string }

/** Parses a notebook of nbformat 4. */
export function parseNotebook(text: string): Notebook {
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return { kind: 'none', why: notNotebookReasons.json }
  }
  // JSON.parse returns JSON.
  const cells = isJsonObject(json) ? json['cells'] : undefined
  if (!isJsonObject(json) || !Array.isArray(cells)) return { kind: 'none', why: notNotebookReasons.cells }
  return { kind: 'notebook', json, cells: cells.map((cell: Json, index) => cellOf(cell, index)) }
}

function cellOf(json: Json, index: number): Cell {
  const cell = isJsonObject(json) ? json : {}
  const { id, cell_type: type, source = '', outputs } = cell
  return {
    id: typeof id === 'string' && id !== '' ? id : `cell-${index}`,
    type: typeof type === 'string' ? type : 'unknown',
    source: textOf(source),
    outputs: Array.isArray(outputs) ? outputs.filter(isJsonObject) : [],
    json: cell,
  }
}

/** Texts of notebooks are strings or lists of lines. */
export function textOf(value: Json | undefined): string {
  if (typeof value === 'string') return value
  return Array.isArray(value) ? value.filter((line) => typeof line === 'string').join('') : ''
}

/** Returns the index of a cell; -1 if no cell matches. A cell's own id takes precedence over its position. */
export function placeOf(cells: readonly Cell[], id: string): number {
  const own = cells.findIndex((cell) => cell.id === id)
  if (own !== -1) return own
  const place = /^cell-(\d{1,9})$/.exec(id)?.[1]
  return place !== undefined && Number(place) < cells.length ? Number(place) : -1
}
