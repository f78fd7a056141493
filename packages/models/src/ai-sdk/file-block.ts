import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

/** The type of a block that holds a `custom` part: what one provider alone understands, by its `kind`. */
export const customBlock = 'ai_sdk_custom'

/** The type of a block that holds a file of the model's thinking. */
export const reasoningFileBlock = 'ai_sdk_reasoning_file'

/** A file that the model made: an image, or a document of some type; undefined when data or type are missing. */
export function fileBlock({ mediaType, data }: JsonObject): JsonObject | undefined {
  if (typeof mediaType !== 'string') return undefined
  const source = sourceOf(data, mediaType)
  if (source === undefined) return undefined
  return { type: mediaType.startsWith('image/') ? 'image' : 'document', source }
}

/** A file of the model's thinking, which goes back to this model alone; undefined when data or type are missing. */
export function reasoningFile({ mediaType, data }: JsonObject): JsonObject | undefined {
  if (typeof mediaType !== 'string') return undefined
  const source = sourceOf(data, mediaType)
  return source === undefined ? undefined : { type: reasoningFileBlock, media_type: mediaType, source }
}

/** Content of the provider's own; undefined where it does not name its kind. */
export function customContent({ kind }: JsonObject): JsonObject | undefined {
  return typeof kind === 'string' ? { type: customBlock, kind } : undefined
}

/** Version 3 has data as a plain value; version 4 as data or as an address. */
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
  const given: unknown = url
  return given instanceof URL ? given.href : typeof given === 'string' && URL.canParse(given) ? given : undefined
}
