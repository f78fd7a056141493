import { blocksOf, isToolResult, toolCallsOf, type ContentBlock, type ModelMessage } from '../model/messages.ts'

// Spec R-TOOL-1.
/**
 * Problems for which the Messages API would refuse a list of messages; empty when it would accept them.
 * The API merges consecutive messages with the same role.
 */
export function transcriptProblems(messages: readonly ModelMessage[]): readonly string[] {
  const merged = mergeNeighbours(messages)
  const problems: string[] = []
  if (merged.length === 0) return ['the list is empty']
  if (merged[0]?.role !== 'user') problems.push('the first message is not from the user')
  const used = new Set<string>()
  let open: string[] = []
  for (const [index, message] of merged.entries()) {
    const where = `message ${index} (${message.role})`
    if (message.content.length === 0) problems.push(`${where} is empty`)
    for (const block of message.content) {
      if (block.type === 'text' && block.text === '') problems.push(`${where} has an empty text block`)
    }
    if (message.role === 'assistant') {
      if (open.length > 0) problems.push(`${where} comes before the results of ${open.join(', ')}`)
      open = toolCallsOf(message).map(({ id }) => id)
      for (const id of open) {
        if (id === '') problems.push(`${where} has a call without an id`)
        else if (used.has(id)) problems.push(`${where} uses the call id ${id} again`)
        used.add(id)
      }
      for (const block of message.content) if (isToolResult(block)) problems.push(`${where} contains a tool result`)
      continue
    }
    problems.push(...resultProblems(message.content, open, where))
    open = []
  }
  if (open.length > 0) problems.push(`the last message leaves ${open.join(', ')} without a result`)
  return problems
}

function resultProblems(content: readonly ContentBlock[], open: readonly string[], where: string): readonly string[] {
  const problems: string[] = []
  const answered = new Set<string>()
  let resultsEnded = false
  for (const block of content) {
    if (!isToolResult(block)) {
      resultsEnded = true
      continue
    }
    if (resultsEnded) problems.push(`${where} has a tool result after other blocks`)
    if (!open.includes(block.tool_use_id))
      problems.push(`${where} answers ${block.tool_use_id}, but there is no such call`)
    if (answered.has(block.tool_use_id)) problems.push(`${where} answers ${block.tool_use_id} twice`)
    if (block.is_error === true && block.content.length === 0) problems.push(`${where} has an empty error result`)
    if (Array.isArray(block.content) && !block.content.every(mayStandInResult))
      problems.push(`${where} has a result with an invalid block`)
    answered.add(block.tool_use_id)
  }
  for (const id of open) if (!answered.has(id)) problems.push(`${where} does not answer ${id}`)
  return problems
}

/** Text, images, documents and search results: a tool result may contain no other block. */
function mayStandInResult(block: unknown): boolean {
  if (typeof block !== 'object' || block === null || !('type' in block)) return false
  switch (block.type) {
    case 'text':
      return 'text' in block && typeof block.text === 'string' && block.text !== ''
    case 'image':
    case 'document':
      return 'source' in block && typeof block.source === 'object' && block.source !== null
    default:
      return block.type === 'search_result' || block.type === 'tool_reference'
  }
}

interface Merged {
  readonly role: 'user' | 'assistant'
  readonly content: ContentBlock[]
}

function mergeNeighbours(messages: readonly ModelMessage[]): readonly Merged[] {
  const merged: Merged[] = []
  for (const { role, content } of messages) {
    const blocks = blocksOf(content)
    const last = merged.at(-1)
    if (last?.role === role) last.content.push(...blocks)
    else merged.push({ role, content: [...blocks] })
  }
  return merged
}
