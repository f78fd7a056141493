import { isJsonObject } from '@halting/core/adapters'
import type { Json, JsonObject, ModelMessage } from '@halting/core'

type Block = Exclude<ModelMessage['content'], string>[number]

/**
 * The messages of a chat completion request, rendered in a straightforward way. The product is compared with this
 * rendering. `asked` is the id of the requested model.
 */
export function referenceMessages(system: string, messages: readonly ModelMessage[], asked: string): readonly Json[] {
  const rendered: Json[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  for (const message of messages) {
    if (message.role === 'assistant') rendered.push(...assistant(message.content, message.by, asked))
    else
      rendered.push(
        ...user(typeof message.content === 'string' ? [{ type: 'text', text: message.content }] : message.content),
      )
  }
  return rendered
}

/** The same for a service that rejects a user message right after a result. */
export function separated(messages: readonly Json[]): readonly Json[] {
  const roleOf = (message: Json | undefined): Json | undefined => (isJsonObject(message) ? message.role : undefined)
  return messages.flatMap((message, at) =>
    roleOf(message) === 'user' && roleOf(messages[at - 1]) === 'tool'
      ? [{ role: 'assistant', content: 'I have the results.' }, message]
      : [message],
  )
}

function user(blocks: readonly Block[]): readonly Json[] {
  const rendered: Json[] = []
  const parts: JsonObject[] = []
  for (const block of blocks) {
    if (block.type !== 'tool_result') continue
    const result = block
    const inside =
      typeof result.content === 'string' ? [{ type: 'text' as const, text: result.content }] : result.content
    const words = inside.map((part) => {
      if (part.type === 'text') return (part as { text: string }).text
      return part.type === 'image' ? '[The image follows below.]' : documentOf(part)
    })
    const content = words.join('\n')
    const mark = result.is_error === true && !content.toLowerCase().startsWith('error') ? 'Error: ' : ''
    rendered.push({ role: 'tool', tool_call_id: result.tool_use_id, content: mark + content })
    const images = inside.filter(({ type }) => type === 'image')
    if (images.length > 0) parts.push({ type: 'text', text: `Images in the result of call ${result.tool_use_id}:` })
    parts.push(...images.map(imageOf))
  }
  for (const block of blocks) {
    if (block.type === 'text' && (block as { text: string }).text.trim() !== '')
      parts.push({ type: 'text', text: (block as { text: string }).text })
    if (block.type === 'image') parts.push(imageOf(block))
    if (block.type === 'document') parts.push({ type: 'text', text: documentOf(block) })
  }
  if (parts.length === 0) return rendered
  const isPlain = parts.every(({ type }) => type === 'text')
  return [
    ...rendered,
    { role: 'user', content: isPlain ? parts.map(({ text }) => text as string).join('\n\n') : parts },
  ]
}

function imageOf(block: Block): JsonObject {
  const { source } = block as { source: { media_type: string; data: string } }
  return { type: 'image_url', image_url: { url: `data:${source.media_type};base64,${source.data}` } }
}

function documentOf(block: Block): string {
  const { source } = block as unknown as { source: { type: string; data: string } }
  return source.type === 'text' ? source.data : '[A document was omitted: it cannot be sent to this model.]'
}

function assistant(blocks: readonly Block[], by: string | undefined, asked: string): readonly Json[] {
  let text = ''
  let reasoning = ''
  const calls: Json[] = []
  for (const block of blocks as readonly (Record<string, unknown> & { type: string })[]) {
    const origin = block.origin as { api: string; field?: string; arguments?: string; extra_content?: Json } | undefined
    const isOwn = origin?.api === 'chat_completions' && (by === undefined || by === asked)
    if (block.type === 'text') text += block.text
    if (block.type === 'tool_use') {
      const args = origin?.api === 'chat_completions' ? origin.arguments : undefined
      calls.push({
        id: block.id as string,
        type: 'function',
        function: { name: block.name as string, arguments: args ?? JSON.stringify(block.input) },
        ...(isOwn && origin.extra_content !== undefined && { extra_content: origin.extra_content }),
      })
    }
    if (block.type === 'thinking' && isOwn) reasoning += block.thinking
  }
  if (text.trim() === '' && calls.length === 0) return []
  return [
    {
      role: 'assistant',
      content: text.trim() === '' ? null : text,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      ...(calls.length > 0 && { tool_calls: calls }),
    },
  ]
}
