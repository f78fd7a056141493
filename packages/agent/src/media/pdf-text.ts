import { createRequire } from 'node:module'
import { pathToFileURL } from 'node:url'
import { inWorker } from '../in-worker.ts'
import { pdfTooSlow } from './fit-image-texts.ts'

/** Returns the URL of the module `unpdf`; undefined if it is not installed. */
export type PdfLibrary = () => string | undefined

/** Text of some pages of a PDF. */
export type PdfText =
  | { readonly kind: 'text'; readonly pageCount: number; readonly pages: readonly string[] }
  /** The library is not installed. */
  | { readonly kind: 'no library' }
  | { readonly kind: 'failed'; readonly why: string }

export interface PdfPages {
  /** Number of the first page, counted from 1. */
  readonly first: number
  readonly last: number
  readonly maxCharacters: number
  readonly signal: AbortSignal
  /** Returns the location of the library (default: `unpdf` if installed). */
  readonly library?: PdfLibrary
}

const maxMs = 30_000
const maxMegabytes = 1024

/**
 * Extracts the text of a PDF with `unpdf`, if it is installed next to this package. Runs in a thread, because a PDF
 * may block its reader forever.
 */
export async function pdfText(
  bytes: Uint8Array,
  { signal, library: find = installed, ...range }: PdfPages,
): Promise<PdfText> {
  const library = find()
  if (library === undefined) return { kind: 'no library' }
  const end = await inWorker(code, { library, bytes, ...range }, { signal, maxMs, maxMegabytes })
  if (end.kind === 'late') return { kind: 'failed', why: pdfTooSlow(maxMs / 1000) }
  if (end.kind === 'failed') return { kind: 'failed', why: `${end.why}.`.replace(/\.\.$/, '.') }
  // The code below returns this type.
  return { kind: 'text', ...(end.value as { pageCount: number; pages: readonly string[] }) }
}

function installed(): string | undefined {
  try {
    const require = createRequire(import.meta.url)
    return pathToFileURL(require.resolve('unpdf')).href
  } catch {
    return undefined
  }
}

const code = `
  const { getDocumentProxy } = await import(data.library)
  const pdf = await getDocumentProxy(new Uint8Array(data.bytes), { isEvalSupported: false, verbosity: 0 })
  const pages = []
  let characters = 0
  for (let number = data.first; number <= Math.min(data.last, pdf.numPages) && characters <= data.maxCharacters; number++) {
    const { items } = await (await pdf.getPage(number)).getTextContent()
    let text = ''
    for (const item of items) {
      text += (item.str ?? '') + (item.hasEOL ? '\\n' : '')
      if (text.length > data.maxCharacters) break
    }
    pages.push(text)
    characters += text.length
  }
  return { pageCount: pdf.numPages, pages }
`
