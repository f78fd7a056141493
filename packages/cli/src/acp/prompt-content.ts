import { fileURLToPath } from 'node:url'
import type { ContentBlock as AcpBlock } from '@agentclientprotocol/sdk'
import type { ContentBlock, MessageContent } from '@halting/core'
import { type ImageBlock, headOf } from '@halting/core/adapters'
import type { PromptPart } from '@halting/agent/open-session'

/** A prompt of a client, with the words of the person separate from what the editor added. */
export interface ClientPrompt {
  /** The person's text with the names of mentioned files. Only this is searched for a command. */
  readonly text: string
  /** The content in parts. Only the words of the person are searched for `@` files. */
  readonly parts: readonly PromptPart[]
  /** Contents from the editor, and other parts that are sent unchanged after the text. */
  readonly rest: string
  readonly images: readonly ImageBlock[]
}

export function readClientPrompt(prompt: readonly AcpBlock[]): ClientPrompt {
  const parts: PromptPart[] = []
  let rest = ''
  const images: ImageBlock[] = []
  for (const block of prompt) {
    switch (block.type) {
      case 'text':
        parts.push({ text: block.text, isName: false })
        break
      case 'image':
        images.push(imageOf(block.mimeType, block.data))
        break
      case 'resource_link':
        parts.push({ text: mention(block.uri, block.name), isName: true })
        break
      case 'resource': {
        const { resource } = block
        if ('text' in resource) {
          parts.push({ text: mention(resource.uri, resource.uri), isName: true })
          rest += embeddedFile(resource.uri, resource.text)
        } else if (resource.mimeType?.startsWith('image/') === true)
          images.push(imageOf(resource.mimeType, resource.blob))
        else
          rest += `\n[${uriLabel(resource.uri)} (${resource.mimeType ?? 'of an unknown type'}) was given as bytes, which cannot be shown.]\n`
        break
      }
      case 'audio':
        rest += '\n[Audio was given, which this agent does not hear.]\n'
    }
  }
  return { text: parts.map(({ text }) => text).join(''), parts, rest, images }
}

function imageOf(mediaType: string, data: string): ImageBlock {
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data } }
}

/** The content followed by the images. */
export function withImages(content: MessageContent, images: readonly ImageBlock[]): MessageContent {
  if (images.length === 0) return content
  const blocks: readonly ContentBlock[] =
    typeof content !== 'string' ? content : content === '' ? [] : [{ type: 'text', text: content }]
  return [...blocks, ...images]
}

/** A file path in backticks: it is not a command, and the model reads the file when it needs to. */
function mention(uri: string, name: string): string {
  const path = pathOf(uri)
  return path === undefined ? `[${name}](${headOf(uri, 2_000)})` : `\`${path}\``
}

/** The content of a file in the editor, which may differ from the saved file. */
function embeddedFile(uri: string, content: string): string {
  return `\n<context ref="${uriLabel(uri).replaceAll('"', '&quot;')}">\n${content}\n</context>\n`
}

function uriLabel(uri: string): string {
  return pathOf(uri) ?? headOf(uri, 2_000)
}

/** The path of a file, with the line range in its fragment. */
function pathOf(uri: string): string | undefined {
  if (!uri.startsWith('file://')) return undefined
  try {
    const { hash } = new URL(uri)
    return fileURLToPath(uri.split('#')[0] ?? uri) + decodeURIComponent(hash)
  } catch {
    return undefined
  }
}

/** A prompt as blocks for a client that replays an earlier conversation. */
export function promptBlocksOf(content: MessageContent): readonly AcpBlock[] {
  if (typeof content === 'string') return content === '' ? [] : [{ type: 'text', text: content }]
  return content.flatMap((block): readonly AcpBlock[] => blockForClient(block))
}

/** A block of a message or result, as far as a client can show it. */
export function blockForClient(block: ContentBlock): readonly AcpBlock[] {
  // This cast is safe: a block of an unknown type may have any fields.
  const { type, text, source } = block as {
    readonly type: string
    readonly text?: unknown
    readonly source?: ImageBlock['source']
  }
  if (type === 'text' && typeof text === 'string') return text === '' ? [] : [{ type: 'text', text: text }]
  if (type === 'image' && typeof source?.data === 'string')
    return [{ type: 'image', mimeType: source.media_type ?? 'image/png', data: source.data }]
  if (type === 'image' || type === 'document') return [{ type: 'text', text: `[${type}]` }]
  return []
}
