import type { ContentBlock } from '@halting/core'
import type { ToolResultBlock } from '@halting/core/adapters'
import type { FilePart, PromptMessage, TextPart, ToolResultPart } from './language-model.ts'
import { mediaPart } from './media-part.ts'

type AskedPart = TextPart | FilePart

/**
 * What a user turn amounts to: the results of tools, which services want before anything else, then the rest.
 * Images and documents in a result follow after the results: most services take none in there, and a provider that
 * does not know better writes them out as text.
 */
export function userTurn(
  blocks: readonly ContentBlock[],
  toolNames: ReadonlyMap<string, string>,
): readonly PromptMessage[] {
  const results: ToolResultPart[] = []
  const fromResults: AskedPart[] = []
  const others: AskedPart[] = []
  for (const block of blocks) {
    if (block.type === 'tool_result') {
      const toolName = toolNames.get(block.tool_use_id) ?? 'tool'
      const { text, media } = readResult(block)
      const type = block.is_error === true ? ('error-text' as const) : ('text' as const)
      results.push({
        type: 'tool-result',
        toolCallId: block.tool_use_id,
        toolName,
        output: { type, value: media.length === 0 ? text : withNote(text, media.length) },
      })
      if (media.length > 0) {
        fromResults.push({ type: 'text', text: `From the result of ${toolName} (${block.tool_use_id}):` }, ...media)
      }
    } else {
      const part = askedPart(block)
      if (part !== undefined) others.push(part)
    }
  }
  const asked = [...fromResults, ...others]
  return [
    ...(results.length > 0 ? [{ role: 'tool' as const, content: results }] : []),
    ...(asked.length > 0 ? [{ role: 'user' as const, content: asked }] : []),
  ]
}

function askedPart(block: ContentBlock): AskedPart | undefined {
  if (block.type !== 'text') return mediaPart(block)
  // Services refuse text without a visible character.
  return block.text.trim() === '' ? undefined : { type: 'text', text: block.text }
}

function readResult({ content }: ToolResultBlock): {
  readonly text: string
  readonly media: readonly FilePart[]
} {
  if (typeof content === 'string') return { text: content, media: [] }
  const texts: string[] = []
  const media: FilePart[] = []
  for (const block of content) {
    const part = askedPart(block)
    if (part?.type === 'file') media.push(part)
    else if (part !== undefined) texts.push(part.text)
  }
  return { text: texts.join('\n'), media }
}

function withNote(text: string, count: number): string {
  const note = `[${count === 1 ? 'A file of this result is' : `${count} files of this result are`} shown below.]`
  return text === '' ? note : `${text}\n${note}`
}
