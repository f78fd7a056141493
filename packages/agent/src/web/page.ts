import type { ContentBlock } from '@halting/core'
import { headOf, isPdf } from '@halting/core/adapters'
import type { FitImage } from '../media/fit-image.ts'
import type { PdfLibrary } from '../media/pdf-text.ts'
import type { Response } from './get.ts'
import * as texts from './web-fetch-texts.ts'

/** The content of a response for the model. */
export type Page =
  | { readonly kind: 'text'; readonly text: string; readonly type: string }
  | { readonly kind: 'image'; readonly block: ContentBlock; readonly type: string }
  | { readonly kind: 'refused'; readonly why: string }

export interface PageOptions {
  readonly url: string
  readonly signal: AbortSignal
  readonly fitImage: FitImage
  readonly pdfLibrary: PdfLibrary | undefined
  readonly maxCharacters: number
}

/** Converts the body by its type: HTML to Markdown, PDFs to their text; text and images are unchanged. */
export async function pageOf({ body, contentType }: Response, options: PageOptions): Promise<Page> {
  const { url: base, signal } = options
  const type = (/^[^;]*/.exec(contentType)?.[0] ?? '').trim().toLowerCase()
  if (type.startsWith('image/') && type !== 'image/svg+xml') {
    const image = await options.fitImage(body)
    return image.kind === 'image' ? { kind: 'image', block: image.block, type } : { kind: 'refused', why: image.why }
  }
  if (isPdf(body.subarray(0, 1024)) && (type === 'application/pdf' || !type.startsWith('text/'))) {
    const { pdfText } = await import('../media/pdf-text.ts')
    const { maxCharacters, pdfLibrary: library } = options
    const range = { first: 1, last: 50, maxCharacters, signal, ...(library !== undefined && { library }) }
    const read = await pdfText(body, range)
    if (read.kind === 'text') return { kind: 'text', text: read.pages.join('\n\n'), type }
    const why = read.kind === 'failed' ? read.why : texts.noPdfLibrary
    return { kind: 'refused', why: texts.pdfProblem(why) }
  }
  const isText = type === '' || type.startsWith('text/') || textTypes.test(type)
  if (!isText || (body.includes(0) && !/utf-?16/i.test(contentType)))
    return {
      kind: 'refused',
      why: texts.notText(headOf(type, 100), body.length),
    }
  const text = decodedText(body, contentType)
  const isHtml =
    type === 'text/html' ||
    type === 'application/xhtml+xml' ||
    (type === '' && /^\s*<(?:!doctype html|html)\b/i.test(text))
  if (!isHtml) return { kind: 'text', text, type }
  const { markdownOf } = await import('./html-to-markdown.ts')
  return { kind: 'text', text: await markdownOf(text, { base, signal }), type }
}

const textTypes =
  /^application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-javascript|ecmascript|typescript|x-sh|sql|graphql|x-ndjson|ld\+json)$|^image\/svg\+xml$/

/** Decodes in the character set that the server or the page declares. */
function decodedText(body: Buffer, contentType: string): string {
  const charsetPattern = /charset\s*=\s*["']?([\w-]+)/i
  const name =
    charsetPattern.exec(contentType)?.[1] ??
    charsetPattern.exec(body.subarray(0, 2048).toString('latin1'))?.[1] ??
    'utf-8'
  try {
    return new TextDecoder(name).decode(body)
  } catch {
    return new TextDecoder().decode(body)
  }
}
