import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { openJournal, sessionFolder } from '@halting/journal'
import { streamRun, startRun, tool, type RunStream, type RunOptions, type RunResult } from '@halting/core'
import { scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { here } from './program.ts'

const usage = { input_tokens: 1_000, output_tokens: 100 }

/** A reply that calls tools, with figures. */
export const toolReply = (...calls: readonly (readonly [name: string, input: object])[]): ScriptedReply => ({
  toolCalls: calls.map(([name, input]) => ({ name, input })),
  usage,
})

export const textReply = (text: string): ScriptedReply => ({ text, usage })

const tools = [
  tool({ name: 'Read', description: '', readOnly: true, execute: () => 'seen '.repeat(100) }),
  tool({ name: 'Edit', description: '', execute: () => 'done' }),
]

/** A tenth of a cent per token. */
const prices: NonNullable<RunOptions['prices']> = {
  cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1_000,
  worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
}

/** Where the program under test looks for a session. */
export function sessionPath(sessionId: string, cwd: string = here()): string {
  const { base, parts } = sessionFolder({ cwd, sessionId, home: here(), env: {} })
  return `${join(base, ...parts)}.jsonl`
}

/** Runs something in a session that is stored where the program looks for it. */
export async function storeSession(
  sessionId: string,
  script: readonly ScriptedReply[],
  options: Partial<RunOptions> = {},
  whileItRuns: (running: RunStream) => void = () => {},
): Promise<RunResult> {
  const place = { path: sessionPath(sessionId), sessionId, cwd: here(), version: '0.1.0' }
  const journal = await openJournal(place)
  const start = startRun({ prompt: 'go', sessionId, transcript: journal.transcript })
  const model = scriptedModel(script, { maxOutputTokens: 1_000 })
  const running = streamRun(start, {
    tools,
    prices,
    model,
    ...options,
    steps: journal.steps(options.clock === undefined ? {} : { clock: options.clock }),
  })
  whileItRuns(running)
  const { terminal } = await running.ended
  await journal.close()
  return terminal
}

/** Sessions with four megabytes of calls each, in a folder without others. */
export async function storeLargeSessions(folder: string, count: number): Promise<void> {
  const first = 'aaaaaaaa-2222-4333-8444-000000000000'
  const edits = Array.from({ length: 40 }, (_, turn) => toolReply(['Edit', { text: `${turn}${'x'.repeat(100_000)}` }]))
  await storeSession(first, [...edits, textReply('Done.')])
  const lines = readFileSync(sessionPath(first), 'utf8').trimEnd().split('\n')
  mkdirSync(folder)
  for (let number = 0; number < count; number++) {
    const id = `${first.slice(0, -2)}${String(number).padStart(2, '0')}`
    // Running each of them would take long.
    const own = lines.map((line) => lineWithSum(line.replaceAll(first, id).replace(/,"sum":"\w+"\}$/, '')))
    writeFileSync(join(folder, `${id}.jsonl`), own.join(''))
  }
}

/** A line of a session, with a checksum of the other fields as its last field. */
export function lineWithSum(line: string): string {
  return `${line},"sum":"${crc32(line).toString(16).padStart(8, '0')}"}\n`
}
