import { join } from 'node:path'
import { openJournal, sessionFolder } from '@halting/agent'
import { loop, startRun, tool, type Loop, type LoopOptions, type Terminal } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { here } from './program.ts'

const usage = { input_tokens: 1_000, output_tokens: 100 }

/** A reply that calls tools, with figures. */
export const asks = (...calls: readonly (readonly [name: string, input: object])[]): ScriptedReply => ({
  toolCalls: calls.map(([name, input]) => ({ name, input })),
  usage,
})

export const says = (text: string): ScriptedReply => ({ text, usage })

const tools = [
  tool({ name: 'Read', description: '', readOnly: true, execute: () => 'seen '.repeat(100) }),
  tool({ name: 'Edit', description: '', execute: () => 'done' }),
]

/** A tenth of a cent a token. */
const prices: NonNullable<LoopOptions['prices']> = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}

/** Where the program under test looks for a session. */
export function sessionPath(sessionId: string, cwd: string = here()): string {
  const { base, parts } = sessionFolder({ cwd, sessionId, home: here(), env: {} })
  return `${join(base, ...parts)}.jsonl`
}

/** Runs something in a session that is kept where the program looks for it. */
export async function keep(
  sessionId: string,
  script: readonly ScriptedReply[],
  options: Partial<LoopOptions> = {},
  whileItRuns: (running: Loop) => void = () => {},
): Promise<Terminal> {
  const place = { path: sessionPath(sessionId), sessionId, cwd: here(), version: '0.1.0' }
  const journal = await openJournal(place)
  const start = startRun({ prompt: 'go', sessionId, transcript: journal.transcript })
  const model = scriptedModel(script, { maxOutputTokens: 1_000 })
  const running = loop(start, { tools, prices, model, ...options, steps: journal.steps() })
  whileItRuns(running)
  const terminal = await running.terminal
  await journal.close()
  return terminal
}
