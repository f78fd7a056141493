import type { Json, JsonObject } from '@halting/core'

/** A file that the model made: an image, or a document of some type; undefined when data or type are missing. */
export function fileBlock({ mediaType, data }: JsonObject): JsonObject | undefined {
  const base64 = base64Of(data)
  if (typeof mediaType !== 'string' || base64 === undefined) return undefined
  const type = mediaType.startsWith('image/') ? 'image' : 'document'
  return { type, source: { type: 'base64', media_type: mediaType, data: base64 } }
}

function base64Of(data: Json | undefined): string | undefined {
  if (typeof data === 'string') return data
  const bytes: unknown = data
  return bytes instanceof Uint8Array ? Buffer.from(bytes).toString('base64') : undefined
}
