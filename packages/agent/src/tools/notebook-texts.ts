// Results of Read and NotebookEdit for notebooks.
import { patchToolName } from '@halting/policy/files'
import type { HasTool } from './available-tools.ts'
import { nextCall } from './next-call.ts'

export const noCells = (path: string): string => `${path} is a notebook without cells.`
export const cellBeyondEnd = (path: string, cells: number, offset: number): string =>
  `${path} has ${cells === 1 ? '1 cell' : `${cells} cells`}; there is no cell number ${offset}. Use an offset of at most ${cells}.`
export const cellCut = '[... the rest of this cell is left out: it is longer than one Read can show]'
export function cellRange(path: string, first: number, last: number, total: number): string {
  const rest = last < total ? ` For the rest, use ${nextCall('Read', { file_path: path, offset: last + 1 })}.` : ''
  return `[Cells ${first} to ${last} of ${total}.${rest}]`
}
export const tooManyImages = '[Image left out: too many images in one Read]'
/** @param why a sentence */
export const cellImageNotShown = (why: string): string => `[Image cannot be shown. ${why}]`
export const outputsLeftOut = (count: number): string => `[... ${count} more outputs left out]`
export const outputCut = (leftOut: number): string => `[... ${leftOut} characters left out]`
export const outputNotShown = (type: string): string => `[Output of type ${type}, not shown]`

// Reasons why a cell cannot be changed.

export const missingNotebook = (path: string, hints: string): string => `${path} does not exist.${hints}`
/** @param why such as "is not JSON" */
export const notANotebook = (path: string, why: string, has: HasTool): string =>
  `${path} ${why}, so it is not a notebook.${useEditor(has)}`
export const notNotebookReasons = { json: 'is not JSON', cells: 'has no list of cells (nbformat 4)' }
export const cellTooDeep = (path: string, has: HasTool): string =>
  `${path}: the cell is nested too deeply for NotebookEdit.${useEditor(has)}`
export const cellIdNeeded = (mode: string): string =>
  `cell_id is missing: ${mode} needs the id of a cell, as Read shows it`
export function unknownCell(path: string, id: string, known: string): string {
  return `${path} has no cell ${id}. ${known === '' ? 'The notebook has no cells.' : `Its cells are: ${known}.`}`
}

function useEditor(has: HasTool): string {
  const editor = ['Edit', patchToolName].find(has)
  return editor === undefined ? '' : ` Use ${editor} instead.`
}

// What was changed.

export function cellChanged(mode: 'replace' | 'insert' | 'delete', id: string, type: string, path: string): string {
  switch (mode) {
    case 'insert':
      return `Inserted ${type} cell ${id} into ${path}.`
    case 'delete':
      return `Deleted cell ${id} of ${path}.`
    case 'replace':
      return `Replaced cell ${id} of ${path}.`
  }
}
