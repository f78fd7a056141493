import type { Hook, Json, RunEvent } from '@halting/core'
import { isJsonObject, textOf } from '@halting/core/adapters'
import { latestTexts, suggestionOf } from './prompt-suggestion.ts'
import { conversationBlock, summaryPrompt } from './after-texts.ts'

/** Options of the progress summaries of background agents. */
export interface AgentSummaryOptions {
  /** Minimum time between two summaries of an agent, in milliseconds (default: 30,000). */
  readonly everyMs?: number
}

const id = 'halting:agent-summary'
/** Metadata key of the progress summary; the run records an agent's metadata. */
const key = 'halting:progress'
const timeoutMs = 15_000

// Spec R-HOST-16.
/**
 * Asks the model of a subagent for a one-line progress summary, at most once per interval and only after new work. The
 * request is part of the agent's run: it counts against its budget and is recorded. The agent waits for the reply.
 */
export function agentSummaryHook({ everyMs = 30_000 }: AgentSummaryOptions = {}): Hook {
  return {
    id,
    triggers: ['beforeStep'],
    priority: -1_000,
    handle(context) {
      if (context.agentType === null) return undefined
      const state = context.state()
      const atMs = state.execution()?.figures.durationMs ?? 0
      if (atMs - storedSummary(state.metadata[key]).atMs < everyMs) return undefined
      if (!state.transcript.since(0).some(({ kind }) => kind === 'assistant')) return undefined
      const conversation = latestTexts(state.transcript, 'text+calls')
      const content = conversationBlock(conversation)
      const answer = context.ask({
        system: summaryPrompt,
        messages: [{ role: 'user', content }],
        maxOutputTokens: 256,
        timeoutMs,
      })
      return answer.then((reply) => {
        const summary = reply.kind === 'answered' ? suggestionOf(textOf(reply.message.content)) : ''
        return context.withState(state.withMetadata(key, { atMs, summary }))
      })
    },
  }
}

/** The progress summary in an event of an agent; undefined if it has none. */
export function agentSummaryIn(event: RunEvent): string | undefined {
  if (event.type !== 'hook_end' || event.hook !== id || !('metadata' in event.outcome)) return undefined
  const { summary } = storedSummary(event.outcome.metadata?.[key])
  return summary === '' ? undefined : summary
}

function storedSummary(value: Json | undefined): { readonly atMs: number; readonly summary: string } {
  const { atMs, summary } = isJsonObject(value) ? value : {}
  return { atMs: typeof atMs === 'number' ? atMs : 0, summary: typeof summary === 'string' ? summary : '' }
}
