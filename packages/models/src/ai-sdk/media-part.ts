import { isJsonObject } from '@halting/core/adapters'
import type { ContentBlock, JsonObject } from '@halting/core'
import type { FileData, FilePart, TextPart } from './language-model.ts'
import { documentOmitted, imageOmitted } from '../service/wire-texts.ts'

/**
 * Converts an attached image, document or search result. Content that the AI SDK cannot carry becomes text. Undefined
 * for any other block.
 */
export function mediaPart(block: ContentBlock): FilePart | TextPart | undefined {
  switch (block.type) {
    case 'image':
      return filePart(block.source, 'image/*') ?? text(imageOmitted)
    case 'document':
      return documentPart(block)
    case 'search_result':
      return text(`${field(block, 'title')} (${field(block, 'source')})\n${textsIn(block.content)}`)
    default:
      return undefined
  }
}

function documentPart(block: { readonly [field: string]: unknown }): FilePart | TextPart {
  const title = field(block, 'title')
  const source: unknown = block.source
  const file = filePart(source, 'application/pdf')
  if (file !== undefined) return title === '' ? file : { ...file, filename: title }
  const words = isJsonObject(source) ? field(source, 'data') || textsIn(source.content) : ''
  if (words === '') return text(documentOmitted(title))
  return text(title === '' ? words : `${title}\n${words}`)
}

function filePart(source: unknown, anyType: string): FilePart | undefined {
  const data = fileData(source)
  if (data === undefined) return undefined
  const mediaType = isJsonObject(source) ? field(source, 'media_type') : ''
  return { type: 'file', data, mediaType: mediaType === '' ? anyType : mediaType }
}

/** Returns the file data of a block's source; undefined for a source that is neither base64 nor a URL. */
export function fileData(source: unknown): FileData | undefined {
  if (!isJsonObject(source)) return undefined
  const { type, data, url } = source
  if (type === 'base64' && typeof data === 'string') return { type: 'data', data }
  if (type !== 'url' || typeof url !== 'string' || !URL.canParse(url)) return undefined
  const parsed = new URL(url)
  return { type: 'url', url: parsed, ...(parsed.href !== url && { originalUrl: url }) }
}

function textsIn(content: unknown): string {
  if (typeof content === 'string') return content
  if (!Array.isArray(content)) return ''
  return content.flatMap((part: unknown) => (isJsonObject(part) ? [field(part, 'text')] : [])).join('\n')
}

function field(block: JsonObject | { readonly [field: string]: unknown }, name: string): string {
  const value = block[name]
  return typeof value === 'string' ? value : ''
}

function text(words: string): TextPart {
  return { type: 'text', text: words }
}
