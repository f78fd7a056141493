import { readFileSync, writeFileSync } from 'node:fs'
import { openJournal } from '@halting/journal'
import { streamRun, noProgress, startRun, tool, type RunOptions } from '@halting/core'
import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import { vi } from 'vitest'
import { sessionPath } from './store-session.ts'

// A week of sessions that is the same each time: its days, its times and its prices are made up, and everything else is real.

type Clock = ReturnType<typeof createFakeClock>

const perMillion: Readonly<Record<string, readonly [input: number, output: number]>> = {
  'sonnet-x': [3, 15],
  'opus-x': [5, 25],
}

const prices: NonNullable<RunOptions['prices']> = {
  cost(model, usage) {
    const rates = perMillion[model]
    if (rates === undefined) return undefined
    const read = usage.cache_read_input_tokens * rates[0] * 0.1
    return (usage.input_tokens * rates[0] + usage.output_tokens * rates[1] + read) / 1e6
  },
  worstCase(model, { inputTokens, outputTokens }) {
    const rates = perMillion[model]
    return rates === undefined ? undefined : (inputTokens * rates[0] + outputTokens * rates[1]) / 1e6
  },
}

const waited = (clock: Clock, ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))

const toolsOf = (clock: Clock): NonNullable<RunOptions['tools']> => [
  tool({ name: 'Read', description: '', readOnly: true, execute: () => waited(clock, 12).then(() => 'seen') }),
  tool({ name: 'Grep', description: '', readOnly: true, execute: () => waited(clock, 45).then(() => 'found') }),
  tool({ name: 'Edit', description: '', execute: () => waited(clock, 20).then(() => 'done') }),
  tool({
    name: 'Bash',
    description: '',
    execute: async ({ command }: { readonly command?: string }) => {
      await waited(clock, 4_000)
      if (command === 'npm test') throw new Error('exit 1')
      return 'ok'
    },
  }),
]

/** A session of the week. */
export interface WeekSession {
  readonly id: string
  /** When it started, as ISO. */
  readonly at: string
  readonly prompt: string
  readonly cwd?: string
  readonly model?: string
  readonly script: readonly ScriptedReply[]
  readonly options?: Partial<RunOptions>
  /** The process was killed: this many of its last lines are missing. */
  readonly cut?: number
}

/** Stores it where the program looks for it. */
export async function storeWeekSession(
  { id, at, prompt, cwd, model = 'sonnet-x', script, options, cut = 0 }: WeekSession,
  folder: string,
): Promise<string> {
  vi.useFakeTimers({ toFake: ['Date'], now: new Date(at) })
  try {
    const clock = createFakeClock({ autoAdvance: true })
    const path = sessionPath(id, cwd ?? folder)
    const journal = await openJournal({ path, sessionId: id, cwd: cwd ?? folder, version: '0.1.0' })
    const replies = script.map((reply) =>
      typeof reply === 'object' && ('toolCalls' in reply || 'text' in reply) && !('hang' in reply)
        ? { ...reply, before: () => waited(clock, 6_000) }
        : reply,
    )
    const running = streamRun(startRun({ prompt, sessionId: id, transcript: journal.transcript }), {
      tools: toolsOf(clock),
      prices,
      model: scriptedModel(replies, { id: model, maxOutputTokens: 1_000 }),
      maxTurns: 100,
      ...options,
      steps: journal.steps({ clock }),
    })
    await running.result
    await journal.close()
    if (cut > 0) {
      const lines = readFileSync(path, 'utf8').trimEnd().split('\n')
      writeFileSync(path, `${lines.slice(0, -cut).join('\n')}\n`)
    }
    return path
  } finally {
    vi.useRealTimers()
  }
}

/** A reply that calls tools, after this many turns: the longer the conversation, the more of it is cached. */
const asks = (turn: number, ...calls: readonly (readonly [name: string, about: string])[]): ScriptedReply => ({
  toolCalls: calls.map(([name, about]) => ({
    name,
    input: name === 'Bash' ? { command: about } : { file_path: about },
  })),
  usage: { input_tokens: 1_800, output_tokens: 240, cache_read_input_tokens: 9_000 + turn * 1_500 },
})

const says = (turn: number, text: string): ScriptedReply => ({
  text,
  usage: { input_tokens: 900, output_tokens: 400, cache_read_input_tokens: 9_000 + turn * 1_500 },
})

/** This many turns of work, and an answer. */
const works = (turns: number, name: string): readonly ScriptedReply[] => [
  ...Array.from({ length: turns }, (_, turn) =>
    turn % 4 === 3
      ? asks(turn, ['Bash', turn % 8 === 7 ? 'npm run build' : 'npm test'])
      : turn % 3 === 2
        ? asks(turn, ['Edit', `${name}-${turn}.ts`])
        : asks(turn, ['Read', `${name}-${turn}.ts`], ['Grep', `${name}${turn}`]),
  ),
  says(turns, 'Done.'),
]

const overloaded = { error: { kind: 'overloaded', message: 'Overloaded', status: 529 } } as const
const uuid = (number: number): string => `${String(number).padStart(8, '0')}-5b7d-4e9a-8c61-0d2b4f6a7e93`

/** The sessions of one week in one folder: successful ones, and one of each kind of failure. */
export const week: readonly WeekSession[] = [
  { id: uuid(1), at: '2026-11-16T09:12:00Z', prompt: 'Fix the login test', script: works(6, 'login') },
  { id: uuid(2), at: '2026-11-16T14:40:00Z', prompt: 'Rename Account to Customer', script: works(9, 'rename') },
  { id: uuid(3), at: '2026-11-17T10:03:00Z', prompt: 'Why is the build slow?', script: works(4, 'build') },
  {
    id: uuid(4),
    at: '2026-11-17T16:20:00Z',
    prompt: 'Update all dependencies',
    script: works(40, 'update'),
    options: { maxTurns: 30, maxBudgetUsd: 5 },
  },
  {
    id: uuid(5),
    at: '2026-11-18T08:55:00Z',
    prompt: 'Wait for the deployment',
    script: Array.from({ length: 30 }, () => asks(3, ['Read', 'status.json'])),
    options: { stopWhen: noProgress(), maxBudgetUsd: 5 },
  },
  {
    id: uuid(6),
    at: '2026-11-18T11:30:00Z',
    prompt: 'Write the changelog',
    script: [overloaded, overloaded, ...works(5, 'changelog')],
  },
  {
    id: uuid(7),
    at: '2026-11-19T13:15:00Z',
    prompt: 'Port the parser to the new grammar',
    model: 'opus-x',
    script: works(72, 'parser'),
  },
  {
    id: uuid(8),
    at: '2026-11-20T09:45:00Z',
    prompt: 'Clean up the branches',
    script: [asks(0, ['Bash', 'git branch -D old']), asks(1, ['Delete', 'old']), says(2, 'I may not.')],
    options: { permissions: { denies: () => undefined, decide: ({ call }) => decided(call.name) } },
  },
  { id: uuid(9), at: '2026-11-20T15:05:00Z', prompt: 'Add a test for dates', script: works(7, 'dates') },
  { id: uuid(10), at: '2026-11-21T10:10:00Z', prompt: 'Review the diff', script: works(3, 'review'), cut: 4 },
]

const decided = (name: string) =>
  name === 'Bash'
    ? ({ behavior: 'deny', message: 'No rule lets this run.' } as const)
    : ({ behavior: 'allow' } as const)
