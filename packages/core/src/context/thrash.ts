import { isToolResult } from '../messages.ts'
import { usableTokens } from './thresholds.ts'
import type { ContextView, Thrash } from './port.ts'

/** So many compactions with hardly a turn between them, and what fills the window comes back at once (seed 000: `compaction_thrash`). */
const compactionsInARow = 3

/** Undefined when another compaction may help. Only what this run did counts: the next run over the session may go on. */
export function thrashOf(view: ContextView): Thrash | undefined {
  const tooLarge = fixedPartOf(view)
  if (tooLarge !== undefined) return { kind: 'thrash', message: tooLarge }
  if (rowOf(view) < compactionsInARow) return undefined
  const message = `The conversation was full again right after it was compacted, ${compactionsInARow} times in a row: what fills it comes back at once. Ask for less at once, or use a model with a larger window (${view.contextWindow} tokens).`
  return { kind: 'thrash', message }
}

/**
 * Compactions at the end of the run, each one reply after the one before it, and the last at most one reply ago. What comes together in one request,
 * such as summaries that were not enough and what came after them, is one.
 */
function rowOf({ state }: ContextView): number {
  const { transcript, startLength } = state
  let row = 0
  let replies = 0
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) replies++
    if (replies > 1) break
    // What a hook replaced made no room: it may do so before every turn.
    if (entry?.kind !== 'compact_boundary' || entry.trigger === 'hook') continue
    if (row === 0 || replies > 0) row++
    replies = 0
  }
  return row
}

/** What no compaction can take away: system prompt, tools, and the newest message of the person. */
function fixedPartOf(view: ContextView): string | undefined {
  const { model, contextWindow, fixedTokens, system, tools, state, tokensOf } = view
  const usable = usableTokens(model, contextWindow)
  if (fixedTokens >= usable) {
    const isSystem = system.length >= JSON.stringify(tools).length
    const part = isSystem ? 'The system prompt' : tools.length === 1 ? 'The one tool' : `The ${tools.length} tools`
    return `${part} alone: about ${fixedTokens} tokens are sent with every request, and ${Math.floor(usable)} fit beside a reply. Make ${isSystem || tools.length === 1 ? 'it' : 'them'} shorter, or use a model with a larger window.`
  }
  const last = state.transcript.messages().at(-1)
  if (last?.role !== 'user' || (typeof last.content !== 'string' && last.content.some(isToolResult))) return undefined
  const words = tokensOf([last])
  if (fixedTokens + words < usable) return undefined
  return `The message alone: it has about ${words} tokens, and ${Math.floor(usable - fixedTokens)} fit. Put long text into a file and name the file, or use a model with a larger window.`
}
