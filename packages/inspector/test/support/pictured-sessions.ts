import { createFakeClock, scriptedModel, type ScriptedReply } from '@halting/core/testing'
import {
  createMemorySteps,
  agentTool,
  streamRun,
  startRun,
  tool,
  type RunOptions,
  type StepRecord,
} from '@halting/core'
import { type InspectedSession } from '@halting/analysis/view'
import { sessionOf } from '../../../analysis/test/support/sessions.ts'

// The sessions that pictures of the page show. The loop records them on a fixed clock, so that a picture is the same each time.

interface PicturedSession {
  readonly key: string
  readonly title: string
  readonly script: readonly Step[]
  readonly limits?: Partial<RunOptions>
}

/** One reply: how long the model took, and its tool calls or its answer. */
type Step = { readonly ms: number; readonly input: number } & (
  | { readonly says: string }
  | { readonly calls: readonly { readonly name: string; readonly input: { readonly [name: string]: string } }[] }
)

const read = (file: string): { name: string; input: { [name: string]: string } } => ({
  name: 'Read',
  input: { file_path: `src/${file}` },
})
const grep = (pattern: string): { name: string; input: { [name: string]: string } } => ({
  name: 'Grep',
  input: { pattern },
})
const edit = (file: string, before: string, after: string): { name: string; input: { [name: string]: string } } => ({
  name: 'Edit',
  input: { file_path: `src/${file}`, old_string: before, new_string: after },
})
const bash = (command: string): { name: string; input: { [name: string]: string } } => ({
  name: 'Bash',
  input: { command },
})

const search: readonly Step[] = [
  { ms: 2_100, input: 9_000, calls: [grep('sleep('), read('wait.ts'), read('run.ts')] },
  {
    ms: 3_400,
    input: 14_500,
    calls: [{ name: 'Agent', input: { prompt: 'Find every test that waits for a fixed time.' } }],
  },
  // The subagent.
  { ms: 1_500, input: 4_000, calls: [grep('sleep'), read('test/run.test.ts')] },
  { ms: 1_900, input: 7_500, says: 'test/run.test.ts:6 waits 10 ms. No other test does.' },
  { ms: 2_800, input: 17_000, calls: [edit('run.test.ts', 'await sleep(10)', 'await until(() => done.ended)')] },
]
const repeatedTries = (count: number): readonly Step[] =>
  Array.from({ length: count }, (_, index): readonly Step[] => [
    { ms: 1_600 + 150 * index, input: 19_000 + 2_500 * index, calls: [bash('npm test')] },
    {
      ms: 2_300 + 100 * index,
      input: 20_500 + 2_500 * index,
      calls: [read('wait.ts'), edit('wait.ts', `${10 + index}`, `${20 + index}`)],
    },
  ]).flat()

/** It reads repeatedly without progress. */
const aimlessReads = (count: number): readonly Step[] =>
  Array.from({ length: count }, (_, index): Step => ({
    ms: 1_300 + 40 * (index % 5),
    input: 8_000 + 1_100 * index,
    calls: [index % 3 === 0 ? grep(`limit${index}`) : read(`settings-${index}.ts`)],
  }))

const pictured: readonly PicturedSession[] = [
  {
    key: 'flaky',
    title: 'Find out why test/run.test.ts is flaky, and fix it.',
    script: [...search, ...repeatedTries(6)],
    limits: { maxTurns: 14 },
  },
  {
    key: 'flaky-again',
    title: 'Find out why test/run.test.ts is flaky, and fix it. Run it twice.',
    script: [
      ...search,
      ...repeatedTries(1),
      { ms: 2_000, input: 24_000, says: 'It waited for a fixed time. It waits for the end now.' },
    ],
  },
  {
    key: 'wanders',
    title: 'Where is the limit of retries set?',
    script: aimlessReads(30),
    limits: { maxTurns: 30, maxBudgetUsd: 5 },
  },
]

/** Recorded by the loop, one after another. */
export function picturedSessions(): Promise<readonly InspectedSession[]> {
  return Promise.all(pictured.map(recordedByLoop))
}

async function recordedByLoop({ key, title, script, limits }: PicturedSession): Promise<InspectedSession> {
  const clock = createFakeClock({ autoAdvance: true })
  const pause = (ms: number): Promise<void> => new Promise((resolve) => void clock.after(ms, resolve))
  const taking =
    (ms: number, says: string, isError = false) =>
    async () => {
      await pause(ms)
      return { content: says, isError }
    }
  const tools = [
    tool({
      name: 'Read',
      description: '',
      readOnly: true,
      execute: taking(300, 'export async function until() {}\n'.repeat(30)),
    }),
    tool({
      name: 'Grep',
      description: '',
      readOnly: true,
      execute: taking(700, 'src/wait.ts:2: await sleep(10)\n'.repeat(12)),
    }),
    tool({ name: 'Edit', description: '', execute: taking(250, 'The file was changed.') }),
    tool({ name: 'Bash', description: '', execute: taking(4_200, '1 failed: run ends before it is looked at', true) }),
    agentTool({
      name: 'Agent',
      description: '',
      spawn: () => ({ prompt: 'Find every test that waits.', agentType: 'explorer' }),
    }),
  ]
  const replies = script.map((step): ScriptedReply => {
    const common = { usage: { input_tokens: step.input, output_tokens: 260 }, before: () => pause(step.ms) }
    return 'says' in step ? { ...common, text: step.says } : { ...common, toolCalls: step.calls }
  })
  const records: StepRecord[] = []
  const steps = createMemorySteps({ clock, onRecord: (record) => void records.push(record) })
  const prices = {
    cost: (_model: string, tokens: { readonly input_tokens: number; readonly output_tokens: number }) =>
      (tokens.input_tokens * 2 + tokens.output_tokens * 10) / 1e6,
    worstCase: (_model: string, tokens: { readonly inputTokens: number; readonly outputTokens: number }) =>
      (tokens.inputTokens * 2 + tokens.outputTokens * 10) / 1e6,
  }
  const model = scriptedModel(replies, { maxOutputTokens: 4_000, contextWindow: 200_000 })
  const start = startRun({ prompt: title, sessionId: key, runId: 'run1' })
  await streamRun(start, {
    model,
    tools,
    prices,
    maxTurns: 40,
    maxBudgetUsd: 1,
    maxTotalTokens: 900_000,
    ...limits,
    steps,
  }).result
  // Session files store JSON.
  return sessionOf([JSON.parse(JSON.stringify(records)) as readonly StepRecord[]], {
    key,
    sessionId: key,
    title,
    cwd: '/home/me/project',
  })
}
