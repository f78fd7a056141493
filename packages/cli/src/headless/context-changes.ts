import type { RunEvent, TranscriptEntry } from '@halting/core'
import { many, rounded } from '../io/figures.ts'

/** A change of the context window for display; undefined for other events. */
export interface ContextChange {
  readonly kind: 'compacted' | 'not compacted' | 'cleared'
  readonly text: string
}

export function contextChangeOf(event: RunEvent): ContextChange | undefined {
  switch (event.type) {
    case 'message':
      return compactionChange(event.entry)
    case 'compact_end':
      return event.compacted ? undefined : { kind: 'not compacted', text: `not compacted: ${event.message}` }
    case 'results_cleared': {
      const what = many(event.calls, 'old result')
      return { kind: 'cleared', text: `${what} pruned, ${rounded(event.freedTokens)} tokens freed` }
    }
    default:
      return undefined
  }
}

const compactionTexts = {
  auto: 'compacted',
  manual: 'compacted',
  reactive: 'compacted, since the request was too long',
  collapse: 'finished work summarized',
} as const

function compactionChange(entry: TranscriptEntry): ContextChange | undefined {
  if (entry.kind !== 'compact_boundary' || entry.trigger === 'hook') return undefined
  const { trigger, preTokens, postTokens } = entry
  return {
    kind: 'compacted',
    text: `${compactionTexts[trigger]}: ${rounded(preTokens)} → ${rounded(postTokens)} tokens`,
  }
}
