// Tests R-SUB-2, R-SUB-3, R-SUB-2a, R-SUB-3a to R-SUB-3d, R-SUB-4c, R-SUB-6, R-SUB-6a, R-SUB-7, R-CERT-5a, R-PERM-6c.
import { describe, expect, test } from 'vitest'
import {
  certificate,
  resume,
  type AgentTool,
  type ChildRun,
  type RunEvent,
  type RunOptions,
  type ModelRequest,
  type PermissionRequest,
  type StepRecord,
} from '../../src/index.ts'
import type { SpawnContext } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import {
  begin,
  calls,
  dollarATokenPrices,
  hanging,
  json,
  reader,
  resultTexts,
  run,
  tool,
  until,
} from '../support/harness.ts'
import { killedBefore } from '../support/kill-process.ts'
import { lastResultOfAgent } from '../../src/tool-calls/call-texts.ts'

type Spawn = (input: { readonly prompt: string }, context: SpawnContext) => ChildRun

const agent = (spawn: Spawn = ({ prompt }) => ({ prompt }), more: Partial<AgentTool> = {}): AgentTool => ({
  name: 'Agent',
  description: 'a subagent',
  inputSchema: { type: 'object', required: ['prompt'] },
  readOnly: true,
  concurrencySafe: true,
  // The schema requires the prompt.
  spawn: (input, context) => spawn(input as { readonly prompt: string }, context),
  ...more,
})
const asks = (...prompts: readonly string[]) =>
  calls(...prompts.map((prompt) => ({ name: 'Agent', input: { prompt } })))
const promptOf = ({ messages }: ModelRequest): string =>
  typeof messages[0]?.content === 'string' ? messages[0].content : ''
const turnOf = ({ messages }: ModelRequest): number => messages.filter(({ role }) => role === 'assistant').length
const byPrompt =
  (scripts: { readonly [prompt: string]: readonly ScriptedReply[] }) =>
  (request: ModelRequest): ScriptedReply =>
    scripts[promptOf(request)]?.[turnOf(request)] ?? 'end'

/** Prompts of all agents that began, with their depth. */
function startedAgents(events: readonly RunEvent[], depth = 1): readonly (readonly [depth: number, id: string])[] {
  return events.flatMap((event) => {
    if (event.type !== 'agent') return []
    const inner = startedAgents([event.event], depth + 1)
    return event.event.type === 'run_start' ? [[depth, event.callId] as const, ...inner] : inner
  })
}

describe('a subagent that starts another', () => {
  const script = byPrompt({ go: [asks('a'), 'done'], a: [asks('b'), 'a, with b'], b: [calls('Look'), 'b'] })

  test('has its answer as a result, and all their spending is in the figures of the run', async () => {
    const { state, events, terminal } = await run(script, { tools: [agent(), reader('Look')] })
    expect(resultTexts({ state })).toEqual(['a, with b'])
    expect(startedAgents(events).map(([depth]) => depth)).toEqual([1, 2])
    // Six requests, 15 tokens each.
    expect([state.spent.subagents, state.spent.totalTokens]).toEqual([2, 90])
    expect(terminal.summary.usage.input_tokens).toBe(20)
  })

  test('is not shown the tool on the last level, and gets an error when it calls it anyway', async () => {
    const deep = byPrompt({ go: [asks('a'), 'done'], a: [asks('b'), 'end of a'], b: [asks('c'), 'end of b'] })
    const { model, events } = await run(deep, { tools: [agent(), reader('Look')], maxSubagentDepth: 2 })
    const toolsShown = model.requests.map((request) => [promptOf(request), request.tools.map(({ name }) => name)])
    expect(toolsShown.filter(([prompt]) => prompt === 'b')).toEqual([
      ['b', ['Look']],
      ['b', ['Look']],
    ])
    expect(toolsShown.find(([prompt]) => prompt === 'a')).toEqual(['a', ['Agent', 'Look']])
    expect(startedAgents(events)).toHaveLength(2)
    const toB = model.requests.findLast((request) => promptOf(request) === 'b')
    expect(JSON.stringify(toB?.messages.at(-1))).toContain('Agents at depth 2 cannot start other agents.')
  })

  test('receives its depth, its tools and its mode', async () => {
    const spawns: SpawnContext[] = []
    const spawn: Spawn = ({ prompt }, context) => {
      spawns.push(context)
      return { prompt, tools: ['Agent', 'Look'], permissionMode: 'closed' }
    }
    await run(script, { tools: [agent(spawn), reader('Look'), tool('Write')] })
    expect(spawns).toEqual([
      { depth: 0, tools: ['Agent', 'Look', 'Write'], permissionMode: null },
      { depth: 1, tools: ['Agent', 'Look'], permissionMode: 'closed' },
    ])
  })

  test.each([1, 2, 3, 7, 20])(
    'keeps the whole tree within %i agents, whichever agent asks for more',
    async (maxSubagents) => {
      const { state, events } = await run((request) => (turnOf(request) < 2 ? asks('two', 'more') : 'enough'), {
        tools: [agent()],
        maxSubagents,
        maxSubagentDepth: 4,
      })
      const depths = startedAgents(events).map(([depth]) => depth)
      expect(depths).toHaveLength(state.spent.subagents)
      expect(depths.length).toBeLessThanOrEqual(maxSubagents)
      expect(Math.max(...depths)).toBeLessThanOrEqual(4)
      // The next message may use what one part does not.
      expect(depths.length).toBe(maxSubagents)
    },
  )

  test('is aborted with the run', async () => {
    const look = hanging('Look')
    let isRunning = false
    const running: typeof look = {
      ...look,
      execute(...args) {
        isRunning = true
        return look.execute(...args)
      },
    }
    const going = begin(script, { tools: [agent(), running] })
    await until(() => isRunning)
    going.loop.abort()
    const { terminal, events } = await going.end()
    expect(terminal.reason).toBe('aborted_tools')
    const ends = (all: readonly RunEvent[]): readonly unknown[] =>
      all.flatMap((event) => {
        if (event.type === 'agent') return ends([event.event])
        return event.type === 'run_end' ? [[event.terminal.reason, event.terminal.signal.context['cause']]] : []
      })
    expect(ends(events).slice(0, 2)).toEqual([
      ['aborted_tools', 'parent'],
      ['aborted_tools', 'parent'],
    ])
  })

  test('draws on the ledger of the run', async () => {
    const model = scriptedModel(script, { maxOutputTokens: 2_000 })
    const { terminal } = await run([], {
      model,
      tools: [agent(), reader('Look')],
      prices: dollarATokenPrices,
      maxBudgetUsd: 2_300,
    })
    const ofB = model.requests
      .filter((request) => promptOf(request) === 'b')
      .map(({ maxOutputTokens }) => maxOutputTokens)
    // The spending of the two above it is gone.
    expect(ofB[0]).toBeLessThan(2_300 - 30 - 1_000)
    expect(terminal.costUsd).toBeLessThanOrEqual(2_300)
  })
})

describe('a subagent', () => {
  const script = byPrompt({ go: [asks('a'), 'done'], a: ['found'] })

  test('asks the model that its tool names, which the figures list separately', async () => {
    const small = scriptedModel(['found'], { id: 'small' })
    const naming = agent(({ prompt }) => ({ prompt, model: 'small' }), { models: [small] })
    const { state, model } = await run(script, { tools: [naming] })
    expect([resultTexts({ state }), small.requests.length, model.requests.length]).toEqual([['found'], 1, 2])
    expect(Object.keys(state.spent.modelUsage).toSorted()).toEqual([model.id, 'small'].toSorted())
  })

  test.each([
    ['that nobody named', {}, 'There is no model large for a subagent; there is scripted'],
    [
      'without a price, under a budget',
      { maxBudgetUsd: 50_000 },
      'There is no price for small, so a dollar budget cannot be enforced',
    ],
  ])('is not started with a model %s', async (_what, options: Pick<RunOptions, 'maxBudgetUsd'>, message) => {
    const small = scriptedModel(['found'], { id: 'small' })
    const naming = agent(({ prompt }) => ({ prompt, model: 'maxBudgetUsd' in options ? 'small' : 'large' }), {
      models: [small],
    })
    const prices: RunOptions['prices'] = {
      ...dollarATokenPrices,
      worstCase: (id, bound) => (id === 'small' ? undefined : dollarATokenPrices.worstCase(id, bound)),
    }
    const { state } = await run(script, { tools: [naming], prices, ...options })
    expect(resultTexts({ state })).toEqual([expect.stringContaining(message)])
    expect(small.requests).toHaveLength(0)
  })

  test('is judged in its own mode and by its own rules in addition to those of its parent', async () => {
    const judged: unknown[] = []
    const rule = { type: 'addRules', rules: [{ toolName: 'Look' }], behavior: 'deny', destination: 'session' } as const
    const strict = agent(({ prompt }) => ({ prompt, permissionMode: 'closed', permissionUpdates: [rule] }))
    const permissions = {
      modes: ['closed'],
      denies: () => undefined,
      decide: ({ call, mode, learned, agentId }: PermissionRequest) => {
        judged.push([call.name, mode, learned, agentId])
        return { behavior: 'allow' } as const
      },
    }
    const looking = byPrompt({ go: [asks('a'), calls('Look'), 'done'], a: [calls('Look'), 'found'] })
    await run(looking, { tools: [strict, reader('Look')], permissions })
    expect(judged).toEqual([
      ['Agent', undefined, undefined, undefined],
      ['Look', 'closed', [rule], expect.stringMatching(/agent:1:0:/)],
      ['Look', undefined, undefined, undefined],
    ])
  })

  test('is denied what a person would have to allow, when nobody is asked during its run', async () => {
    const permissions = {
      denies: () => undefined,
      decide: ({ call }: PermissionRequest) =>
        call.name === 'Write'
          ? ({ behavior: 'ask', message: 'no rule allows Write.' } as const)
          : ({ behavior: 'allow' } as const),
    }
    const writing = byPrompt({ go: [asks('a'), 'done'], a: [calls('Write'), 'could not'] })
    const { state, model, terminal } = await run(writing, { tools: [agent(), tool('Write')], permissions })
    expect([terminal.reason, resultTexts({ state })]).toEqual(['completed', ['could not']])
    const last = model.requests.findLast((request) => promptOf(request) === 'a')
    expect(JSON.stringify(last?.messages)).toContain('Calls of subagents cannot be approved in this run')
  })

  test('is not started with invalid rules', async () => {
    const broken = agent(({ prompt }) => ({ prompt, permissionUpdates: [{ type: 'nothing' } as never] }))
    const { state } = await run(script, { tools: [broken] })
    expect(resultTexts({ state })).toEqual([expect.stringContaining('permissionUpdates of a subagent')])
  })

  test('has its note before its answer, and its task at its start', async () => {
    const noting = agent(({ prompt }) => ({ prompt, note: 'It ran at once.', description: 'looks for it' }))
    const { state, events } = await run(script, { tools: [noting] })
    expect(resultTexts({ state })).toEqual(['It ran at once.\n\nfound'])
    expect(events.find(({ type }) => type === 'agent')).toMatchObject({ description: 'looks for it' })
  })

  test.each([
    [
      'its earlier text',
      { text: 'I see a bug in a.ts.', ...calls('Look') },
      'Its last output:\n\nI see a bug in a.ts.',
    ],
    ['the last result that it saw', calls('Look'), lastResultOfAgent('a.ts: 12', 2_000)],
  ])('that is stopped by a limit reports %s', async (_what, reply, expected) => {
    const limited = agent(({ prompt }) => ({ prompt, maxTurns: 1 }))
    const stopped = byPrompt({ go: [asks('a'), 'done'], a: [reply] })
    const { state } = await run(stopped, { tools: [limited, reader('Look', 'a.ts: 12')] })
    expect(resultTexts({ state })).toEqual([
      `The agent was stopped before it was done (steps_limit: Reached maximum number of turns (1)). ${expected}`,
    ])
  })

  test('that wrote much before it was stopped is quoted from its end', async () => {
    const limited = agent(({ prompt }) => ({ prompt, maxTurns: 1 }))
    const long = byPrompt({ go: [asks('a'), 'done'], a: [{ text: `${'x'.repeat(20_000)} the end`, ...calls('Look') }] })
    const { state } = await run(long, { tools: [limited, reader('Look')] })
    const [resultText] = resultTexts({ state })
    expect(String(resultText).length).toBeLessThan(8_300)
    expect(resultText).toMatch(/\(the end of 20008 characters\)\nx+ the end$/)
  })
})

describe('a resume inside an agent of an agent', () => {
  // The agent `a` asks for two agents and may start one of them.
  const script = byPrompt({
    go: [asks('a'), 'done'],
    a: [asks('b', 'c'), calls('Look'), 'end of a'],
    b: [calls('Write'), 'end of b'],
    c: ['end of c'],
  })
  const program = () => {
    const written: string[] = []
    const write = tool('Write', () => (written.push('once'), 'written'))
    const model = scriptedModel(script)
    const options = (more: Partial<RunOptions> = {}): RunOptions => ({
      model,
      clock: createFakeClock({ autoAdvance: true }),
      tools: [agent(), reader('Look'), write],
      maxSubagents: 2,
      ...more,
    })
    return { written, model, options }
  }
  const resumeRun = async (records: readonly StepRecord[], options: RunOptions) => {
    const { terminal, state } = await resume(records, options).loop.ended
    expect(transcriptProblems(state.transcript.messages())).toEqual([])
    return { terminal, state, texts: resultTexts({ state: { ...state, startLength: 0 } }) }
  }
  const all = async (options: RunOptions): Promise<readonly StepRecord[]> => {
    const { streamRun, startRun, createMemorySteps } = await import('../../src/index.ts')
    const records: StepRecord[] = []
    const steps = createMemorySteps({
      clock: options.clock!,
      onRecord: (record) => void records.push(json(record) as unknown as StepRecord),
    })
    await streamRun(startRun({ prompt: 'go' }), { ...options, steps }).ended
    return records
  }

  test('has the same result after a kill after any record, and does nothing twice', async () => {
    const plain = program()
    const records = await all(plain.options())
    const completeRun = await resumeRun(records.slice(0, -1), program().options())
    expect(completeRun.texts).toEqual(['end of a'])
    for (let length = 1; length < records.length; length++) {
      const { written, options } = program()
      const before = records.slice(0, length)
      const { terminal, texts, state } = await resumeRun(before, options())
      const hasBegun = before.some((record) => record.type === 'intent' && record.key.includes('/tool:1:0:'))
      expect([length, terminal.reason, texts]).toEqual([length, 'completed', ['end of a']])
      expect([length, written.length]).toEqual([length, hasBegun ? 0 : 1])
      expect(state.spent.subagents).toBe(2)
    }
  })

  test.each<[string, Partial<RunOptions>]>([
    ['more', { maxSubagents: 50 }],
    ['none', { maxSubagents: 0 }],
    ['one level', { maxSubagentDepth: 1 }],
  ])('keeps which agents could start and which could not when the program permits %s', async (_what, more) => {
    const { options, model } = program()
    const records = await killedBefore(
      (record) => record.type === 'intent' && /agent:1:0:[^/]*\/model:3\.1$/.test(record.key),
      options(),
    )
    const requestCount = model.requests.length
    const { terminal, texts } = await resumeRun(records, options(more))
    expect([terminal.reason, texts]).toEqual(['completed', ['end of a']])
    // The last answers of `a` and of the main loop only.
    expect(model.requests.length - requestCount).toBeLessThanOrEqual(3)
    expect(model.requests.some((request) => promptOf(request) === 'c')).toBe(false)
  })
})

test('a resume starts an agent that was permitted but had not begun', async () => {
  const script = byPrompt({ go: [asks('a'), 'done'], a: [asks('none'), calls('Look'), 'end of a'] })
  const choosy = agent(({ prompt }) => {
    if (prompt === 'none') throw new Error('There is no such agent.')
    return { prompt }
  })
  const model = scriptedModel(script)
  const options = (more: Partial<RunOptions> = {}): RunOptions => ({
    model,
    clock: createFakeClock({ autoAdvance: true }),
    tools: [choosy, reader('Look')],
    ...more,
  })
  const records = await killedBefore(
    (record) => record.type === 'intent' && /agent:1:0:[^/]*\/model:3\.1$/.test(record.key),
    options(),
  )
  const { terminal, state } = await resume(records, options({ maxSubagents: 0 })).loop.ended
  expect([terminal.reason, resultTexts({ state: { ...state, startLength: 0 } })]).toEqual(['completed', ['end of a']])
  const last = model.requests.findLast((request) => promptOf(request) === 'a')
  expect(JSON.stringify(last?.messages)).toContain('There is no such agent.')
})

test('the certificate counts the agents of all levels once, and the most expensive model that they may ask', () => {
  const model = scriptedModel([], { contextWindow: 1_000, maxOutputTokens: 100 })
  const large = scriptedModel([], { id: 'large', contextWindow: 9_000, maxOutputTokens: 100 })
  const bounds = (more: Partial<RunOptions>) => {
    const { requests, tokens } = certificate({ model, maxTurns: 2, maxRetries: 0, ...more })
    return [requests, tokens].map((bound) => (bound.bounded ? bound.value : bound.because))
  }
  const [alone = 0] = bounds({})
  const flat = bounds({ tools: [agent()], maxSubagents: 3, maxSubagentDepth: 1 })
  const deep = bounds({ tools: [agent()], maxSubagents: 3, maxSubagentDepth: 9 })
  expect(flat).toEqual([4 * Number(alone), 4 * Number(alone) * 1_100])
  expect(deep).toEqual(flat)
  const dearer = bounds({ tools: [agent(undefined, { models: [large] })], maxSubagents: 3 })
  expect(dearer).toEqual([4 * Number(alone), 4 * Number(alone) * 9_100])
})
