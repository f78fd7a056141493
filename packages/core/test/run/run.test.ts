// Tests `run` and `streamRun` of a prompt: the result that a program gets (docs/decisions/0075-the-public-api-as-types.md).
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import {
  ConfigurationError,
  createMemorySteps,
  outputSchema,
  replay,
  resume,
  run,
  streamRun,
  startRun,
  tool,
  type PromptOptions,
  type RunEvent,
  type StepRecord,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'

const look = tool({ name: 'Look', description: '', readOnly: true, execute: () => 'a door' })
const weather = outputSchema(z.object({ city: z.string(), celsius: z.number() }))

describe('the outcome of a run', () => {
  test('has the answer, the figures and the conversation', async () => {
    const model = scriptedModel([{ toolCalls: [{ name: 'Look', id: 'c1' }] }, 'There is a door.'])
    const outcome = await run({ model, tools: [look], prompt: 'What is there?' })
    expectTypeOf(outcome.output).toEqualTypeOf<string | undefined>()
    expect(outcome).toMatchObject({
      reason: 'completed',
      category: 'completed',
      message: 'The model gave its answer',
      output: 'There is a door.',
      text: 'There is a door.',
      turns: 2,
      goal: null,
      pending: [],
    })
    expect(outcome.usage).toEqual(outcome.summary.usage)
    expect(outcome.messages).toEqual([
      { role: 'user', content: 'What is there?' },
      { role: 'assistant', by: 'scripted', content: [{ type: 'tool_use', id: 'c1', name: 'Look', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'c1', content: 'a door' }] },
      { role: 'assistant', by: 'scripted', content: [{ type: 'text', text: 'There is a door.' }] },
    ])
    expect(outcome.transcript.length).toBe(4)
    // Printing it does not print the conversation.
    expect(Object.keys(outcome)).not.toContain('messages')
  })

  test('has the parsed output of a schema, with its type', async () => {
    const model = scriptedModel(['{"city": "Bern"}', '```json\n{"city": "Bern", "celsius": 4}\n```'])
    const outcome = await run({ model, prompt: 'How is the weather in Bern?', output: weather })
    expectTypeOf(outcome.output).toEqualTypeOf<{ city: string; celsius: number } | undefined>()
    expect([outcome.output, outcome.turns]).toEqual([{ city: 'Bern', celsius: 4 }, 2])
  })

  test('has no output when the run did not complete, and the last words as text', async () => {
    const model = scriptedModel([{ text: 'Wait …', toolCalls: [{ name: 'Look' }] }, 'never'])
    const outcome = await run({ model, tools: [look], prompt: 'go', maxTurns: 1 })
    expect([outcome.reason, outcome.output, outcome.text]).toEqual(['max_turns', undefined, 'Wait …'])
  })

  test('is the same from the stream, in both of its forms, and the record keeps its ending', async () => {
    const runResults: object[] = []
    const options = {
      model: scriptedModel(() => 'Hello.'),
      onResult: (terminal: object) => void runResults.push(terminal),
    }
    const stream = streamRun({ ...options, prompt: 'Hi.' })
    const events: RunEvent[] = []
    for await (const event of stream) events.push(event)
    const outcome = await stream.result
    expect(await stream.result).toBe(outcome)
    expectTypeOf(outcome.output).toEqualTypeOf<string | undefined>()
    expect(await streamRun(startRun({ prompt: 'Hi.' }), options).result).toMatchObject({ text: 'Hello.', goal: null })
    const { terminal } = await stream.ended
    expect(runResults[0]).toBe(terminal)
    expect(events.at(-1)).toEqual({ type: 'run_end', terminal })
    expect(Object.keys(terminal)).not.toContain('text')
  })
})

describe('an invalid run', () => {
  const model = scriptedModel(() => 'never')
  test.each<[string, object | undefined, RegExp]>([
    ['nothing', undefined, /^A run needs an object with model and prompt/],
    ['no model', { prompt: 'go' }, /option model is missing/],
    ['neither prompt nor messages', { model }, /^There is no input for the model. Pass a prompt, or messages\.$/],
    ['no messages', { model, messages: [] }, /^messages is empty/],
    ['an empty prompt', { model, prompt: [] }, /^The prompt is an empty list/],
    ['a blank prompt', { model, prompt: ' \n' }, /^The prompt is empty, and services refuse an empty text/],
    ['an invalid prompt', { model, prompt: 7 }, /^prompt must be a text or a list of blocks, but it is 7/],
    ['an unknown option', { model, prompt: 'go', maxSteps: 3 }, /^Unknown option maxSteps. Use maxTurns/],
    ['an empty name', { model, prompt: 'go', sessionId: '' }, /^sessionId must be a text that is not empty/],
    ['a prompt with approvals', { model, prompt: 'go', approvals: {} }, /^Pass a prompt or approvals, not both/],
    [
      'approvals without pending calls',
      { model, messages: [{ role: 'user', content: 'go' }], approvals: {} },
      /^No call waits for approval/,
    ],
  ])('rejects %s with a ConfigurationError', async (_what, options, message) => {
    // Plain JavaScript code can pass any value.
    const rejected = await run(options as Parameters<typeof run>[0]).catch((error: unknown) => error)
    expect(rejected).toBeInstanceOf(ConfigurationError)
    expect((rejected as Error).message).toMatch(message)
  })

  test('throws nothing else: a model that throws is an ending', async () => {
    const broken = scriptedModel(() => {
      throw new TypeError('out of order')
    })
    expect((await run({ model: broken, prompt: 'go' })).category).toBe('error')
  })
})

describe('a history', () => {
  const history = [
    { role: 'user', content: 'My name is Ada.' },
    { role: 'assistant', content: 'Hello Ada.' },
  ] as const

  test('is shown to the model before the prompt, and is not part of the answer', async () => {
    const model = scriptedModel([{ text: '' }, 'Ada.'])
    const events: RunEvent[] = []
    const stream = streamRun({ model, messages: history, prompt: 'What is my name?' })
    for await (const event of stream) events.push(event)
    expect(model.requests[0]?.messages).toEqual([
      { role: 'user', content: 'My name is Ada.' },
      { role: 'assistant', content: [{ type: 'text', text: 'Hello Ada.' }] },
      { role: 'user', content: 'What is my name?' },
    ])
    const entryKinds = events.flatMap((event) => (event.type === 'message' ? [event.entry.kind] : []))
    expect(entryKinds[0]).toBe('user')
    expect(entryKinds.filter((kind) => kind === 'user')).toHaveLength(1)
    const aborted = await run({
      model: scriptedModel(() => 'x'),
      messages: history,
      prompt: 'go',
      signal: AbortSignal.abort(),
    })
    expect([aborted.text, aborted.output]).toEqual(['', undefined])
  })

  test('that ends with the user needs no prompt, and its end belongs to the run', async () => {
    const model = scriptedModel(['Ada.'])
    const stream = streamRun({ model, messages: [...history, { role: 'user', content: 'What is my name?' }] })
    const events: RunEvent[] = []
    for await (const event of stream) events.push(event)
    const userMessages = events.flatMap((event) =>
      event.type === 'message' && event.entry.kind === 'user' ? [event.entry.message.content] : [],
    )
    expect(userMessages).toEqual(['What is my name?'])
    expect((await stream.result).output).toBe('Ada.')
  })

  test('continues from the messages of an outcome, after a JSON round trip', async () => {
    const first = await run({ model: scriptedModel(['Hello Ada.']), prompt: 'My name is Ada.' })
    const model = scriptedModel(['Ada.'])
    // A JSON round trip returns the same value.
    const messages = JSON.parse(JSON.stringify(first.messages)) as typeof first.messages
    const second = await run({ model, messages, prompt: 'What is my name?' })
    expect(second.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
    expect(model.requests[0]?.messages.slice(0, 2)).toEqual(first.messages)
  })

  test('gives the runs over one conversation different names, and the same run the same one', async () => {
    const keys: string[] = []
    const act = tool({
      name: 'Act',
      description: '',
      execute: (_input, { idempotencyKey }) => String(keys.push(idempotencyKey)),
    })
    const ask = async (options: object): Promise<void> => {
      const model = scriptedModel([{ toolCalls: [{ name: 'Act', id: 'c1' }] }, 'done'])
      await run({ model, tools: [act], sessionId: 'chat', prompt: 'go', ...options })
    }
    await ask({})
    await ask({ messages: history })
    await ask({ messages: history, prompt: 'again' })
    await ask({ messages: history })
    expect(new Set(keys).size).toBe(3)
    expect(keys[3]).toBe(keys[1])
  })

  test('is on record: a resume and a replay need nothing else', async () => {
    const steps = createMemorySteps()
    const options = {
      model: scriptedModel([{ toolCalls: [{ name: 'Look', id: 'c1' }] }, 'A door, Ada.']),
      tools: [look],
    }
    const stream = streamRun({ ...options, messages: history, prompt: 'What is there?', steps })
    const events: RunEvent[] = []
    for await (const event of stream) events.push(event)
    const whole = await stream.result
    // A JSON round trip returns the same value.
    const records = JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
    // The record includes the subject of the run.
    const runOptions: PromptOptions = { ...options, prompt: 'What else is there?', messages: [] }
    const replayed = await replay(records, runOptions)
    expect(replayed.events.filter(({ type }) => type === 'message')).toEqual(
      events.filter(({ type }) => type === 'message'),
    )
    const iterationIndex = records.findIndex(({ type }) => type === 'lap')
    for (let cut = 1; cut <= iterationIndex + 1; cut++) {
      const model = scriptedModel(({ messages }) =>
        messages.length === 3 ? { toolCalls: [{ name: 'Look', id: 'c1' }] } : 'A door, Ada.',
      )
      const { loop } = resume(records.slice(0, cut), { model, tools: [look] })
      const resumed = await loop.result
      expect(resumed.messages).toEqual(whole.messages)
      expect(resumed.text).toBe('A door, Ada.')
    }
  })

  test('of 50,000 messages is accepted at once', async () => {
    const messages = Array.from({ length: 25_000 }, (_, index) => [
      { role: 'user', content: `question ${index}` } as const,
      { role: 'assistant', content: [{ type: 'text', text: `answer ${index}` }] } as const,
    ]).flat()
    const model = scriptedModel(['done'], { contextWindow: 100_000_000 })
    const outcome = await run({ model, messages, prompt: 'go' })
    expect([outcome.text, outcome.messages.length]).toEqual(['done', 50_002])
  })
})
