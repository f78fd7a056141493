import type { ContentBlock, ModelRequest } from '@halting/core'
import { blocksOf, type OpaqueBlock } from '@halting/core/adapters'
import { jsonCopyOf } from './json-copy.ts'
import type { AnswerPart, PlainJson, PromptMessage } from './language-model.ts'
import { fileData, mediaPart } from './media-part.ts'
import { isFromProvider, providerOptionsOf } from './origin.ts'
import { customBlock, reasoningFileBlock } from './file-block.ts'
import { traitsOf } from './provider-traits.ts'
import type { Provider } from './provider-traits.ts'
import { userTurn } from './user-turn.ts'
import { createdEarlier } from '../service/wire-texts.ts'

/** Who is asked. */
export interface TargetModel extends Provider {
  /** The id of the `Model` port. */
  readonly id: string
}

interface Answer {
  readonly content: readonly ContentBlock[]
  readonly by?: string
}

/** The conversation as the AI SDK writes it. */
export function promptOf({ system, messages }: ModelRequest, speaker: TargetModel): PromptMessage[] {
  const prompt: PromptMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  const toolNames = new Map<string, string>()
  const { takesInResult = () => false } = traitsOf(speaker)
  const forms = { toolNames, takesInResult }
  let asked: ContentBlock[] = []
  for (const message of messages) {
    if (message.role === 'user') {
      asked.push(...blocksOf(message.content))
      continue
    }
    prompt.push(...userTurn(asked, forms))
    asked = [...filesToShow(message, speaker)]
    for (const block of message.content) if (block.type === 'tool_use') toolNames.set(block.id, block.name)
    const content = message.content.flatMap((block) => answerPart(block, message, speaker) ?? [])
    if (content.length > 0) prompt.push({ role: 'assistant', content })
  }
  prompt.push(...userTurn(asked, forms))
  return prompt
}

/**
 * Files of an answer that its model does not get back as such: of another model, or through a package that would drop
 * them. They follow in the turn after it, so that nobody speaks of an image that the model cannot see.
 */
function filesToShow({ content, by }: Answer, speaker: TargetModel): readonly ContentBlock[] {
  return content.flatMap((block): readonly ContentBlock[] => {
    if (block.type !== 'image' && block.type !== 'document') return []
    if (isReturnable(block, by, speaker) || mediaPart(block)?.type !== 'file') return []
    return [{ type: 'text', text: createdEarlier(block.type === 'image' ? 'image' : 'file') }, block]
  })
}

function isReturnable(block: ContentBlock, by: string | undefined, speaker: TargetModel): boolean {
  if (!isOwnAnswer(by, speaker) || !isFromProvider(speaker.provider, block)) return false
  return traitsOf(speaker).takesModelFiles === true || providerOptionsOf(block).providerOptions !== undefined
}

function isOwnAnswer(by: string | undefined, { id }: TargetModel): boolean {
  return by === undefined || by === id
}

/**
 * A block of an answer; undefined for one that is not to be sent. What is signed goes to the model that signed it and
 * to no other: with the thinking of another model go its signatures, ids and calls of its service's own tools.
 */
function answerPart(block: ContentBlock, { by }: Answer, speaker: TargetModel): AnswerPart | undefined {
  const isOwn = isOwnAnswer(by, speaker)
  const isKnown = isOwn && isFromProvider(speaker.provider, block)
  const options = isKnown ? providerOptionsOf(block) : {}
  const isPlain = options.providerOptions === undefined
  switch (block.type) {
    case 'text':
      return isPlain && block.text.trim() === '' ? undefined : { type: 'text', text: block.text, ...options }
    case 'thinking':
      if (!isOwn || (isPlain && block.thinking === '')) return undefined
      return { type: 'reasoning', text: block.thinking, ...options }
    case 'tool_use':
      return { type: 'tool-call', toolCallId: block.id, toolName: block.name, input: block.input ?? {}, ...options }
    case 'image':
    case 'document': {
      if (!isReturnable(block, by, speaker)) return undefined
      const part = mediaPart(block)
      return part?.type === 'file' ? { ...part, ...options } : undefined
    }
    case 'server_tool_use':
    case 'server_tool_result':
      return isKnown ? serverPart(block, options) : undefined
    case customBlock:
      return isKnown ? customPart(block, options) : undefined
    case reasoningFileBlock:
      return isKnown ? reasoningFilePart(block, options) : undefined
    default:
      return undefined
  }
}

type Options = ReturnType<typeof providerOptionsOf>

function serverPart(block: OpaqueBlock, options: Options): AnswerPart | undefined {
  const { id, tool_use_id: callId, name: toolName } = block
  if (typeof toolName !== 'string') return undefined
  if (typeof id === 'string') {
    return { type: 'tool-call', toolCallId: id, toolName, input: block.input, providerExecuted: true, ...options }
  }
  // The AI SDK's JSON is a plain one that may be written to; a copy is.
  const value = jsonCopyOf(block.content) as PlainJson | undefined
  if (typeof callId !== 'string' || value === undefined) return undefined
  const output = { type: block.is_error === true ? ('error-json' as const) : ('json' as const), value }
  return { type: 'tool-result', toolCallId: callId, toolName, output, ...options }
}

function customPart({ kind }: OpaqueBlock, options: Options): AnswerPart | undefined {
  if (typeof kind !== 'string') return undefined
  const dot = kind.indexOf('.')
  return dot < 0 ? undefined : { type: 'custom', kind: `${kind.slice(0, dot)}.${kind.slice(dot + 1)}`, ...options }
}

function reasoningFilePart({ source, media_type: mediaType }: OpaqueBlock, options: Options): AnswerPart | undefined {
  const data = fileData(source)
  if (data === undefined || typeof mediaType !== 'string') return undefined
  return { type: 'reasoning-file', data, mediaType, ...options }
}
