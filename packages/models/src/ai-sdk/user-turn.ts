import type { ContentBlock } from '@halting/core'
import type { ToolResultBlock } from '@halting/core/adapters'
import type { FilePart, PromptMessage, TextPart, ToolResultPart } from './language-model.ts'
import { mediaPart } from './media-part.ts'
import { filesFollow, filesOfResult } from '../service/wire-texts.ts'

type AskedPart = TextPart | FilePart

/** How tool results are converted for one provider. */
export interface ResultForms {
  readonly toolNames: ReadonlyMap<string, string>
  /** Whether the provider's package sends this file in a result. */
  readonly takesInResult: (file: FilePart) => boolean
}

/**
 * Converts a user turn: tool results first, as services require, then the rest. Images and documents stay in a result
 * if the provider's package supports it. Otherwise they follow the results, because such packages reject them or
 * convert them to text.
 */
export function userTurn(blocks: readonly ContentBlock[], forms: ResultForms): readonly PromptMessage[] {
  const results: ToolResultPart[] = []
  const fromResults: AskedPart[] = []
  const others: AskedPart[] = []
  for (const block of blocks) {
    if (block.type === 'tool_result') {
      const { result, after } = resultPart(block, forms)
      results.push(result)
      fromResults.push(...after)
    } else {
      const part = askedPart(block)
      if (part !== undefined) others.push(part)
    }
  }
  const userParts = [...fromResults, ...others]
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(userParts.length > 0 ? [{ role: 'user' as const, content: userParts }] : []),
  ]
}

function resultPart(
  block: ToolResultBlock,
  { toolNames, takesInResult }: ResultForms,
): { readonly result: ToolResultPart; readonly after: readonly AskedPart[] } {
  const { tool_use_id: toolCallId, is_error: isError = false } = block
  const toolName = toolNames.get(toolCallId) ?? 'tool'
  const parts = partsOfResult(block)
  const texts = parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
  const files = parts.filter((part) => part.type === 'file')
  const common = { type: 'tool-result' as const, toolCallId, toolName }
  // A result with files cannot be marked as an error.
  if (files.length > 0 && !isError && files.every(takesInResult)) {
    return { result: { ...common, output: { type: 'content', value: parts } }, after: [] }
  }
  const text = texts.join('\n')
  const value = files.length === 0 ? text : withNote(text, files.length)
  return {
    result: { ...common, output: { type: isError ? 'error-text' : 'text', value } },
    after: files.length === 0 ? [] : [{ type: 'text', text: filesOfResult(toolName, toolCallId) }, ...files],
  }
}

function askedPart(block: ContentBlock): AskedPart | undefined {
  if (block.type !== 'text') return mediaPart(block)
  // Services reject text without a visible character.
  return block.text.trim() === '' ? undefined : { type: 'text', text: block.text }
}

function partsOfResult({ content }: ToolResultBlock): AskedPart[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }]
  return content.flatMap((block) => askedPart(block) ?? [])
}

function withNote(text: string, count: number): string {
  const note = filesFollow(count)
  return text === '' ? note : `${text}\n${note}`
}
