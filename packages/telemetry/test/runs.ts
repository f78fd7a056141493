import {
  CallableHook,
  type AgentTool,
  type AnyTool,
  type RunEvent,
  type StandingBudgets,
  type Tool,
} from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { prices, runToEnd } from './support.ts'

const tool = (name: string, execute: Tool['execute']): Tool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: true,
  execute,
})
const agent = (name: string, background: boolean): AgentTool => ({
  name,
  description: name,
  inputSchema: { type: 'object' },
  readOnly: true,
  spawn: () => ({
    prompt: 'sub',
    agentType: 'scout',
    description: 'looks around',
    ...(background && { background: true }),
  }),
})

export const tools = [
  tool('Look', () => 'seen'),
  tool('Breaks', () => {
    throw new Error('broken')
  }),
  agent('Agent', false),
  agent('Beside', true),
  // Created only for this list.
] as readonly AnyTool[]

const usage = { input_tokens: 7, output_tokens: 3 }

export const calls = (...names: readonly string[]): ScriptedReply => ({
  toolCalls: names.map((name) => ({ name, input: {} })),
  usage,
})
export const done: ScriptedReply = { text: 'done', usage }

/** A service that is over its limit and reports the remaining time. */
export const limited = (retryAfterMs: number): ScriptedReply => ({
  error: { kind: 'rate_limit', message: 'too many requests', status: 429, retryAfterMs },
})

/** The events of a run with turns, calls, subagents, a hook, a retry and a failing tool. */
export async function eventsOfARun(): Promise<readonly RunEvent[]> {
  const events: RunEvent[] = []
  const script = [
    calls('Look', 'Agent', 'Beside'),
    calls('Look'),
    done,
    { error: { kind: 'overloaded', message: 'busy', status: 529 } } as const,
    calls('Breaks'),
    done,
  ]
  const hook = new CallableHook(() => {}, { triggers: ['beforeToolUse', 'afterToolUse'], id: 'looks-on' })
  await runToEnd({ model: scriptedModel(script), tools, prices, hooks: [hook] }, (event) => void events.push(event))
  return events
}

/** A daily budget. It grants the first request, lets the second one wait for others, and refuses the third. */
export function dayBudget(): StandingBudgets {
  const budget = { name: '$20 a day', limitUsd: 20, settledUsd: 20, unknownUsd: 0, reservedUsd: 0 }
  let asked = 0
  return {
    names: [budget.name],
    countsFor: () => true,
    async take({ usd }, { onWait }) {
      asked++
      if (asked === 2) onWait({ budget: budget.name, reservedUsd: 7, holders: 2 })
      await Promise.resolve()
      if (asked < 3) return { kind: 'taken', usd, settle: () => {} }
      return { kind: 'refused', budget: { ...budget, resetsAt: '2026-11-30T00:00:00+01:00' } }
    },
  }
}
