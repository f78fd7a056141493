import { isToolResult, type ModelMessage } from '../model/messages.ts'
import { clearedResult } from '../conversation/transcript.ts'
import type { ClearedResults, ContextView } from './port.ts'
import { longResultsOf } from './sizes.ts'

/** Share of the threshold at which old results begin to give way. */
const clearFrom = 0.7
/** Share of the threshold that must come free: each time costs the provider's cache from the first note on. */
const leastFreed = 0.4
/** Share of the threshold that the newest results may keep. */
const newestKept = 0.1

/**
 * Old results that give way to notes, once the conversation is that long and enough comes free at once; the newest stay. In steps and
 * not on every turn, since the provider's cache is lost from the first note on.
 */
export function clearedResults(view: ContextView, threshold: number): ClearedResults | undefined {
  if (!Number.isFinite(threshold) || view.estimatedTokens < threshold * clearFrom) return undefined
  const messages = view.state.transcript.messages()
  const end = newestFrom(view, messages, threshold * newestKept)
  // All of these messages is more than their results: most often it is not enough, and nothing more is looked at.
  if (view.clearableBefore(end) < threshold * leastFreed) return undefined
  const calls: string[] = []
  let freedTokens = 0
  for (const block of messages.slice(0, end).flatMap(longResultsOf)) {
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
    left -= view.tokensBetween(index, index + 1)
    if (left < 0 && !isLast) return index + 1
    isLast = false
  }
  return 0
}

function holdsResults({ role, content }: ModelMessage): boolean {
  return role === 'user' && typeof content !== 'string' && content.some(isToolResult)
}
