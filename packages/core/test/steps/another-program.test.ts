// Tests R-STEP-5, R-RES-2, R-RES-10 to R-RES-13.
import { describe, expect, test } from 'vitest'
import {
  resume,
  Transcript,
  type AgentTool,
  type RunOptions,
  type Permissions,
  type StepRecord,
} from '../../src/index.ts'
import { CostLimitHook, StepsLimitHook } from '../../src/compat/index.ts'
import { plainContext, type Compaction } from '../../src/entries/adapters.ts'
import { createFakeClock, scriptedModel, transcriptProblems, type ScriptedReply } from '../../src/testing/index.ts'
import {
  calls,
  dollarATokenPrices as prices,
  hook,
  json,
  reader,
  resultTexts,
  loopMessages,
  tool,
} from '../support/harness.ts'
import { killedBefore, killedBeforeIteration } from '../support/kill-process.ts'

/** Looks, then writes; looks and writes again; then finishes. */
const script = ({ messages }: { readonly messages: readonly { readonly role: string }[] }): ScriptedReply => {
  const turn = messages.filter(({ role }) => role === 'assistant').length
  return turn < 2 ? calls('Look', 'Write') : 'done'
}

/** A hook that adds a message before every request. */
const saying = (text: string, id: string) =>
  hook('beforeStep', (context) => context.withState(context.state().withUserMessage(text)), { id })

/** The options of the run, with hooks or without. `written` lists the writes of the tool. */
function world(hooked = true) {
  const written: string[] = []
  const write = tool('Write', (_input, { idempotencyKey }) => (written.push(idempotencyKey), 'written'))
  const options = (): RunOptions => ({
    model: scriptedModel(script),
    clock: createFakeClock({ autoAdvance: true }),
    system: 'the first system prompt',
    tools: [reader('Look'), write],
    prices,
    hooks: hooked
      ? [saying('a word of the first program', 'first'), hook('beforeToolUse', () => {}, { id: 'looker' })]
      : [],
  })
  return { written, options, write }
}

const denying: Permissions = {
  denies: () => undefined,
  decide: () => ({ behavior: 'deny', message: 'a new rule' }),
}
const compacts: Compaction['run'] = async () => ({
  kind: 'compacted',
  messages: [{ role: 'user', content: 'a summary' }],
  preTokens: 100,
  postTokens: 10,
})

/** Programs that differ from the one that made the record. All of them can continue it. */
const others: readonly (readonly [what: string, change: Partial<RunOptions>])[] = [
  ['the same', {}],
  ['another system prompt', { system: 'a much longer system prompt than the first one was' }],
  ['one more tool', { tools: [reader('Look'), tool('Write'), reader('Extra')] }],
  ['the tools in another order', { tools: [tool('Write'), reader('Look')] }],
  ['without the tool that wrote', { tools: [reader('Look')] }],
  ['without any tool', { tools: [] }],
  [
    'a tool that no longer takes this input',
    {
      tools: [
        reader('Look', 'read', { schema: { type: 'object', required: ['path'] } }),
        tool('Write', 'x', { schema: { type: 'object', required: ['path'] } }),
      ],
    },
  ],
  ['another model', { model: scriptedModel(script, { id: 'another' }) }],
  ['another cap', { model: scriptedModel(script, { maxOutputTokens: 5_000, defaultOutputTokens: 2_000 }) }],
  ['no hooks', { hooks: [] }],
  ['a hook that adds a message', { hooks: [saying('new', 'new')] }],
  ['a hook that denies', { hooks: [hook('beforeToolUse', (context) => context.withBlocked('no'))] }],
  [
    'a hook that changes inputs',
    { hooks: [hook('beforeToolUse', (context) => context.withToolInput({ path: 'elsewhere' }))] },
  ],
  ['rules that deny', { permissions: denying }],
  ['fewer turns', { maxTurns: 1 }],
  ['a guard on steps', { stopWhen: new StepsLimitHook(1) }],
  ['a guard on costs', { stopWhen: new CostLimitHook(5) }],
  ['a budget that is used up', { maxBudgetUsd: 20 }],
  ['a token limit that is reached', { maxTotalTokens: 20 }],
  ['less time', { maxDurationMs: 1 }],
  ['a window that is full', { context: { ...plainContext, blockingLimit: () => 1 } }],
  [
    'a compaction that is due',
    {
      context: {
        ...plainContext,
        autoCompact: true,
        beforeRequest: ({ state }) => (state.spent.request > 2 ? undefined : { trigger: 'auto', run: compacts }),
      },
    },
  ],
]

const cases = others.flatMap(([what, change]) =>
  [true, false].map((hooked) => [what, hooked ? 'hooks' : 'none', change, hooked] as const),
)

describe.each(cases)('a resume with %s, of a run with %s', (_what, _hooks, change, hooked) => {
  test('keeps what is on record: a completed write is done once, and reported', async () => {
    const { written, options } = world(hooked)
    const records = await killedBeforeIteration(2, options())
    expect(written).toHaveLength(2)
    const { state, terminal } = await resume(records, { ...options(), ...change }).loop.ended
    expect(terminal.error?.code).not.toBe('step_mismatch')
    expect(written).toHaveLength(2)
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual(['read', 'written', 'read', 'written'])
    expect(transcriptProblems(state.transcript.messages())).toEqual([])
  })

  test('reports a call that had begun as unknown, and does not run it again', async () => {
    const { written, options } = world(hooked)
    const records = await killedBefore(
      (record) => record.type === 'result' && record.key.startsWith('run1/tool:2:1:'),
      options(),
    )
    expect(written).toHaveLength(2)
    const { state } = await resume(records, { ...options(), ...change }).loop.ended
    expect(written).toHaveLength(2)
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual([
      'read',
      'written',
      'read',
      expect.stringContaining('The outcome of this call is unknown'),
    ])
  })
})

describe('the difference', () => {
  test('takes effect from the first live step: system prompt, tools, model', async () => {
    const { options } = world()
    const records = await killedBeforeIteration(2, options())
    const model = scriptedModel(script, { id: 'another' })
    const { terminal } = await resume(records, { ...options(), model, system: 'new', tools: [reader('Extra')] }).loop
      .ended
    expect(terminal.reason).toBe('completed')
    expect(model.requests.map(({ system, tools }) => [system, tools.map(({ name }) => name)])).toEqual([
      ['new', ['Extra']],
    ])
  })

  test('takes effect from the first live step: hooks', async () => {
    const { options } = world()
    const records = await killedBeforeIteration(2, options())
    const asked: string[] = []
    const watching = hook(
      ['beforeStep', 'beforeInference', 'afterInference', 'beforeToolUse', 'afterToolUse', 'afterStep'],
      ({ trigger, toolCall }) => void asked.push(`${trigger} ${toolCall?.name ?? ''}`.trim()),
      { id: 'watching' },
    )
    await resume(records, { ...options(), hooks: [watching] }).loop.ended
    // Nothing is on record after the write.
    expect(asked).toEqual(['afterToolUse Write', 'afterStep', 'beforeStep', 'beforeInference', 'afterInference'])
  })

  test('obeys a stop at the first live cancellation point, also when recorded hooks are gone', async () => {
    const { options } = world()
    const records = await killedBeforeIteration(2, options())
    const model = scriptedModel(script)
    const { loop } = resume(records, { ...options(), model, hooks: [] })
    loop.stop()
    expect([(await loop.result).reason, model.requests.length]).toEqual(['user_requested', 0])
  })

  test('affects a call that had not begun', async () => {
    const { written, options } = world()
    const records = await killedBefore(
      (record) => record.type === 'result' && record.key.startsWith('run1/permission:2:1:'),
      options(),
    )
    const { state } = await resume(records, { ...options(), permissions: denying }).loop.ended
    expect(written).toHaveLength(1)
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual(['read', 'written', 'read', 'a new rule'])
  })

  test('asks the rules about a call that had not begun, also when it is now in one batch with a call that had', async () => {
    const ran: string[] = []
    const noteRan = (_input: unknown, { toolName }: { readonly toolName: string }) => (ran.push(toolName), toolName)
    const permissions: Permissions = {
      denies: ({ call }) => (call.name === 'Secret' ? 'a secret' : undefined),
      decide: () => ({ behavior: 'allow' }),
    }
    const options = (toolConcurrency: number): RunOptions => ({
      model: scriptedModel(({ messages }) => (messages.length === 1 ? calls('Look', 'Secret') : 'done')),
      tools: [reader('Look', noteRan), reader('Secret', noteRan)],
      permissions,
      toolConcurrency,
    })
    const records = await killedBefore(
      (record) => record.type === 'result' && record.key.startsWith('run1/tool:1:0:'),
      options(1),
    )
    const { state } = await resume(records, options(10)).loop.ended
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual(['Look', 'a secret'])
    expect(ran).not.toContain('Secret')
  })

  test('shows hooks the results of calls that ran in parallel, also when these would now run one by one', async () => {
    const options = (toolConcurrency: number): RunOptions => ({
      model: scriptedModel(({ messages }) => (messages.length === 1 ? calls('Look', 'Look', 'Look') : 'done')),
      tools: [reader('Look', 'a secret')],
      hooks: [hook('afterToolUse', (context) => context.withToolOutput('redacted'), { id: 'redact' })],
      toolConcurrency,
    })
    const records = await killedBefore(
      (record) => record.type === 'result' && record.key.includes('hook:afterToolUse'),
      options(10),
    )
    const { state } = await resume(records, options(1)).loop.ended
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual(['redacted', 'redacted', 'redacted'])
  })

  test('stops after the turn that is on record, not in it', async () => {
    const { options } = world()
    const records = await killedBeforeIteration(2, options())
    const { terminal, state } = await resume(records, { ...options(), stopWhen: new StepsLimitHook(1) }).loop.ended
    expect([terminal.reason, terminal.signal.message]).toEqual(['max_turns', 'Step limit reached: 2/1'])
    expect(terminal.summary.turns).toBe(2)
    expect(loopMessages({ state: { ...state, startLength: 0 } })).toEqual([
      ['hook', 'a word of the first program'],
      ['hook', 'a word of the first program'],
    ])
  })
})

describe('a recorded subagent', () => {
  const agent = (system: string, wrap = (prompt: string) => prompt): AgentTool => ({
    name: 'Agent',
    description: 'a subagent',
    inputSchema: { type: 'object' },
    readOnly: true,
    spawn: ({ prompt }: { readonly prompt: string }) => ({ prompt: wrap(prompt), system }),
  })
  const both = ({
    messages,
  }: {
    readonly messages: readonly { readonly role: string; readonly content: unknown }[]
  }): ScriptedReply => {
    const turn = messages.filter(({ role }) => role === 'assistant').length
    if (messages[0]?.content === 'go') return turn === 0 ? calls({ name: 'Agent', input: { prompt: 'sub' } }) : 'done'
    return turn < 2 ? calls('Write') : 'found'
  }
  const options = (written: string[], more: Partial<RunOptions> = {}): RunOptions => ({
    model: scriptedModel(both),
    clock: createFakeClock({ autoAdvance: true }),
    tools: [agent('one'), tool('Write', (_input, { idempotencyKey }) => (written.push(idempotencyKey), 'written'))],
    hooks: [saying('a word', 'first')],
    prices,
    ...more,
  })
  /** Both writes of the subagent are on record, its last answer is not. */
  const killedInChild = (written: string[]) =>
    killedBefore((record) => record.type === 'intent' && record.key.endsWith('/model:3.1'), options(written))

  test.each<[what: string, change: (written: string[]) => Partial<RunOptions>, answer?: unknown]>([
    ['the same program', () => ({})],
    ['another system prompt', () => ({ tools: [agent('two'), tool('Write')] })],
    ['no hooks', () => ({ hooks: [] })],
    ['fewer tools', () => ({ tools: [agent('one')] })],
    ['another model', () => ({ model: scriptedModel(both, { id: 'another' }) })],
    ['a guard on costs', () => ({ stopWhen: new CostLimitHook(1) }), expect.stringContaining('The agent was stopped')],
  ])('is resumed by %s', async (_what, change, answer = 'found') => {
    const written: string[] = []
    const records = await killedInChild(written)
    expect(written).toHaveLength(2)
    const { terminal, state } = await resume(records, { ...options(written), ...change(written) }).loop.ended
    expect(resultTexts({ state: { ...state, startLength: 0 } })).toEqual([answer])
    expect([terminal.error, written.length]).toEqual([undefined, 2])
  })

  test('with another prompt is a mismatch of the whole run, which writes nothing', async () => {
    const written: string[] = []
    const records = await killedInChild(written)
    const changed = { tools: [agent('one', (prompt) => `please: ${prompt}`), tool('Write')] }
    const { loop, steps } = resume(records, options(written, changed))
    const { terminal } = await loop.ended
    expect([terminal.reason, terminal.error?.code, steps.records]).toEqual(['error', 'step_mismatch', records])
    const again = await resume(records, options(written)).loop.ended
    expect([again.terminal.reason, written.length]).toEqual(['completed', 2])
  })
})

describe('a true mismatch writes nothing, and the right program can continue', () => {
  const before = Transcript.of([
    { kind: 'user', id: 'old', message: { role: 'user', content: 'an older prompt' }, origin: 'prompt' },
    {
      kind: 'assistant',
      id: 'old reply',
      message: {
        role: 'assistant',
        id: 'm',
        model: 'scripted',
        content: [{ type: 'text', text: 'an older answer' }],
        stop_reason: 'end_turn',
        usage: { input_tokens: 1, output_tokens: 1, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 },
      },
    },
  ])

  test('another conversation', async () => {
    const { written, options } = world()
    const start = { prompt: 'go', transcript: before }
    const records = await killedBefore((record) => record.type === 'lap', options(), start)
    const { loop, steps } = resume(records, options())
    const { terminal } = await loop.ended
    expect([terminal.reason, terminal.error?.code, steps.records]).toEqual(['error', 'step_mismatch', records])
    expect(written).toHaveLength(1)
    const again = await resume(steps.records, options(), before).loop.ended
    expect([again.terminal.reason, written.length]).toEqual(['completed', 1])
  })

  test('another call under the key of one that ran', async () => {
    const { written, options } = world()
    const records = await killedBefore((record) => record.type === 'lap', options())
    const forged = records.map((record): StepRecord => {
      if (record.type !== 'result' || !record.key.includes('model:1.1')) return record
      const text = JSON.stringify(record).replace('"name":"Write","input":{}', '"name":"Write","input":{"path":"/"}')
      return JSON.parse(text) as StepRecord
    })
    expect(json(forged)).not.toEqual(json(records))
    const { loop, steps } = resume(forged, options())
    const { terminal } = await loop.ended
    expect([terminal.reason, terminal.error?.code, steps.records]).toEqual(['error', 'step_mismatch', forged])
    expect(written).toHaveLength(1)
  })
})
