import { isJsonObject } from '@halting/core/adapters'
import type { ContentBlock } from '@halting/core'

/**
 * What a person is told of a block of a reply that is neither text nor thought: the sources of the reply, or a file that the model made;
 * undefined for any other. As Markdown.
 */
export function replyExtra(block: ContentBlock): string | undefined {
  switch (block.type) {
    case 'ai_sdk_sources':
      return sourceLines('sources' in block ? block.sources : undefined)
    case 'image':
    case 'document':
      return fileLine(block.type === 'image' ? 'An image' : 'A file', block.source)
    default:
      return undefined
  }
}

/** All of a reply, in order. */
export function replyExtras(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => replyExtra(block) ?? [])
}

function sourceLines(sources: unknown): string | undefined {
  if (!Array.isArray(sources)) return undefined
  const lines = sources.flatMap((source: unknown) => {
    if (!isJsonObject(source)) return []
    const [title, place] = [source['title'], source['url'] ?? source['filename']].map((text) =>
      typeof text === 'string' ? text : '',
    )
    const words = [title, place].filter((text, index, all) => text !== '' && all.indexOf(text) === index)
    return words.length === 0 ? [] : [`- ${words.join(': ')}`]
  })
  return lines.length === 0 ? undefined : ['Sources:', '', ...lines].join('\n')
}

function fileLine(what: string, source: unknown): string | undefined {
  if (!isJsonObject(source)) return undefined
  const { url, data, media_type: mediaType } = source
  if (typeof url === 'string') return `[${what}: ${url}]`
  if (typeof data !== 'string') return undefined
  const kilobytes = Math.ceil((data.length * 3) / 4 / 1024)
  return `[${what}, ${typeof mediaType === 'string' ? mediaType : 'of unknown type'}, ${kilobytes} kB: halting sessions export shows it]`
}
