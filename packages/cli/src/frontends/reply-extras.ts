import { replySources } from '@halting/analysis/words'
import { isJsonObject } from '@halting/core/adapters'
import type { ContentBlock } from '@halting/core'

/**
 * A block of a reply that is neither text nor thinking, as Markdown: the sources of the reply, or a file that the model
 * created. Undefined for any other block.
 */
export function replyExtra(block: ContentBlock): string | undefined {
  switch (block.type) {
    case 'image':
    case 'document':
      return fileLine(block.type === 'image' ? 'An image' : 'A file', block.source)
    default: {
      const lines = replySources(block).map((source) => `- ${source}`)
      return lines.length === 0 ? undefined : ['Sources:', '', ...lines].join('\n')
    }
  }
}

/** All such blocks of a reply, in order. */
export function replyExtras(content: readonly ContentBlock[]): readonly string[] {
  return content.flatMap((block) => replyExtra(block) ?? [])
}

function fileLine(what: string, source: unknown): string | undefined {
  if (!isJsonObject(source)) return undefined
  const { url, data, media_type: mediaType } = source
  if (typeof url === 'string') return `[${what}: ${url}]`
  if (typeof data !== 'string') return undefined
  const kilobytes = Math.ceil((data.length * 3) / 4 / 1024)
  return `[${what}, ${typeof mediaType === 'string' ? mediaType : 'of unknown type'}, ${kilobytes} kB: halting sessions export shows it]`
}
