import type { Hook, Json, RunEvent } from '@halting/core'
import { isJsonObject, textOf } from '@halting/core/adapters'
import { lastSaid, suggestionOf } from './prompt-suggestion.ts'
import { conversationBlock, summaryPrompt } from './after-texts.ts'

/** Options of the summaries of background agents. */
export interface AgentSummaryOptions {
  /** Milliseconds that an agent works between two of them; 30,000 when absent. */
  readonly everyMs?: number
}

const id = 'halting:agent-summary'
/** In the metadata of the agent: it goes with its record. */
const key = 'halting:progress'
const timeoutMs = 15_000

// Spec R-HOST-16.
/**
 * Has the model of a subagent say in a line what the agent is doing, at most so often and only after it did something. The question goes
 * through the run: it is in its budget, figures and record. The agent waits for the answer.
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
      if (atMs - toldIn(state.metadata[key]).atMs < everyMs) return undefined
      if (!state.transcript.since(0).some(({ kind }) => kind === 'assistant')) return undefined
      const conversation = lastSaid(state.transcript, 'text+calls')
      const content = conversationBlock(conversation)
      const asked = context.ask({
        system: summaryPrompt,
        messages: [{ role: 'user', content }],
        maxOutputTokens: 256,
        timeoutMs,
      })
      return asked.then((reply) => {
        const summary = reply.kind === 'answered' ? suggestionOf(textOf(reply.message.content)) : ''
        return context.withState(state.withMetadata(key, { atMs, summary }))
      })
    },
  }
}

/** What an event of an agent tells of what it is doing; undefined for nothing. */
export function agentSummaryIn(event: RunEvent): string | undefined {
  if (event.type !== 'hook_end' || event.hook !== id || !('metadata' in event.outcome)) return undefined
  const { summary } = toldIn(event.outcome.metadata?.[key])
  return summary === '' ? undefined : summary
}

function toldIn(told: Json | undefined): { readonly atMs: number; readonly summary: string } {
  const { atMs, summary } = isJsonObject(told) ? told : {}
  return { atMs: typeof atMs === 'number' ? atMs : 0, summary: typeof summary === 'string' ? summary : '' }
}
