import { isToolResult, type ModelMessage, type ToolResultBlock } from '../messages.ts'
import { clearedResult } from '../transcript.ts'
import type { ClearedResults, ContextView } from './port.ts'

/** A result is worth a note in its place when it has more characters than this. */
const leastLength = 1_000
/** Share of the threshold at which old results begin to give way. */
const clearFrom = 0.7
/** Share of the threshold that must come free: each time costs the provider's cache from the first note on. */
const leastFreed = 0.25
/** Share of the threshold that the newest results may keep. */
const newestKept = 0.15

/**
 * Old results that give way to notes, once the conversation is that long and enough comes free at once; the newest stay. In steps and
 * not on every turn, since the provider's cache is lost from the first note on.
 */
export function clearedResults(view: ContextView, threshold: number): ClearedResults | undefined {
  if (!Number.isFinite(threshold) || view.estimatedTokens < threshold * clearFrom) return undefined
  const messages = view.state.transcript.messages()
  const calls: string[] = []
  let freedTokens = 0
  for (const block of resultsBefore(messages, newestFrom(view, messages, threshold * newestKept))) {
    if (lengthOf(block) < leastLength) continue
    const [before, after] = [block, clearedResult(block)].map((result) =>
      view.tokensOf([{ role: 'user', content: [result] }]),
    )
    const freed = (before ?? 0) - (after ?? 0)
    if (freed <= 0) continue
    calls.push(block.tool_use_id)
    freedTokens += freed
  }
  return freedTokens < threshold * leastFreed ? undefined : { calls, freedTokens }
}

/** The index from which on results are kept: those of the last turn in any case. */
function newestFrom(view: ContextView, messages: readonly ModelMessage[], budget: number): number {
  let left = budget
  let isLast = true
  for (let index = messages.length - 1; index >= 0; index--) {
    const message = messages[index]
    if (message === undefined || !holdsResults(message)) continue
    left -= view.tokensOf([message])
    if (left < 0 && !isLast) return index + 1
    isLast = false
  }
  return 0
}

function holdsResults({ role, content }: ModelMessage): boolean {
  return role === 'user' && typeof content !== 'string' && content.some(isToolResult)
}

function* resultsBefore(messages: readonly ModelMessage[], end: number): Iterable<ToolResultBlock> {
  for (let index = 0; index < end; index++) {
    const content = messages[index]?.content
    if (content === undefined || typeof content === 'string') continue
    for (const block of content) if (isToolResult(block)) yield block
  }
}

function lengthOf({ content }: ToolResultBlock): number {
  return typeof content === 'string' ? content.length : JSON.stringify(content).length
}
