import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import * as texts from '../mcp-texts.ts'
import type { Repair } from './reports.ts'
import { withoutUndefinedFields, isDeeperThan, listIn, nameFor, textIn, withValidMeta } from './values.ts'

/** Deeper data is not shown: serializing it would overflow the stack. */
const deepestData = 500

/** The result of a tool. An unknown or empty block becomes a text that names it; the others are unchanged. */
export const repairCallResult: Repair = (result) => {
  const { content, structuredContent, isError, ...rest } = withValidMeta(result)
  // A request of the server for input, which precedes its result.
  if (rest['resultType'] === 'input_required') return result
  const blocks = listIn(content)
  // The content of a result must be a list.
  if (blocks === undefined) return result
  const isDeep = structuredContent !== undefined && isDeeperThan(deepestData, structuredContent)
  const note = isDeep ? [textBlock(texts.deepContent)] : []
  return withoutUndefinedFields({
    ...rest,
    content: [...blocks.map(contentBlock), ...note],
    structuredContent: isDeep ? undefined : dataOf(structuredContent, rest),
    isError: isTrue(isError) ? true : isError === false ? false : undefined,
  })
}

/** Messages of a prompt; a list of contents becomes one message each. */
export const repairPrompt: Repair = (result) => {
  const { messages, description, ...rest } = withValidMeta(result)
  const list = listIn(messages)
  if (list === undefined || messages === undefined) return result
  return withoutUndefinedFields({
    ...rest,
    description: textIn(description),
    messages: list.flatMap((message) => {
      const { role, content } = isJsonObject(message) ? message : { role: 'user', content: message }
      const blocks = Array.isArray(content) ? content : [content ?? null]
      return blocks.map((block: Json) => ({
        role: role === 'assistant' ? role : 'user',
        content: contentBlock(block),
      }))
    }),
  })
}

/** The contents of a resource, part by part. */
export const repairResourceContents: Repair = (result) => {
  const { contents, ttlMs, cacheScope, ...rest } = withValidMeta(result)
  const parts = listIn(contents)
  if (parts === undefined || contents === undefined) return result
  return withoutUndefinedFields({
    ...rest,
    contents: parts.map((part) => resourceOf(part) ?? { uri: '', text: texts.partWithoutContent }),
    ...(rest['resultType'] !== undefined && {
      ttlMs: Number.isInteger(ttlMs) && Number(ttlMs) >= 0 ? ttlMs : 0,
      cacheScope: cacheScope === 'public' ? cacheScope : 'private',
    }),
  })
}

/** Reads a flag leniently: a failure must never be shown as a success. */
function isTrue(isError: Json | undefined): boolean {
  return isError === true || isError === 1 || (typeof isError === 'string' && isError.toLowerCase() === 'true')
}

/** Returns structured data. Revisions before 2026-07-28, whose results have no `resultType`, allow only objects. */
function dataOf(data: Json | undefined, { resultType }: JsonObject): Json | undefined {
  if (data === undefined || resultType !== undefined) return data
  return data === null ? undefined : isJsonObject(data) ? data : { result: data }
}

function contentBlock(block: Json): JsonObject {
  if (typeof block === 'string') return textBlock(block)
  if (!isJsonObject(block)) return textBlock(texts.invalidBlock)
  const { type } = block
  const read = typeof type === 'string' && Object.hasOwn(readers, type) ? readers[type]?.(block) : undefined
  if (read !== undefined) return read
  const name = nameFor(type) || texts.untypedBlock
  const isKnown = typeof type === 'string' && Object.hasOwn(readers, type)
  return textBlock(isKnown ? texts.emptyBlock(name) : texts.unknownBlock(name))
}

/** Readers of the block kinds, with the fields that this program uses; undefined if a block has no content. */
const readers: Readonly<Record<string, (block: JsonObject) => JsonObject | undefined>> = {
  text({ text }) {
    if (text === undefined || text === null) return undefined
    return textBlock(typeof text === 'string' ? text : isDeeperThan(deepestData, text) ? '' : JSON.stringify(text))
  },
  image: ({ data, mimeType }) => media('image', data, mimeType),
  audio: ({ data, mimeType }) => media('audio', data, mimeType),
  resource_link({ uri, name, title, description, mimeType }) {
    if (typeof uri !== 'string') return undefined
    return withoutUndefinedFields({
      type: 'resource_link',
      uri,
      name: textIn(name) ?? uri,
      title: textIn(title),
      description: textIn(description),
      mimeType: textIn(mimeType),
    })
  },
  resource({ resource }) {
    const read = resourceOf(resource)
    return read === undefined ? undefined : { type: 'resource', resource: read }
  },
}

function media(type: 'image' | 'audio', data: Json | undefined, mimeType: Json | undefined): JsonObject | undefined {
  const bytes = base64Of(data)
  return bytes === undefined ? undefined : { type, data: bytes, mimeType: textIn(mimeType) ?? '' }
}

function resourceOf(resource: Json | undefined): JsonObject | undefined {
  if (!isJsonObject(resource)) return undefined
  const { uri, text, blob, mimeType } = resource
  const about = { uri: textIn(uri) ?? '', mimeType: textIn(mimeType) }
  if (typeof text === 'string') return withoutUndefinedFields({ ...about, text })
  const bytes = base64Of(blob)
  return bytes === undefined ? undefined : withoutUndefinedFields({ ...about, blob: bytes })
}

/** Returns base64 data as the client accepts it: not the URL-safe form, and not a whole `data:` URL. */
function base64Of(data: Json | undefined): string | undefined {
  if (typeof data !== 'string') return undefined
  const comma = data.startsWith('data:') ? data.indexOf(',') : -1
  const encoded = data.slice(comma + 1)
  if (encoded.length % 4 === 0 && /^[A-Za-z\d+/]*={0,2}$/.test(encoded)) return encoded
  return Buffer.from(encoded, 'base64').toString('base64')
}

function textBlock(text: string): JsonObject {
  return { type: 'text', text }
}
