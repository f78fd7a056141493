import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'
import { listOf, stringOf } from '../json-fields.ts'

/** The type of a block with the pages and documents that a reply is founded on. */
const sourcesBlock = 'ai_sdk_sources'

/** Most sources that are kept of one reply. */
const mostSources = 200

/** What a reply is founded on, each once. */
export class Sources {
  readonly #found = new Map<string, JsonObject>()

  add(part: JsonObject): void {
    const source = sourceOf(part)
    if (source === undefined) return
    const key = stringOf(source.url) || `${stringOf(source.title)}\n${stringOf(source.filename)}`
    if (!this.#found.has(key) && this.#found.size < mostSources) this.#found.set(key, source)
  }

  /** The block that tells them; undefined without any. */
  block(): JsonObject | undefined {
    return this.#found.size === 0 ? undefined : { type: sourcesBlock, sources: [...this.#found.values()] }
  }
}

/** A source as it is kept: an address or a document, and its title. */
function sourceOf(source: JsonObject): JsonObject | undefined {
  const title = stringOf(source.title)
  const named = title === '' ? {} : { title }
  if (source.sourceType === 'url') {
    const url = stringOf(source.url)
    return url === '' ? undefined : { type: 'url', url, ...named }
  }
  if (source.sourceType !== 'document') return undefined
  const filename = stringOf(source.filename)
  if (title === '' && filename === '') return undefined
  return { type: 'document', ...named, ...(filename !== '' && { filename }), media_type: stringOf(source.mediaType) }
}

/** What supports a text, as citations of its block. */
export function citationsOf(citations: Json | undefined): readonly JsonObject[] {
  return listOf(citations).flatMap((citation) => {
    if (!isJsonObject(citation) || !isJsonObject(citation.source)) return []
    const source = sourceOf(citation.source)
    if (source === undefined) return []
    const { type, ...place } = source
    const cited = { cited_text: stringOf(citation.citedText) }
    // The name that the Messages API has for it, and our reader of the Responses API.
    return [{ type: type === 'url' ? 'web_search_result_location' : 'document_citation', ...place, ...cited }]
  })
}
