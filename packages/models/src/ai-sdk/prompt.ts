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

/** The model that receives the prompt. */
export interface TargetModel extends Provider {
  /** Id of the `Model`. */
  readonly id: string
}

interface Answer {
  readonly content: readonly ContentBlock[]
  readonly by?: string
}

/** Builds the conversation for the AI SDK. */
export function promptOf({ system, messages }: ModelRequest, speaker: TargetModel): PromptMessage[] {
  const prompt: PromptMessage[] = system.trim() === '' ? [] : [{ role: 'system', content: system }]
  const toolNames = new Map<string, string>()
  const { takesInResult = () => false } = traitsOf(speaker)
  const forms = { toolNames, takesInResult }
  let userBlocks: ContentBlock[] = []
  for (const message of messages) {
    if (message.role === 'user') {
      userBlocks.push(...blocksOf(message.content))
      continue
    }
    prompt.push(...userTurn(userBlocks, forms))
    userBlocks = [...filesToShow(message, speaker)]
    for (const block of message.content) if (block.type === 'tool_use') toolNames.set(block.id, block.name)
    const content = message.content.flatMap((block) => answerPart(block, message, speaker) ?? [])
    if (content.length > 0) prompt.push({ role: 'assistant', content })
  }
  prompt.push(...userTurn(userBlocks, forms))
  return prompt
}

/**
 * Returns files of a reply that the target model cannot receive as its own: from another model, or through a package
 * that drops them. They follow in the next user turn, so that the conversation does not mention images the model cannot
 * see.
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
 * Converts a block of a reply; undefined if the block is not sent. Signed content is sent only to the model that
 * signed it. If the reasoning of another model is dropped, its signatures, ids and server tool calls are dropped, too.
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
  // The AI SDK requires mutable JSON; this copy is.
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
