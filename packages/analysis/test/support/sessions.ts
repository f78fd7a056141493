import { join } from 'node:path'
import {
  agentTool,
  createMemorySteps,
  streamRun,
  startRun,
  tool,
  Transcript,
  type RunOptions,
  type StepRecord,
} from '@halting/core'
import { foldSession } from '@halting/core/steps'
import { recordsOfForeign, type ForeignTurn } from '../../src/foreign/foreign-run.ts'
import { createFakeClock, scriptedModel, type FakeClock, type ScriptedReply } from '@halting/core/testing'
import { type InspectedSession } from '../../src/view/inspected-session.ts'

/** Sessions that other programs recorded. */
export const foreignSamples: string = join(import.meta.dirname, '../foreign/samples')

/** The records as a session file returns them. */
function asJson(records: readonly StepRecord[]): readonly StepRecord[] {
  // Drivers store JSON.
  return JSON.parse(JSON.stringify(records)) as readonly StepRecord[]
}

/** A session of these runs without any other facts. */
export function sessionOf(
  runs: readonly (readonly StepRecord[])[],
  more: Partial<InspectedSession> = {},
): InspectedSession {
  return {
    key: 'session-1',
    sessionId: 'session-1',
    program: 'halting',
    title: '',
    cwd: '/project',
    path: '/sessions/session-1.jsonl',
    changedAt: 1_767_225_600_000,
    isLive: false,
    shellArguments: '/sessions/session-1.jsonl',
    runs,
    unpriced: runs.map(() => []),
    windowOf: () => undefined,
    notes: [],
    why: (run) => `Run ${run + 1} ended.`,
    ...more,
  }
}

/** The environment of a scripted session: a clock that advances by itself, tools that take time, and prices of a tenth of a cent per token. */
export interface ScriptedWorld {
  readonly clock: FakeClock
  /** `Look` and `Find` take 20 and 30 ms and run in parallel; `Write` takes 50 ms; `Fail` fails; `Agent` starts a subagent. */
  readonly tools: NonNullable<RunOptions['tools']>
  readonly prices: NonNullable<RunOptions['prices']>
}

export function scriptedWorld(): ScriptedWorld {
  const clock = createFakeClock({ autoAdvance: true })
  const taking = (ms: number, says: string) => async () => {
    await new Promise<void>((resolve) => void clock.after(ms, resolve))
    return says
  }
  return {
    clock,
    tools: [
      tool({ name: 'Look', description: '', readOnly: true, execute: taking(20, 'seen '.repeat(40)) }),
      tool({ name: 'Find', description: '', readOnly: true, execute: taking(30, 'found '.repeat(40)) }),
      tool({ name: 'Write', description: '', execute: taking(50, 'written') }),
      tool({ name: 'Fail', description: '', execute: () => ({ content: 'no such file', isError: true }) }),
      agentTool({ name: 'Agent', description: '', spawn: () => ({ prompt: 'look around', agentType: 'scout' }) }),
    ],
    prices: {
      cost: (_model, { input_tokens, output_tokens }) => (input_tokens + output_tokens) / 1_000,
      worstCase: (_model, { inputTokens, outputTokens }) => (inputTokens + outputTokens) / 1_000,
    },
  }
}

const usage = { input_tokens: 1_000, output_tokens: 100 }

/** A reply that calls tools by name; each call has a path. It takes 100 ms. */
export function calls(world: ScriptedWorld, ...names: readonly string[]): ScriptedReply {
  const toolCalls = names.map((name, index) => ({ name, input: { path: `${name.toLowerCase()}-${index}.ts` } }))
  return { toolCalls, usage, before: thinking(world) }
}

/** A reply that is an answer. It takes 100 ms. */
export function says(world: ScriptedWorld, text: string): ScriptedReply {
  return { text, usage, before: thinking(world) }
}

function thinking({ clock }: ScriptedWorld): () => Promise<void> {
  return () => new Promise((resolve) => void clock.after(100, resolve))
}

/** The options of scripted runs; each script is a run of one session, in order. */
export interface ScriptedSessionOptions extends Partial<RunOptions> {
  /** The process died when this number of records of the last run was written. */
  readonly killedAfter?: number
  readonly prompt?: string
}

/** A session that the loop itself recorded: a script for each run. */
export async function scriptedSession(
  world: ScriptedWorld,
  scripts: readonly (readonly ScriptedReply[])[],
  { killedAfter, prompt = 'Do it', ...options }: ScriptedSessionOptions = {},
): Promise<InspectedSession> {
  const runs: (readonly StepRecord[])[] = []
  for (const [index, script] of scripts.entries()) {
    const transcript = runs.length === 0 ? Transcript.empty() : foldSession(runs).transcript
    const isLast = index === scripts.length - 1
    const records: StepRecord[] = []
    const model = scriptedModel(script, { maxOutputTokens: 1_000, contextWindow: 50_000_000 })
    await new Promise<void>((resolve) => {
      const steps = createMemorySteps({
        clock: world.clock,
        onRecord(record) {
          if (isLast && records.length === killedAfter) {
            resolve()
            throw new Error('The process died.')
          }
          records.push(record)
        },
      })
      const start = startRun({ prompt, transcript, sessionId: 'session-1', runId: `run${index + 1}` })
      const running = streamRun(start, { model, ...world, ...options, steps })
      void running.result.then(() => resolve())
    })
    runs.push(asJson(records))
  }
  return sessionOf(runs)
}

const foreignPrices = { cost: () => 0.001, worstCase: () => 0.001 }

/** A session of about this number of records: turns with two calls, intents and a hook each. Built at once, without a loop. */
export function largeSession(records: number): InspectedSession {
  const perTurn = 8
  const turns = Array.from({ length: Math.max(1, Math.round(records / perTurn)) }, (_, index) => largeTurn(index))
  const last = {
    ...largeTurn(turns.length),
    message: answer(turns.length, [{ type: 'text', text: 'Done.' }]),
    results: [],
  }
  const run = {
    run: { sessionId: 'large', runId: 'run1', agentPath: '', depth: 0 },
    prompts: [{ origin: 'prompt', content: 'Read everything.' } as const],
    turns: [...turns, last],
    ending: { reason: 'completed', message: 'Completed' } as const,
  }
  const written = recordsOfForeign(run, foreignPrices).records
  return sessionOf([written.flatMap(withIntent)], { key: 'large', sessionId: 'large' })
}

/** Each result is preceded by its intent, and each model result by a hook as well. */
function withIntent(record: StepRecord): readonly StepRecord[] {
  if (record.type !== 'result') return [record]
  const { key, at } = record
  const isModel = key.includes('/model:')
  const intent = isModel ? { granted: true, model: 'm', tokens: 2_000, nanos: 5_000_000 } : { tool: 'Read' }
  const hook = {
    type: 'result',
    key: `run1/hook:beforeTurn:${key.slice(key.indexOf(':') + 1, key.indexOf('.'))}::guard`,
    digest: null,
    value: {},
    at,
    durationMs: 0,
  } as const
  return [...(isModel ? [hook] : []), { type: 'intent', key, digest: null, intent, at }, record]
}

function answer(index: number, content: ForeignTurn['message']['content']): ForeignTurn['message'] {
  return {
    role: 'assistant',
    id: `msg_${index}`,
    model: 'm',
    content,
    stop_reason: 'tool_use',
    usage: {
      input_tokens: 50,
      output_tokens: 100,
      cache_creation_input_tokens: 200,
      cache_read_input_tokens: 1_000 + 150 * (index % 1_000),
    },
  }
}

function largeTurn(index: number): ForeignTurn {
  const beganMs = index * 400
  const call = (name: string) => ({
    type: 'tool_use' as const,
    id: `${name}_${index}`,
    name,
    input: { file_path: `/project/src/file-${index % 300}.ts` },
  })
  const result = (name: string, endedMs: number) => ({
    callId: `${name}_${index}`,
    content: `line ${index}\n`.repeat(20),
    isError: index % 50 === 0,
    endedMs,
  })
  return {
    message: answer(index, [{ type: 'text', text: `Step ${index}` }, call('Read'), call('Grep')]),
    beganMs,
    endedMs: beganMs + 300,
    results: [result('Read', beganMs + 340), result('Grep', beganMs + 380)],
    agentRequests: [],
    laterMessages: [],
  }
}

/** Text that a page must show literally and never act on: markup, handlers, script links, text direction and terminal control characters. */
export const hostileText = [
  '<script>window.hacked=1</script>',
  '</script><script>window.hacked=2</script>',
  '<img src=x onerror="window.hacked=3">',
  '<svg onload=window.hacked=4>',
  '<a href="javascript:window.hacked=5">link</a>',
  '[link](javascript:window.hacked=6)',
  '<style>*{display:none}</style>',
  '<!--',
  ']]>',
  '\u001B[31mred\u001B[0m \u001B]8;;javascript:alert(1)\u0007x\u001B]8;;\u0007',
  '\u202Etxt.exe\u202C \u2066isolated\u2069',
  '\u2028\u2029\u0000',
  '${window.hacked=7} {{constructor}} __proto__',
].join(' ')

/** A session with such text in every field that a model, a tool, a person or a file can write. */
export function hostileSession(): InspectedSession {
  const text = hostileText
  const call = (index: number, name: string) => ({
    type: 'tool_use' as const,
    id: `${text}_${index}`,
    name,
    input: { [text]: text, file_path: text, old_string: text, new_string: `${text}\nmore`, content: text },
  })
  const result = (index: number) => ({
    callId: `${text}_${index}`,
    content: index === 0 ? text : [{ type: 'text' as const, text }],
    isError: index === 1,
    endedMs: 400 + index,
  })
  const run = {
    run: { sessionId: text, runId: text.replaceAll('/', '_'), agentPath: '', depth: 0 },
    prompts: [{ origin: 'prompt', content: text } as const],
    turns: [
      {
        message: {
          ...answer(0, [
            { type: 'thinking', thinking: text, signature: text },
            { type: 'text', text },
            call(0, 'Edit'),
            call(1, text),
            call(2, 'Write'),
          ]),
          id: text,
          model: text,
        },
        beganMs: 0,
        endedMs: 300,
        results: [result(0), result(1), result(2)],
        agentRequests: [{ model: text, usage: answer(0, []).usage, endedMs: 350 }],
        laterMessages: [{ origin: 'hook', content: text } as const, { origin: 'steer', content: text } as const],
      },
      {
        message: answer(1, [{ type: 'text', text }]),
        beganMs: 500,
        endedMs: 800,
        results: [],
        agentRequests: [],
        laterMessages: [],
      },
    ],
    ending: { reason: 'model_error', message: text } as const,
  }
  return sessionOf([recordsOfForeign(run, foreignPrices).records], {
    key: text,
    sessionId: text,
    title: text,
    cwd: text,
    path: text,
    unpriced: [[text]],
    notes: [text],
    why: () => text,
  })
}
