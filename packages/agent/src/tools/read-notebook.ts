import { stripVTControlCharacters } from 'node:util'
import type { ContentBlock, JsonObject, ToolOutput } from '@halting/core'
import { headOf } from '@halting/core/adapters'
import type { FitImage } from '../media/fit-image.ts'
import {
  cellBeyondEnd,
  cellCut,
  cellImageNotShown,
  cellRange,
  noCells,
  outputCut,
  outputNotShown,
  outputsLeftOut,
  tooManyImages,
} from './notebook-texts.ts'
import { type Cell, parseNotebook, textOf } from './notebook.ts'
import { errorResult } from './result.ts'

/** Maximum characters of one output. */
const outputCharacters = 4_000
const maxImages = 10

export interface NotebookRange {
  /** The first cell, counted from 1. */
  readonly firstCell: number
  readonly maxCells: number
  readonly maxCharacters: number
  readonly fitImage: FitImage
}

/** The cells of a notebook with their outputs, as text and images. Undefined if it is not a notebook. */
export async function readNotebook(
  path: string,
  text: string,
  { firstCell, maxCells, maxCharacters, fitImage }: NotebookRange,
): Promise<ToolOutput | undefined> {
  const notebook = parseNotebook(text)
  if (notebook.kind === 'none') return undefined
  const { cells } = notebook
  if (cells.length === 0) return { content: noCells(path) }
  const wanted = cells.slice(firstCell - 1, firstCell - 1 + maxCells)
  if (wanted.length === 0) return errorResult(cellBeyondEnd(path, cells.length, firstCell))
  const shown = new Shown(fitImage)
  let count = 0
  for (const cell of wanted) {
    const left = maxCharacters - shown.characters
    const source = sourceText(cell)
    if (count > 0 && source.length > left) break
    shown.add(source.length <= left ? source : `${headOf(source, left)}\n${cellCut}`)
    await addOutputs(shown, cell.outputs, maxCharacters)
    count++
  }
  const last = firstCell - 1 + count
  if (last < cells.length || firstCell > 1) shown.add(cellRange(path, firstCell, last, cells.length))
  return {
    content: shown.content,
    details: { type: 'notebook', filePath: path, cells: count, totalCells: cells.length },
  }
}

/** The parts in order. Adjacent texts become one block. */
class Shown {
  readonly #blocks: ContentBlock[] = []
  readonly #fitImage: FitImage
  #texts: string[] = []
  #images = 0
  characters = 0

  constructor(fitImage: FitImage) {
    this.#fitImage = fitImage
  }

  add(text: string): void {
    this.#texts.push(text)
    this.characters += text.length + 1
  }

  async addImage(data: string): Promise<void> {
    if (this.#images >= maxImages) return this.add(tooManyImages)
    const image = await this.#fitImage(Buffer.from(data, 'base64'))
    if (image.kind === 'refused') return this.add(cellImageNotShown(headOf(image.why, 300)))
    this.#images++
    this.#endText()
    this.#blocks.push(image.block)
  }

  get content(): string | readonly ContentBlock[] {
    this.#endText()
    const [only, ...others] = this.#blocks
    return only?.type === 'text' && others.length === 0 ? only.text : this.#blocks
  }

  #endText(): void {
    if (this.#texts.length > 0) this.#blocks.push({ type: 'text', text: this.#texts.join('\n') })
    this.#texts = []
  }
}

function sourceText({ id, type, source }: Cell): string {
  return `<cell id="${headOf(id, 100)}" type="${headOf(type, 20)}">\n${source}\n</cell>`
}

/** Each output uses a minimum of room, so that the number of outputs is also bounded. */
async function addOutputs(shown: Shown, outputs: readonly JsonObject[], maxCharacters: number): Promise<void> {
  for (const [index, output] of outputs.entries()) {
    if (index > 0 && shown.characters >= maxCharacters) return shown.add(outputsLeftOut(outputs.length - index))
    await addOutput(shown, output, maxCharacters)
  }
}

async function addOutput(shown: Shown, output: JsonObject, maxCharacters: number): Promise<void> {
  const { output_type: type, data, text, ename, evalue, traceback } = output
  if (type === 'error') {
    const trace = Array.isArray(traceback) ? traceback.filter((line) => typeof line === 'string').join('\n') : ''
    return addText(shown, `Error: ${textOf(ename)}: ${textOf(evalue)}\n${trace}`, maxCharacters)
  }
  if (type === 'stream') return addText(shown, textOf(text), maxCharacters)
  const kinds = typeof data === 'object' && data !== null && !Array.isArray(data) ? (data as JsonObject) : {}
  const image = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'].find((kind) => textOf(kinds[kind]) !== '')
  if (image !== undefined) await shown.addImage(textOf(kinds[image]))
  const plain = textOf(kinds['text/plain'] ?? kinds['text/markdown'] ?? kinds['text/html'])
  // Next to an image, the plain text only says that there is an image.
  if (image === undefined && plain !== '') return addText(shown, plain, maxCharacters)
  const other = Object.keys(kinds)[0]
  if (image === undefined && other !== undefined) shown.add(outputNotShown(headOf(other, 60)))
}

function addText(shown: Shown, fullText: string, maxCharacters: number): void {
  const text = stripVTControlCharacters(fullText).trimEnd()
  const room = Math.min(outputCharacters, Math.max(maxCharacters - shown.characters, 200))
  const left = text.length - room
  shown.add(`<output>\n${left > 0 ? `${headOf(text, room)}\n${outputCut(left)}` : text}\n</output>`)
}
