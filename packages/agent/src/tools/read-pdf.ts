import type { ToolOutput } from '@halting/core'
import { headOf, pdfPagesOf } from '@halting/core/adapters'
import { type PdfLibrary, pdfText } from '../media/pdf-text.ts'
import type { HasTool } from './available-tools.ts'
import {
  morePages,
  noPdfLibrary,
  noSuchPage,
  pageCut,
  pageHeading,
  pageWithoutText,
  unreadablePdf,
  wrongPages,
} from './pdf-texts.ts'
import { errorResult } from './result.ts'

const defaultPages = 10
const maxPages = 20

export interface PdfRange {
  /** The pages as the model wrote them. */
  readonly pages: string | undefined
  readonly maxCharacters: number
  readonly signal: AbortSignal
  readonly library: PdfLibrary | undefined
  readonly has: HasTool
}

/** Reads the text of PDF pages. */
export async function readPdf(
  path: string,
  bytes: Uint8Array,
  { pages, maxCharacters, signal, library, has }: PdfRange,
): Promise<ToolOutput> {
  const range = pagesOf(pages)
  if (range === undefined) return errorResult(wrongPages(JSON.stringify(headOf(pages ?? '', 40))))
  const read = await pdfText(bytes, { ...range, maxCharacters, signal, ...(library !== undefined && { library }) })
  if (read.kind === 'no library') return errorResult(noPdfLibrary(path, pdfPagesOf(bytes), has))
  if (read.kind === 'failed') return errorResult(unreadablePdf(path, headOf(read.why, 300), has))
  const { pageCount } = read
  if (range.first > pageCount) return errorResult(noSuchPage(path, pageCount, range.first))
  const shown: string[] = []
  let left = maxCharacters
  for (const [index, text] of read.pages.entries()) {
    const number = range.first + index
    const clean = text.trim() === '' ? pageWithoutText(has) : text.trimEnd()
    if (shown.length > 0 && clean.length > left) break
    shown.push(`${pageHeading(number, pageCount)}\n${clean.length > left ? cut(clean, left) : clean}`)
    left -= clean.length
  }
  const last = range.first + shown.length - 1
  if (last < pageCount) shown.push(morePages(path, range.first, last, pageCount))
  const details = { type: 'pdf', filePath: path, firstPage: range.first, lastPage: last, totalPages: pageCount }
  return { content: shown.join('\n'), details }
}

function cut(text: string, length: number): string {
  return `${headOf(text, length)}\n${pageCut}`
}

function pagesOf(pages: string | undefined): { readonly first: number; readonly last: number } | undefined {
  if (pages === undefined) return { first: 1, last: defaultPages }
  const parts = /^\s*(\d{1,6})\s*(?:(-)\s*(\d{1,6})?)?\s*$/.exec(pages)
  if (parts === null) return undefined
  const first = Number(parts[1])
  const last = parts[2] === undefined ? first : Number(parts[3] ?? first + maxPages - 1)
  return first < 1 || last < first ? undefined : { first, last: Math.min(last, first + maxPages - 1) }
}
