// Tests R-PTC-1 to R-PTC-9 of docs/spec: code that runs at the service calls tools of the program, and a search finds
// tools.
import { createMemorySteps, query, QueryEngine, resume, startRun, streamRun, tool } from '@halting/core'
import type { ContextManager, JsonObject, RunEvent } from '@halting/core'
import { plainContext, textOf } from '@halting/core/adapters'
import { describe, expect, test } from 'vitest'
import { createPrices } from '../src/index.ts'
import type { AnthropicOptions } from '../src/index.ts'
import { call, modelAt, requestOf } from './support/call.ts'
import {
  beginsProgram,
  block,
  callOfCode,
  codeVersion,
  endsProgram,
  continuesProgram,
  says,
  started,
  startProgramService,
  stopped,
} from './support/program-service.ts'
import { bytesOf, recordings } from './support/recordings.ts'
import type { Answer } from './support/program-service.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'

const serverTools = [{ type: codeVersion, name: 'code_execution' }] as const
const toolOptions = {
  RollDie: { allowed_callers: [codeVersion], input_examples: [{ player: 'one' }] },
  Look: { allowed_callers: ['direct', codeVersion], eager_input_streaming: true },
} as const

const inputSchema = { type: 'object', properties: { player: { type: 'string' } } } as const

function rollDie(onCall: (player: string) => void = () => {}) {
  return tool({
    name: 'RollDie',
    description: 'Rolls a die.',
    inputSchema,
    readOnly: true,
    execute: ({ player = '' }) => {
      onCall(player)
      return `${player} rolls 4`
    },
  })
}

const look = tool({ name: 'Look', description: 'Looks.', inputSchema, readOnly: true, execute: () => 'a table' })

function programModel(url: string, options: Partial<AnthropicOptions> = {}) {
  return modelAt(url, {
    serverTools,
    toolOptions,
    maxServerToolUses: 1,
    contextWindow: 20_000,
    maxOutputTokens: 1_000,
    ...options,
  })
}

const dice = [callOfCode('a', 'RollDie', { player: 'one' }), callOfCode('b', 'Look', { player: 'two' })] as const
const another = callOfCode('c', 'RollDie', { player: 'three' })
const prices = createPrices({ 'claude-test': { input: 1, output: 10 } })
const printed = 'It printed "one rolls 4" "a table" "three rolls 4".'

/** The service answers, unless code waits for results and continues. */
const answerOf =
  (text: string): Answer =>
  (body) =>
    JSON.stringify(body.messages).includes('srvtoolu_1') ? endsProgram(body) : says(text)(body)

describe('a program of the service', () => {
  test('calls two tools at once and then one, within a budget, and costs what was billed', async () => {
    const service = await startProgramService(beginsProgram(...dice), continuesProgram('msg_2', another), endsProgram)
    const options = { model: programModel(service.url), tools: [rollDie(), look], prices, maxBudgetUsd: 1 }
    const notices: string[] = []
    const onEvent = (event: RunEvent): void => {
      if (event.type === 'notice') notices.push(event.message)
    }
    let result: unknown
    for await (const message of query({ prompt: 'Roll.', options: { ...options, onEvent } })) {
      if (message.type === 'result') result = message
    }
    expect(service.refusals).toEqual([])
    expect(notices).toEqual([])
    // Two requests of 1,000 input tokens and 100 output tokens. No model took part in the one between.
    expect(result).toMatchObject({ subtype: 'success', result: printed, total_cost_usd: 0.004 })
    const [first, second, third] = service.bodies()
    expect(first?.tools).toEqual([
      { name: 'RollDie', description: 'Rolls a die.', input_schema: inputSchema, ...toolOptions.RollDie },
      { name: 'Look', description: 'Looks.', input_schema: inputSchema, ...toolOptions.Look },
      { ...serverTools[0], cache_control: { type: 'ephemeral' } },
    ])
    expect(first?.container).toBeUndefined()
    const results = (...outputs: readonly (readonly [string, string])[]) => ({
      role: 'user',
      content: outputs.map(([id, content]) => ({ type: 'tool_result', tool_use_id: id, content })),
    })
    expect(second?.messages.slice(-2)).toMatchObject([
      { role: 'assistant' },
      results(['a', 'one rolls 4'], ['b', 'a table']),
    ])
    expect(second?.messages[1]?.content.slice(-2)).toEqual(dice)
    expect(third?.messages.slice(-2)).toEqual([
      { role: 'assistant', content: [another] },
      results(['c', 'three rolls 4']),
    ])
  })

  test('continues after a kill at any position, with the same answer', async () => {
    const service = await startProgramService(beginsProgram(...dice), continuesProgram('msg_2', another), endsProgram)
    const options = { model: programModel(service.url), tools: [rollDie(), look], prices, maxBudgetUsd: 1 }
    const steps = createMemorySteps()
    await streamRun(startRun({ prompt: 'Roll.' }), { ...options, steps }).result
    // A process leaves JSON on the disk.
    const records = JSON.parse(JSON.stringify(steps.records)) as typeof steps.records
    const ends: unknown[] = []
    for (let cut = 1; cut < records.length; cut++) {
      const before = records.slice(0, cut)
      service.goBackTo(before.filter((record) => record.type === 'result' && record.key.includes('/model:')).length)
      const resumed = resume(before, { ...options, model: programModel(service.url) })
      let answer: unknown
      for await (const event of resumed.loop) {
        if (event.type === 'message' && event.entry.kind === 'assistant') answer = event.entry.message.content.at(-1)
      }
      const { reason } = await resumed.loop.result
      ends.push([reason, answer])
    }
    expect(service.refusals).toEqual([])
    expect(ends.length).toBeGreaterThan(8)
    expect(new Set(ends.map((end) => JSON.stringify(end))).size).toBe(1)
    expect(ends[0]).toEqual(['completed', { type: 'text', text: printed }])
  })

  test('defers user input to its end, and then answers it', async () => {
    const service = await startProgramService(
      beginsProgram(...dice),
      continuesProgram('msg_2', another),
      endsProgram,
      says('You won, and it is late.'),
      says('Good night.'),
    )
    const die = rollDie((player) => {
      if (player === 'one') engine.steer('What time is it?')
    })
    const engine = new QueryEngine({ model: programModel(service.url), tools: [die, look] })
    const results: unknown[] = []
    for (const prompt of ['Roll.', 'Good night!']) {
      for await (const message of engine.submit(prompt)) if (message.type === 'result') results.push(message)
    }
    expect(service.refusals).toEqual([])
    expect(results).toMatchObject([{ result: 'You won, and it is late.' }, { result: 'Good night.' }])
    const [, second, third, fourth, fifth] = service.bodies()
    for (const body of [second, third]) expect(JSON.stringify(body?.messages)).not.toContain('What time')
    const words = { type: 'text', text: 'What time is it?' }
    expect(fourth?.messages.at(-1)).toMatchObject({ role: 'user', content: [words] })
    // At the same place, for the cache.
    expect(fifth?.messages.slice(0, 7)).toMatchObject(withoutBreakpoints(fourth?.messages ?? []))
  })

  test('continues after an interruption with the results of its calls, and then answers the next prompt', async () => {
    const service = await startProgramService(beginsProgram(...dice), endsProgram, says('It is late.'))
    const die = rollDie(() => engine.interrupt())
    const engine = new QueryEngine({ model: programModel(service.url), tools: [die, look] })
    const results: unknown[] = []
    for (const prompt of ['Roll.', 'What time is it?']) {
      for await (const message of engine.submit(prompt)) if (message.type === 'result') results.push(message)
    }
    expect(service.refusals).toEqual([])
    expect(results).toMatchObject([{ terminal_reason: 'aborted_streaming' }, { result: 'It is late.' }])
  })

  test('is omitted after an interruption if a final answer is requested', async () => {
    const service = await startProgramService(
      beginsProgram(...dice),
      answerOf('A die was rolled.'),
      says('It is late.'),
    )
    const die = rollDie(() => engine.interrupt())
    const engine = new QueryEngine({ model: programModel(service.url), tools: [die, look] })
    const results: unknown[] = []
    for await (const _ of engine.submit('Roll.')) void _
    for await (const message of engine.lastAnswer()) if (message.type === 'result') results.push(message)
    for await (const message of engine.submit('And now?')) if (message.type === 'result') results.push(message)
    expect(service.refusals).toEqual([])
    expect(results).toMatchObject([{ result: 'A die was rolled.' }, { result: 'It is late.' }])
    expect(JSON.stringify(service.bodies()[1]?.messages)).not.toContain('srvtoolu_1')
  })

  test('does not continue in a separate question about the conversation, whatever tools that request lists', async () => {
    const service = await startProgramService(beginsProgram(...dice), answerOf('A summary.'), endsProgram)
    const asked: unknown[] = []
    // Asks before the second request, and leaves the conversation unchanged.
    const context: ContextManager = {
      ...plainContext,
      beforeRequest({ state, system, tools }) {
        const known = state.transcript.messages()
        if (asked.length > 0 || known.length < 3) return undefined
        const messages = [...known, { role: 'user', content: 'Sum it up.' } as const]
        return {
          trigger: 'auto',
          async run({ ask }) {
            const reply = await ask({ system, tools, toolChoice: 'auto', messages })
            asked.push(reply.kind === 'answered' ? textOf(reply.message.content) : reply)
            return { kind: 'gave_up', message: 'as it is' }
          },
        }
      },
    }
    const options = { model: programModel(service.url), tools: [rollDie(), look], context }
    const { reason } = await streamRun(startRun({ prompt: 'Roll.' }), { ...options, steps: createMemorySteps() }).result
    expect([service.refusals, reason, asked]).toEqual([[], 'completed', ['A summary.']])
    const [, question, next] = service.bodies().map(({ messages }) => JSON.stringify(messages))
    expect(question).not.toContain('srvtoolu_1')
    expect(next).toContain('srvtoolu_1')
  })

  test.each([
    ['whose container has expired', { id: 'container_1', expires_at: '2001-01-01T00:00:00Z' }],
    ['whose container was never reported', undefined],
  ])("is omitted with %s, and its calls are sent as the model's own", async (_name, container) => {
    const service = await startProgramService(says('Rolled.'), says('Still.'))
    const code = { type: 'server_tool_use', id: 'srvtoolu_1', name: 'code_execution', input: {} }
    const messages = [
      { role: 'user', content: 'Roll.' },
      {
        role: 'assistant',
        content: [{ type: 'text', text: 'By code.' }, code, ...dice],
        ...(container && { container }),
      },
      { role: 'user', content: dice.map(({ id }) => ({ type: 'tool_result', tool_use_id: id, content: '4' })) },
      { role: 'user', content: 'What time is it?' },
    ]
    // Messages of core, with the service's data about them.
    const request = requestOf({ messages: messages as never })
    const model = programModel(service.url)
    const later = [
      ...messages,
      { role: 'assistant', content: [{ type: 'text', text: 'Rolled.' }] },
      { role: 'user', content: 'And now?' },
    ]
    const { reply } = await call(model, { request })
    await call(model, { request: requestOf({ messages: later as never }) })
    expect([service.refusals, reply?.message.stop_reason]).toEqual([[], 'end_turn'])
    const [first, second] = service.bodies()
    const direct = dice.map(({ caller: _, ...one }) => one)
    expect(first?.messages[1]?.content).toEqual([{ type: 'text', text: 'By code.' }, ...direct])
    expect(first?.messages[2]?.content).toMatchObject([
      { tool_use_id: 'a' },
      { tool_use_id: 'b' },
      { text: 'What time is it?' },
    ])
    expect(withoutBreakpoints(second?.messages.slice(0, 3))).toEqual(withoutBreakpoints(first?.messages))
  })

  test('from a recording makes single calls, and gets all results', async () => {
    const replies = recordings.filter(({ name }) => name.startsWith('anthropic-programmatic-tool-calling'))
    let answered = 0
    const server = await startRawServer((response) => {
      beginStream(response)
      // Containers of the recording have expired.
      const events = JSON.stringify(replies[answered++]?.events ?? []).replaceAll(
        '"expires_at":"2025',
        '"expires_at":"2999',
      )
      response.end(bytesOf(JSON.parse(events) as JsonObject[]))
    })
    const rolls: string[] = []
    const die = tool({
      name: 'rollDie',
      description: 'Rolls.',
      inputSchema,
      execute: ({ player = '' }) => (rolls.push(player), '6'),
    })
    const model = modelAt(server.url, {
      serverTools: [{ type: 'code_execution_20250825', name: 'code_execution' }],
      toolOptions: { rollDie: { allowed_callers: ['code_execution_20250825'] } },
    })
    const ended = await streamRun(startRun({ prompt: 'Play.' }), { model, tools: [die] }).result
    expect([ended.reason, answered]).toEqual(['completed', replies.length])
    const calls = replies.flatMap(({ events }) => JSON.stringify(events).match(/"player":"player\d"/g) ?? [])
    expect(rolls.map((player) => `"player":"${player}"`)).toEqual(calls)
    const { messages } = JSON.parse(String(server.bodies.at(-1))) as { messages: { content: JsonObject[] }[] }
    const sent = messages.flatMap(({ content }) => content)
    expect(sent.filter(({ type }) => type === 'tool_result')).toHaveLength(rolls.length)
    for (const call of sent.filter(({ type }) => type === 'tool_use')) {
      expect(call.caller).toMatchObject({ type: 'code_execution_20250825', tool_id: expect.any(String) as string })
    }
  })
})

function withoutBreakpoints(value: unknown): unknown[] {
  const text = JSON.stringify(value, (key, part: unknown) => (key === 'cache_control' ? undefined : part))
  return JSON.parse(text) as unknown[]
}

test('may call a tool found by search, and no breakpoint is at one that is not found yet', async () => {
  const search = { type: 'server_tool_use', id: 'srvtoolu_2', name: 'tool_search_tool_regex', input: {} }
  const found = {
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_2',
    content: {
      type: 'tool_search_tool_search_result',
      tool_references: [{ type: 'tool_reference', tool_name: 'RollDie' }],
    },
  }
  const roll = { type: 'tool_use', id: 'd', name: 'RollDie', input: { player: 'one' }, caller: { type: 'direct' } }
  const service = await startProgramService(
    () => [
      started(),
      ...block(0, search, { type: 'input_json_delta', partial_json: '{"query":"roll"}' }),
      ...block(1, found),
      ...block(2, roll),
      ...stopped('tool_use'),
    ],
    says('A four.'),
  )
  const searchTool = { type: 'tool_search_tool_regex_20251119', name: 'tool_search_tool_regex', defer_loading: false }
  const model = modelAt(service.url, {
    serverTools: [{ ...searchTool, defer_loading: false }],
    toolOptions: { RollDie: { defer_loading: true }, Look: { strict: true }, Gone: { defer_loading: true } },
  })
  const options = { model, tools: [look, rollDie()] }
  const ended = await streamRun(startRun({ prompt: 'Roll.' }), options).result
  expect([ended.reason, service.refusals]).toEqual(['completed', []])
  const [first, second] = service.bodies()
  const about = (name: string): unknown => first?.tools.find((one) => one.name === name)
  expect(about('RollDie')).toMatchObject({ defer_loading: true })
  expect(about('RollDie')).not.toHaveProperty('cache_control')
  expect(about('tool_search_tool_regex')).toHaveProperty('cache_control')
  expect(second?.messages[1]?.content).toEqual([{ ...search, input: { query: 'roll' } }, found, roll])
})

test('sets no breakpoint if every tool is deferred', async () => {
  const service = await startProgramService(says('Hm.'))
  const model = modelAt(service.url, { toolOptions: { Look: { defer_loading: true } } })
  await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [look] }).result
  expect(service.refusals).toEqual([])
  expect(JSON.stringify(service.bodies()[0]?.tools)).not.toContain('cache_control')
})

test('sends a result with found tools unchanged', async () => {
  const call = { type: 'tool_use', id: 'f', name: 'Find', input: {} }
  const service = await startProgramService(
    () => [started(), ...block(0, call), ...stopped('tool_use')],
    says('Found.'),
  )
  const references = [{ type: 'tool_reference', tool_name: 'Look' } as const]
  const find = tool({ name: 'Find', description: 'Finds tools.', execute: () => ({ content: references }) })
  const model = modelAt(service.url, { toolOptions: { Look: { defer_loading: true } } })
  await streamRun(startRun({ prompt: 'Go.' }), { model, tools: [find, look] }).result
  expect(service.bodies()[1]?.messages.at(-1)?.content).toMatchObject([{ tool_use_id: 'f', content: references }])
})

describe('rejects invalid options when the model is created', () => {
  const code = { allowed_callers: [codeVersion] }
  test.each([
    ['no object', 'all', /^toolOptions must be options by the names of tools/],
    ['a list', [], /^toolOptions must be options by the names of tools/],
    ['a name with a space', { 'Roll Die': {} }, /^toolOptions\.Roll Die must be under a name that a tool can have/],
    ['invalid options', { Look: true }, /^toolOptions\.Look must be an object with allowed_callers, /],
    [
      'an unknown option',
      { Look: { deferLoading: true } },
      /^toolOptions\.Look\.deferLoading must be one of allowed_callers, /,
    ],
    [
      'a word for a flag',
      { Look: { defer_loading: 'yes' } },
      /^toolOptions\.Look\.defer_loading must be true or false\.$/,
    ],
    [
      'a caller of another kind',
      { Look: { allowed_callers: ['code'] } },
      /allowed_callers must be a list of 'direct' and names/,
    ],
    ['no callers', { Look: { allowed_callers: [] } }, /allowed_callers must be a list/],
    ['an invalid example', { Look: { input_examples: ['x'] } }, /input_examples must be a list of inputs/],
    [
      'missing code',
      { Look: code },
      /is not in serverTools\. Add \{ type: 'code_execution_20260120', name: 'code_execution' \} to serverTools\.$/,
    ],
  ])('%s', (_name, given, message) => {
    expect(() => modelAt('http://127.0.0.1', { toolOptions: given as never })).toThrow(message)
  })

  test('including a strict schema for code', () => {
    const options = { serverTools, toolOptions: { Look: { ...code, strict: true } } }
    expect(() => modelAt('http://127.0.0.1', options)).toThrow(/cannot be strict and callable by code/)
  })

  test.each([-1, 1.5, Number.NaN])('including %s uses of server tools', (maxServerToolUses) => {
    expect(() => modelAt('http://127.0.0.1', { maxServerToolUses })).toThrow(
      /^maxServerToolUses must be a whole number/,
    )
  })

  test('names the missing limit of code under a budget', () => {
    const model = modelAt('http://127.0.0.1', { serverTools })
    expect(() => streamRun(startRun({ prompt: 'Go.' }), { model, prices, maxBudgetUsd: 1 })).toThrow(
      /maxServerToolUses/,
    )
  })
})
