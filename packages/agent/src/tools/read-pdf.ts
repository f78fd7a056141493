import type { ToolOutput } from '@halting/core'
import { headOf, pdfPagesOf } from '@halting/core/adapters'
import { type PdfLibrary, pdfText } from '../media/pdf-text.ts'
import { byBash } from './pdf-by-bash.ts'
import { failed } from './result.ts'

const defaultPages = 10
const mostPages = 20

export interface PdfRange {
  /** As the model gave them. */
  readonly pages: string | undefined
  readonly maxCharacters: number
  readonly signal: AbortSignal
  readonly library: PdfLibrary | undefined
}

/** Text of the pages of a PDF. */
export async function readPdf(
  path: string,
  bytes: Uint8Array,
  { pages, maxCharacters, signal, library }: PdfRange,
): Promise<ToolOutput> {
  const wanted = pagesOf(pages)
  if (wanted === undefined) return failed(`pages is written as 3, 1-5 or 10-, and not as ${headOf(pages ?? '', 40)}.`)
  const read = await pdfText(bytes, { ...wanted, maxCharacters, signal, ...(library !== undefined && { library }) })
  if (read.kind === 'no library') {
    const count = pdfPagesOf(bytes)
    const size =
      count === undefined ? ' whose pages cannot be counted' : ` of ${count} ${count === 1 ? 'page' : 'pages'}`
    return failed(`${path} is a PDF${size}. Read shows its text where unpdf is installed (npm i unpdf). ${byBash}`)
  }
  if (read.kind === 'failed') return failed(`${path} is a PDF that cannot be read. ${headOf(read.why, 300)} ${byBash}`)
  const { pageCount } = read
  if (wanted.first > pageCount)
    return failed(`${path} has ${pageCount} page${pageCount === 1 ? '' : 's'}, so there is no page ${wanted.first}.`)
  const shown: string[] = []
  let left = maxCharacters
  for (const [index, text] of read.pages.entries()) {
    const number = wanted.first + index
    const clean = text.trim() === '' ? noText : text.trimEnd()
    if (shown.length > 0 && clean.length > left) break
    shown.push(`--- page ${number} of ${pageCount} ---\n${clean.length > left ? cut(clean, left) : clean}`)
    left -= clean.length
  }
  const last = wanted.first + shown.length - 1
  if (last < pageCount)
    shown.push(`[Pages ${wanted.first} to ${last}, ${pageCount} in all. Go on with pages ${last + 1}-.]`)
  const details = { type: 'pdf', filePath: path, firstPage: wanted.first, lastPage: last, totalPages: pageCount }
  return { content: shown.join('\n'), details }
}

const noText = '[No text: it may be a picture. pdftoppm -png -r 100 -f N -l N FILE OUT in Bash makes an image of it.]'

function cut(text: string, length: number): string {
  return `${headOf(text, length)}\n[... the page is longer than one Read]`
}

function pagesOf(given: string | undefined): { readonly first: number; readonly last: number } | undefined {
  if (given === undefined) return { first: 1, last: defaultPages }
  const parts = /^\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?)?\s*$/.exec(given)
  if (parts === null) return undefined
  const first = Number(parts[1])
  const last = parts[2] === undefined ? first : Number(parts[3] ?? first + mostPages - 1)
  return first < 1 || last < first ? undefined : { first, last: Math.min(last, first + mostPages - 1) }
}
