import { isToolResult } from '../model/messages.ts'
import { fixedPartTooLarge, fullAgain, messageTooLarge } from './context-texts.ts'
import { mostPromptTokens } from './thresholds.ts'
import type { ContextView, Thrash } from './port.ts'

/** So many compactions in a row, each before this many new replies: what fills the window comes back at once. */
const compactionsInARow = 3
const newReplies = 3

/** Undefined when another compaction may help. Only what this run did counts: the next run over the session may go on. */
export function thrashOf(view: ContextView): Thrash | undefined {
  const tooLarge = fixedPartOf(view)
  if (tooLarge !== undefined) return { kind: 'thrash', message: tooLarge }
  return compactedInVain(view)
}

// Spec R-CTX-17.
/** The same of what compactions were followed by alone: for a request that the service refused, whatever is believed of its window. */
export function compactedInVain(view: ContextView): Thrash | undefined {
  if (rowOf(view) < compactionsInARow) return undefined
  const message = fullAgain(newReplies, compactionsInARow, view.contextWindow)
  return { kind: 'thrash', message }
}

/**
 * Compactions at the end of the run, each fewer than three replies after the one before it, and the last fewer than three replies ago, whatever each one
 * saved. What comes together in one request, such as summaries that were not enough and what came after them, is one.
 */
function rowOf({ state }: ContextView): number {
  const { transcript, startLength } = state
  let row = 0
  let replies = 0
  for (let index = transcript.length - 1; index >= startLength; index--) {
    const entry = transcript.at(index)
    if (entry?.kind === 'assistant' && entry.error === undefined) replies++
    if (replies >= newReplies) break
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
  const usable = mostPromptTokens(model, contextWindow)
  if (fixedTokens >= usable) {
    const isSystem = system.length >= JSON.stringify(tools).length
    return fixedPartTooLarge(isSystem ? 0 : tools.length, fixedTokens, Math.floor(usable))
  }
  const last = state.transcript.messages().at(-1)
  if (last?.role !== 'user' || (typeof last.content !== 'string' && last.content.some(isToolResult))) return undefined
  const words = tokensOf([last])
  if (fixedTokens + words < usable) return undefined
  return messageTooLarge(words, Math.floor(usable - fixedTokens))
}
