// Tests R-SUB-2b, R-SUB-2c, R-SUB-3d, R-SUB-9, R-TOOL-3a.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  agentTool,
  certificate,
  createMemorySteps,
  outputSchema,
  replay,
  resume,
  startRun,
  streamRun,
  tool,
  type AnyTool,
  type FinishedRun,
  type ModelRequest,
  type Permissions,
  type RunOptions,
  type StepRecord,
} from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, dollarATokenPrices, hook, json, reader, results, resultTexts, run, until } from '../support/harness.ts'

const promptOf = ({ messages }: ModelRequest): string =>
  typeof messages[0]?.content === 'string' ? messages[0].content : ''
const turnOf = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'assistant').length

/** Scripts by prompt: the main loop's is `go`. */
const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] }) =>
  (request: ModelRequest): ScriptedReply =>
    scripts[promptOf(request)]?.[turnOf(request)] ?? 'end'

const ask = (name: string, input: unknown = { prompt: 'sub' }) => ({ name, input })
const asksHelper = [calls(ask('Help')), 'done']
const helper = { name: 'Help', description: 'helps' } as const

/** Runs to the end, and stores each record as JSON. */
function recorded(options: RunOptions, records: StepRecord[]): Promise<FinishedRun> {
  const steps = createMemorySteps({
    ...(options.clock !== undefined && { clock: options.clock }),
    onRecord: (record) => void records.push(json(record) as unknown as StepRecord),
  })
  return streamRun(startRun({ prompt: 'go' }), { ...options, steps }).ended
}

describe('an agent without spawn', () => {
  test('takes a prompt, has no tools except those named, and answers with its own model', async () => {
    const own = scriptedModel(['from its own'], { id: 'scripted' })
    const agent = agentTool({ ...helper, system: 'You help.', model: own })
    const { model, ...result } = await run(byPrompt({ go: asksHelper }), { tools: [agent, reader('Look')] })
    expect(resultTexts(result)).toEqual(['from its own'])
    // The model of the run has the same id: the object decides.
    expect(own.requests.map(({ system, tools, messages }) => [system, tools, messages])).toEqual([
      ['You help.', [], [{ role: 'user', content: 'sub' }]],
    ])
    expect(model.requests).toHaveLength(2)
    const invalid = await run(byPrompt({ go: [calls(ask('Help', {})), 'done'] }), { tools: [agent] })
    expect(results(invalid)[0]).toMatchObject({ is_error: true })
  })

  test.each<[string, object, unknown, string]>([
    ['the text of the only field', { type: 'object', properties: { topic: { type: 'string' } } }, { topic: 'x' }, 'x'],
    ['else the input as JSON', { type: 'object' }, { a: 'x', b: 1 }, '{\n  "a": "x",\n  "b": 1\n}'],
  ])('is prompted with %s', async (_what, inputSchema, input, prompt) => {
    const agent = agentTool({ ...helper, inputSchema: inputSchema as { readonly type: 'object' } })
    const { model } = await run(byPrompt({ go: [calls(ask('Help', input)), 'done'] }), { tools: [agent] })
    expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: prompt }])
  })

  test('is prompted by its prompt function, with an input that its schema accepts', async () => {
    const agent = agentTool({
      ...helper,
      inputSchema: z.object({ city: z.string(), days: z.number().default(3) }),
      prompt: ({ city, days }) => `${days} days in ${city}`,
    })
    const { model } = await run(byPrompt({ go: [calls(ask('Help', { city: 'Bonn' })), 'done'] }), { tools: [agent] })
    expect(model.requests[1]?.messages).toEqual([{ role: 'user', content: '3 days in Bonn' }])
  })

  test('ends at its own limits', async () => {
    const agent = agentTool({ ...helper, tools: [reader('Look')], maxTurns: 1 })
    const result = await run(byPrompt({ go: asksHelper, sub: [calls('Look'), calls('Look')] }), { tools: [agent] })
    expect(resultTexts(result)).toEqual([expect.stringContaining('Reached maximum number of turns (1)')])
  })

  test('does not start without a tool of the run that it names', async () => {
    const agent = agentTool({ ...helper, tools: ['Look', 'Raed'] })
    const result = await run(byPrompt({ go: asksHelper }), { tools: [agent, reader('Look')] })
    expect(results(result)).toMatchObject([
      { is_error: true, content: expect.stringContaining('it needs Raed, which') },
    ])
    expect(result.model.requests).toHaveLength(2)
  })
})

describe('tools of its own', () => {
  const look = (content: string): AnyTool =>
    tool({ name: 'Look', description: content, readOnly: true, execute: () => content })
  const script = byPrompt({ go: [calls('Look', ask('Help')), 'done'], sub: [calls('Look', 'Other'), 'end of sub'] })

  test('exist only in its run, and replace those of the run with the same name', async () => {
    const seen: string[] = []
    const spy = hook(['afterToolUse'], ({ toolOutput }) => void seen.push(String(toolOutput?.text)))
    const agent = agentTool({ ...helper, tools: [look('own'), 'Other'] })
    const { model } = await run(script, { tools: [look("the run's"), reader('Other'), agent], hooks: [spy] })
    // Hooks see the calls of a batch in order once all of them have ended.
    expect(seen).toEqual(['own', 'read', "the run's", 'end of sub'])
    expect(model.requests.map(({ tools }) => tools.map(({ name, description }) => [name, description]))).toEqual([
      [
        ['Look', "the run's"],
        ['Other', 'Other for tests'],
        ['Help', 'helps'],
      ],
      [
        ['Look', 'own'],
        ['Other', 'Other for tests'],
      ],
      expect.anything(),
      expect.anything(),
    ])
  })

  test('take precedence over an alias for a tool of the run', async () => {
    const seen: string[] = []
    const spy = hook(['afterToolUse'], ({ toolOutput }) => void seen.push(String(toolOutput?.text)))
    const tools = [agentTool({ ...helper, tools: [look('own'), 'Other'] }), reader('Other')]
    await run(script, { tools, hooks: [spy], toolAliases: { Look: 'Other' } })
    expect(seen).toEqual(['own', 'read', 'read', 'end of sub'])
  })

  test('are all available to a spawn that names none, in addition to those of the run', async () => {
    const agent = agentTool({ ...helper, tools: [look('own')], spawn: () => ({ prompt: 'sub' }) })
    const { model } = await run(script, { tools: [reader('Other'), agent] })
    expect(model.requests[1]?.tools.map(({ name }) => name)).toEqual(['Other', 'Help', 'Look'])
  })

  test('are judged by the permissions of the run and seen by its hooks', async () => {
    const judged: string[] = []
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ call }) => {
        judged.push(call.name)
        return call.name === 'Look' ? { behavior: 'deny', message: 'not that' } : { behavior: 'allow' }
      },
    }
    const hooked: (string | undefined)[] = []
    const spy = hook(['beforeToolUse'], ({ toolCall }) => void hooked.push(toolCall?.name))
    let isRun = false
    const own = tool({ name: 'Look', description: '', execute: () => ((isRun = true), 'x') })
    const agent = agentTool({ ...helper, tools: [own] })
    await run(byPrompt({ go: asksHelper, sub: [calls('Look'), 'end'] }), { tools: [agent], permissions, hooks: [spy] })
    expect([judged, hooked, isRun]).toEqual([['Help', 'Look'], ['Help', 'Look'], false])
  })

  test('may be agents themselves, whose models count in the certificate', async () => {
    const deep = scriptedModel(['from below'], { id: 'deep', maxOutputTokens: 9_000 })
    const inner = agentTool({ name: 'Inner', description: '', model: deep })
    const agent = agentTool({ ...helper, tools: [inner] })
    const go = byPrompt({ go: asksHelper, sub: [calls(ask('Inner', { prompt: 'deeper' })), 'end of sub'] })
    const result = await run(go, { tools: [agent] })
    expect([resultTexts(result), deep.requests.length]).toEqual([['end of sub'], 1])
    const bounds = (tools: readonly AnyTool[]) =>
      certificate({ model: scriptedModel([]), tools, maxTurns: 1, maxRetries: 0 }).tokens
    expect(bounds([agent])).toEqual(bounds([agentTool({ ...helper, model: deep })]))
  })
})

describe('its own output schema', () => {
  const verdict = z.object({ ok: z.boolean(), note: z.string().default('none') })
  const jsonSchema = {
    type: 'object',
    properties: { ok: { type: 'boolean' } },
    required: ['ok'],
    additionalProperties: false,
  } as const

  test.each([
    ['a Standard Schema', verdict, '{"ok":true,"note":"none"}'],
    ['an output schema', outputSchema(verdict), '{"ok":true,"note":"none"}'],
    ['a JSON Schema', jsonSchema, '{"ok":true}'],
  ])('that is %s sends back what does not match; the result is the value as JSON', async (_what, output, json_) => {
    const agent = agentTool({ ...helper, system: 'You judge.', output })
    const script = byPrompt({ go: asksHelper, sub: ['Looks fine.', '{"ok":"yes"}', '{"ok": true}'] })
    const { model, state, terminal } = await run(script, { tools: [agent], system: 'main' })
    expect(resultTexts({ state })).toEqual([json_])
    expect(state.transcript.at(2)).toMatchObject({
      details: { call_0_0: { reason: 'completed', output: JSON.parse(json_) as object } },
    })
    expect(terminal.reason).toBe('completed')
    const [main, first] = model.requests
    expect(main?.system).toBe('main')
    expect(first?.system).toMatch(/^You judge\.\n\n.*single JSON value.*JSON Schema:\n\{/s)
  })

  test('that no answer matches makes the result an error', async () => {
    const agent = agentTool({ ...helper, output: jsonSchema })
    const { state, terminal } = await run(byPrompt({ go: asksHelper, sub: Array<string>(20).fill('no') }), {
      tools: [agent],
    })
    expect(results({ state })).toMatchObject([{ is_error: true, content: expect.stringContaining('it is not JSON') }])
    expect(terminal.reason).toBe('completed')
  })

  test("is sent only to its run: neither to its parent's nor to those below it", async () => {
    const inner = agentTool({ name: 'Inner', description: '', spawn: () => ({ prompt: 'deeper' }) })
    const agent = agentTool({ ...helper, spawn: () => ({ prompt: 'sub' }), tools: [inner], output: jsonSchema })
    const go = byPrompt({
      go: [calls(ask('Help')), '{"ok":false}'],
      sub: [calls('Inner'), '{"ok":true}'],
      deeper: ['plain'],
    })
    const { model } = await run(go, { tools: [agent], system: 'main', output: outputSchema(verdict) })
    const prompts = model.requests.map((request) => [promptOf(request), request.system.split('JSON Schema').length - 1])
    expect(prompts).toEqual([
      ['go', 1],
      ['sub', 1],
      ['deeper', 0],
      ['sub', 1],
      ['go', 1],
    ])
    expect(model.requests.find((request) => promptOf(request) === 'deeper')?.system).toBe('main')
  })

  test('counts in the certificate: its answers may be sent back', () => {
    const requests = (output?: typeof jsonSchema) => {
      const agent = agentTool({ ...helper, ...(output !== undefined && { output }) })
      const bound = certificate({ model: scriptedModel([]), tools: [agent], maxTurns: 3 }).requests
      return bound.bounded ? bound.value : Infinity
    }
    expect(requests(jsonSchema)).toBeGreaterThan(requests())
  })
})

describe('calls of agents in one message', () => {
  /** Each agent makes one request, which is answered once `together` requests are open. Returns the maximum number of open requests. */
  async function maxAtOnce(count: number, together: number, agent: AnyTool): Promise<number> {
    let open = 0
    let most = 0
    let answered = 0
    const model = scriptedModel((request) => {
      if (promptOf(request) === 'go' && turnOf(request) > 0) return 'done'
      if (promptOf(request) === 'go') {
        return calls(...Array.from({ length: count }, (_, index) => ask('Help', { prompt: `part ${index}` })))
      }
      return {
        text: `end of ${promptOf(request)}`,
        async before() {
          most = Math.max(most, ++open)
          const batch = Math.min(together, count - Math.floor(answered / together) * together)
          await until(() => most >= together || open >= batch || answered >= count - 1)
          answered++
          open--
        },
      }
    })
    const result = await run([], { model, tools: [agent] })
    const order = Array.from({ length: count }, (_, index) => `end of part ${index}`)
    expect(resultTexts(result)).toEqual(order)
    return most
  }

  test('run in parallel, at most ten at once', async () => {
    expect(await maxAtOnce(5, 5, agentTool(helper))).toBe(5)
    expect(await maxAtOnce(12, 10, agentTool({ ...helper, spawn: ({ prompt }) => ({ prompt: String(prompt) }) }))).toBe(
      10,
    )
  })

  test('run one at a time with concurrencySafe: false', async () => {
    expect(await maxAtOnce(5, 1, agentTool({ ...helper, concurrencySafe: false }))).toBe(1)
  })

  test('are aborted together with their run', async () => {
    const model = scriptedModel((request) =>
      promptOf(request) === 'go' ? calls(ask('Help'), ask('Help'), ask('Help')) : { hang: true },
    )
    const controller = new AbortController()
    const running = streamRun(startRun({ prompt: 'go' }), {
      model,
      tools: [agentTool(helper)],
      signal: controller.signal,
      clock: createFakeClock({ autoAdvance: true }),
    })
    void running.result
    await until(() => model.requests.length === 4)
    controller.abort()
    const { terminal, state } = await running.ended
    expect([terminal.reason, results({ state }).length]).toEqual(['aborted_tools', 3])
  })

  test('never spend more than the budget of the run, and a replay has the same result', async () => {
    const cases = fc.asyncProperty(
      fc.integer({ min: 1, max: 7 }),
      fc.integer({ min: 40, max: 12_000 }),
      fc.boolean(),
      async (count, maxBudgetUsd, isOwnModel) => {
        const own = scriptedModel(() => ({ text: 'found', usage: { input_tokens: 30, output_tokens: 10 } }))
        const parts = Array.from({ length: count }, (_, index) => ask('Help', { prompt: `part ${index}` }))
        const options = (): RunOptions => ({
          model: scriptedModel(byPrompt({ go: [calls(...parts), 'done'] }), { maxOutputTokens: 1_000 }),
          tools: [agentTool({ ...helper, ...(isOwnModel && { model: own }) })],
          prices: dollarATokenPrices,
          maxBudgetUsd,
          minUsefulTokens: 1,
          clock: createFakeClock({ autoAdvance: true }),
        })
        const records: StepRecord[] = []
        const { terminal, state } = await recorded(options(), records)
        expect(terminal.costUsd).toBeLessThanOrEqual(maxBudgetUsd)
        expect(['completed', 'max_budget_usd']).toContain(terminal.reason)
        const again = await replay(records, options())
        expect(json(again.terminal)).toEqual(json(terminal))
        const entries = again.events.flatMap((event) => (event.type === 'message' ? [event.entry] : []))
        expect(json(entries)).toEqual(json(state.transcript.since(0)))
      },
    )
    await fc.assert(cases)
  })

  test('have the same result after a kill after any record, with the tools of the agent, and do nothing twice', async () => {
    const program = () => {
      const written: string[] = []
      const write = tool({ name: 'Write', description: '', execute: (_input, { agentType }) => (written.push(String(agentType)), 'ok') }) // prettier-ignore
      const model = scriptedModel(
        byPrompt({
          go: [calls(ask('Help', { prompt: 'a' }), ask('Help', { prompt: 'b' })), 'done'],
          a: [calls('Write'), '{"ok":true}'],
          b: [calls('Write'), '{"ok":false}'],
        }),
      )
      const output = z.object({ ok: z.boolean() })
      const options: RunOptions = {
        model,
        clock: createFakeClock({ autoAdvance: true }),
        tools: [agentTool({ ...helper, tools: [write], output })],
      }
      return { written, options }
    }
    const { options } = program()
    const records: StepRecord[] = []
    await recorded(options, records)
    expect(records.length).toBeGreaterThan(12)
    for (let length = 1; length < records.length; length++) {
      const after = program()
      const before = records.slice(0, length)
      const { terminal, state } = await resume(before, after.options).loop.ended
      const texts = resultTexts({ state: { ...state, startLength: 0 } })
      expect([length, terminal.reason, texts]).toEqual([length, 'completed', ['{"ok":true}', '{"ok":false}']])
      const startedCalls = before.filter((record) => record.type === 'intent' && record.key.includes('/tool:')).length
      expect([length, after.written.length]).toEqual([length, 2 - startedCalls])
    }
  })
})
