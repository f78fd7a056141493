import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** Type of a block with a `custom` part: content that only one provider understands, identified by its `kind`. */
export const customBlock = 'ai_sdk_custom'

/** Type of a block with a file from the model's reasoning. */
export const reasoningFileBlock = 'ai_sdk_reasoning_file'

/** Builds a block for a file that the model created: an image or a document. Undefined if data or type is missing. */
export function fileBlock({ mediaType, data }: JsonObject): JsonObject | undefined {
  if (typeof mediaType !== 'string') return undefined
  const source = sourceOf(data, mediaType)
  if (source === undefined) return undefined
  return { type: mediaType.startsWith('image/') ? 'image' : 'document', source }
}

/**
 * Builds a block for a file from the model's reasoning, which is sent back to this model only. Undefined if data or
 * type is missing.
 */
export function reasoningFile({ mediaType, data }: JsonObject): JsonObject | undefined {
  if (typeof mediaType !== 'string') return undefined
  const source = sourceOf(data, mediaType)
  return source === undefined ? undefined : { type: reasoningFileBlock, media_type: mediaType, source }
}

/** Builds a block for provider-specific content; undefined if it has no kind. */
export function customContent({ kind }: JsonObject): JsonObject | undefined {
  return typeof kind === 'string' ? { type: customBlock, kind } : undefined
}

/** Returns the source of a file. Version 3 has the data as a plain value; version 4 has data or a URL. */
function sourceOf(given: Json | undefined, mediaType: string): JsonObject | undefined {
  const data = isJsonObject(given) && given.type === 'data' ? given.data : given
  const base64 = base64Of(data)
  if (base64 !== undefined) return { type: 'base64', media_type: mediaType, data: base64 }
  if (!isJsonObject(given) || given.type !== 'url') return undefined
  const url = typeof given.originalUrl === 'string' ? given.originalUrl : addressOf(given.url)
  return url === undefined ? undefined : { type: 'url', url }
}

function base64Of(data: Json | undefined): string | undefined {
  if (typeof data === 'string') return data
  const bytes: unknown = data
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : undefined
}

function addressOf(url: Json | undefined): string | undefined {
  const address: unknown = url
  return address instanceof URL
    ? address.href
    : typeof address === 'string' && URL.canParse(address)
      ? address
      : undefined
}
