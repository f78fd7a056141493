import type { ContentBlock } from '@halting/core'
import { isJsonObject } from '@halting/core/adapters'

/** The sources that a block of a reply cites: title and location of each. Empty for any other block. A record may contain anything. */
export function replySources(block: ContentBlock): readonly string[] {
  if (block.type !== 'ai_sdk_sources' || !('sources' in block) || !Array.isArray(block.sources)) return []
  return block.sources.flatMap((source: unknown) => {
    if (!isJsonObject(source)) return []
    const { title, url, filename } = source
    const words = [title, url ?? filename].flatMap((text) => (typeof text === 'string' && text !== '' ? [text] : []))
    return words.length === 0 ? [] : [[...new Set(words)].join(': ')]
  })
}
