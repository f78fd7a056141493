// Tests R-PERM-13 to R-PERM-13b and R-PERM-13e: tools that require a person.
import { describe, expect, test } from 'vitest'
import {
  agentTool,
  ConfigurationError,
  createMemorySteps,
  replay,
  resume,
  run,
  streamRun,
  tool,
  type AnyTool,
  type Permissions,
  type RunEvent,
  type RunOutcome,
  type StepRecord,
  type Tool,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { hook } from '../support/harness.ts'

type Needs = boolean | ((input: { readonly usd: number }) => boolean | Promise<boolean>)

/** The payments, and a tool that pays. */
function payer(
  needsApproval: Needs,
  extra: Partial<Tool<{ readonly usd: number }>> = {},
): { paid: number[]; pay: AnyTool } {
  const paid: number[] = []
  const pay = {
    ...tool({
      name: 'Pay',
      description: 'Pays',
      inputSchema: { type: 'object', properties: { usd: { type: 'number' } }, required: ['usd'] },
      needsApproval,
      execute: ({ usd }) => `paid ${String(paid.push(usd))}`,
    }),
    ...extra,
  }
  return { paid, pay }
}

const payment = { toolCalls: [{ name: 'Pay', id: 'p1', input: { usd: 5 } }] }
const script = (): ReturnType<typeof scriptedModel> => scriptedModel([payment, 'done'])

/** Permissions that allow everything, and record their calls. */
function rules(decision: object): { asked: (true | undefined)[]; permissions: Permissions } {
  const asked: (true | undefined)[] = []
  const permissions: Permissions = {
    denies: () => undefined,
    decide: ({ needsApproval }) => {
      asked.push(needsApproval)
      // As a program passes it.
      return decision as ReturnType<Permissions['decide']>
    },
  }
  return { asked, permissions }
}

async function outcomeOf(needs: Needs, options: object = {}): Promise<{ outcome: RunOutcome<string>; paid: number[] }> {
  const { paid, pay } = payer(needs)
  const outcome = await run({ model: script(), tools: [pay], prompt: 'Pay 5 dollars.', ...options })
  return { outcome, paid }
}

const question = { callId: 'p1', tool: 'Pay', input: { usd: 5 }, reason: 'Pay requires approval of this call.' }

describe('a tool with needsApproval', () => {
  test('ends the run with the call pending when nobody is asked, and nothing ran', async () => {
    const { outcome, paid } = await outcomeOf(true)
    expect([outcome.reason, paid, outcome.pending]).toEqual(['needs_approval', [], [question]])
    expect(JSON.parse(JSON.stringify(outcome.pending))).toEqual([question])
  })

  test.each<[string, Needs, boolean]>([
    ['true', true, true],
    ['false', false, false],
    ['a function that returns false', ({ usd }) => usd > 5, false],
    ['a function that returns true', ({ usd }) => usd >= 5, true],
    ['a promise of false', async () => false, false],
    ['a promise of true', async () => true, true],
    ['nothing', () => undefined as never, true],
    ['zero', () => 0 as never, true],
  ])('asks by %s', async (_what, needs, isAsked) => {
    const { outcome, paid } = await outcomeOf(needs)
    expect([outcome.reason, paid]).toEqual(isAsked ? ['needs_approval', []] : ['completed', [5]])
  })

  test.each<[string, Needs]>([
    [
      'throws',
      () => {
        throw new Error('limits unknown')
      },
    ],
    ['rejects', () => Promise.reject(new Error('limits unknown'))],
  ])('asks when its function %s, and reports so', async (_what, needs) => {
    const { outcome, paid } = await outcomeOf(needs)
    const reason = 'Pay requires approval of this call, because its needsApproval failed: limits unknown'
    expect([outcome.pending, paid]).toEqual([[{ ...question, reason }], []])
  })

  test('runs with the input that its function was called with, despite changes by it', async () => {
    const { outcome, paid } = await outcomeOf((input) => {
      ;(input as { usd: number }).usd = 9_999
      return false
    })
    expect([outcome.reason, paid]).toEqual(['completed', [5]])
  })

  test('ends with the time limit when its function never answers, and nothing ran', async () => {
    const { outcome, paid } = await outcomeOf(() => new Promise(() => {}), { maxDurationMs: 50 })
    expect([outcome.reason, paid]).toEqual(['time_limit', []])
  })

  test('does not start while its message streams', async () => {
    const { paid, pay } = payer(async () => true, { readOnly: true })
    const model = scriptedModel([{ ...payment, chunks: 5 } as typeof payment])
    const outcome = await run({ model, tools: [pay], prompt: 'go' })
    expect([outcome.reason, paid]).toEqual(['needs_approval', []])
  })

  test('is rejected when it is neither', () => {
    expect(() => tool({ name: 'Pay', description: '', needsApproval: 'yes' as never, execute: () => '' })).toThrow(
      new ConfigurationError('The needsApproval of Pay must be true, false or a function, but it is "yes".'),
    )
  })
})

describe('rules decide before the tool', () => {
  test.each<[string, object, string, readonly number[]]>([
    ['a plain allow, which does not name the call, asks', { behavior: 'allow' }, 'needs_approval', []],
    ['an explicit allow runs it', { behavior: 'allow', explicit: true }, 'completed', [5]],
    ['an explicit that is not true asks', { behavior: 'allow', explicit: 'yes' }, 'needs_approval', []],
    ['a deny denies', { behavior: 'deny', message: 'no' }, 'completed', []],
    ['an ask asks', { behavior: 'ask', message: 'Really?' }, 'needs_approval', []],
  ])('%s', async (_what, decision, reason, paid) => {
    const { asked, permissions } = rules(decision)
    const reached = await outcomeOf(true, { permissions })
    expect([reached.outcome.reason, reached.paid, asked]).toEqual([reason, paid, [true]])
  })

  test.each<[string, object, string, readonly number[]]>([
    ['needs approval, asks', { behavior: 'allow', updatedInput: { usd: 9_999 } }, 'needs_approval', []],
    ['needs none, runs it', { behavior: 'allow', updatedInput: { usd: 4 } }, 'completed', [4]],
    ['does not fit the schema, runs nothing', { behavior: 'allow', updatedInput: { usd: 'all' } }, 'completed', []],
    [
      'needs approval, and an explicit allow, runs it',
      { behavior: 'allow', explicit: true, updatedInput: { usd: 9_999 } },
      'completed',
      [9_999],
    ],
  ])('an input of theirs that %s', async (_what, decision, reason, paid) => {
    for (const answer of [decision, Promise.resolve(decision)]) {
      const { permissions } = rules(answer)
      const reached = await outcomeOf(({ usd }) => usd > 5, { permissions })
      expect([reached.outcome.reason, reached.paid]).toEqual([reason, paid])
    }
  })

  test('are notified only when the tool asks', async () => {
    const { asked, permissions } = rules({ behavior: 'allow' })
    const { paid } = await outcomeOf(() => false, { permissions })
    expect([paid, asked]).toEqual([[5], [undefined]])
  })

  test('a hook that allows the call does not answer for a person', async () => {
    const allows = hook('beforeToolUse', (context) => context.withPermission('allow'))
    const { outcome, paid } = await outcomeOf(true, { hooks: [allows] })
    expect([outcome.reason, paid]).toEqual(['needs_approval', []])
  })

  test('canUseTool is called, and its answer counts', async () => {
    const asked: unknown[] = []
    const answer = (behavior: 'allow' | 'deny') => (name: string, input: object) => {
      asked.push([name, input])
      return behavior === 'allow' ? { behavior } : { behavior, message: 'Not today.' }
    }
    expect((await outcomeOf(true, { canUseTool: answer('allow') })).paid).toEqual([5])
    expect((await outcomeOf(true, { canUseTool: answer('deny') })).paid).toEqual([])
    expect(asked).toEqual([
      ['Pay', { usd: 5 }],
      ['Pay', { usd: 5 }],
    ])
  })
})

describe('in a subagent', () => {
  const { paid, pay } = payer(true)
  const helper = agentTool({ name: 'Help', description: '', spawn: () => ({ prompt: 'Pay.', tools: ['Pay'] }) })
  const replies = [{ toolCalls: [{ name: 'Help', id: 'h1' }] }, payment, 'I could not.', 'done']

  test('the call is denied when nobody can be asked, and the agent gets an error', async () => {
    const model = scriptedModel(replies)
    const outcome = await run({ model, tools: [helper, pay], prompt: 'go' })
    expect([outcome.reason, paid]).toEqual(['completed', []])
    expect(JSON.stringify(model.requests[2]?.messages)).toContain('Not allowed: Pay requires approval of this call.')
  })

  test('it waits when somebody can, as pending with its key', async () => {
    const stream = streamRun({ model: scriptedModel(replies), tools: [helper, pay], prompt: 'go', onAsk: 'wait' })
    let pending: unknown
    for await (const event of stream) {
      if (event.type !== 'agent' || event.event.type !== 'approval_needed') continue
      const { key } = event.event
      pending = stream.pending
      expect(stream.pending).toEqual([{ ...question, key }])
      stream.answer(String(key), { behavior: 'allow' })
    }
    expect(pending).toHaveLength(1)
    expect([stream.pending, paid]).toEqual([[], [5]])
  })

  test('an agent tool asks before it starts', async () => {
    const model = scriptedModel(replies)
    const outcome = await run({ model, tools: [{ ...helper, needsApproval: true }, pay], prompt: 'go' })
    expect([outcome.reason, outcome.pending.map(({ tool: name }) => name), model.requests.length]).toEqual([
      'needs_approval',
      ['Help'],
      1,
    ])
  })
})

describe('answers', () => {
  const reached = async (
    approvals: object,
    needs: Needs = true,
    more: object = {},
  ): Promise<{ outcome: RunOutcome<string>; paid: number[] }> => {
    const first = await outcomeOf(true)
    // A JSON round trip returns the same value, as in another process.
    const messages = JSON.parse(JSON.stringify(first.outcome.messages)) as typeof first.outcome.messages
    const { paid, pay } = payer(needs)
    const outcome = await run({
      model: scriptedModel(['done']),
      tools: [pay],
      messages,
      approvals: approvals as never,
      ...more,
    })
    return { outcome, paid }
  }

  test('of another process run the call', async () => {
    const { outcome, paid } = await reached({ p1: { behavior: 'allow' } })
    expect([outcome.reason, outcome.text, paid, outcome.pending]).toEqual(['completed', 'done', [5], []])
  })

  test('that deny count, whatever the tool or a rule says by now', async () => {
    const answer = { p1: { behavior: 'deny', message: 'Too much.' } }
    const { permissions } = rules({ behavior: 'allow', explicit: true })
    for (const more of [{}, { permissions }]) {
      const { outcome, paid } = await reached(answer, () => false, more)
      expect([outcome.reason, paid]).toEqual(['completed', []])
      expect(JSON.stringify(outcome.messages)).toContain('Too much.')
    }
  })

  test('that are missing keep the question', async () => {
    const { outcome, paid } = await reached({})
    expect([outcome.reason, outcome.pending, paid]).toEqual(['needs_approval', [question], []])
  })

  test('are overridden by a deny rule', async () => {
    const permissions: Permissions = { denies: () => 'Never.', decide: () => ({ behavior: 'allow' }) }
    const { outcome, paid } = await reached({ p1: { behavior: 'allow' } }, true, { permissions })
    expect([outcome.reason, paid]).toEqual(['completed', []])
  })

  test('to a call that is not pending are rejected', async () => {
    await expect(reached({ p2: { behavior: 'allow' } })).rejects.toThrow(
      new ConfigurationError('No call "p2" waits for an answer. These wait: p1.'),
    )
  })

  test('a prompt in their place closes the call as not approved', async () => {
    const first = await outcomeOf(true)
    const { paid, pay } = payer(true)
    const model = scriptedModel(['fine'])
    const outcome = await run({ model, tools: [pay], messages: first.outcome.messages, prompt: 'Never mind.' })
    expect([outcome.text, paid]).toEqual(['fine', []])
    expect(model.requests[0]?.messages.at(-2)?.content).toMatchObject([
      { type: 'tool_result', tool_use_id: 'p1', is_error: true },
    ])
  })

  test('an answer applies to one call: the same id again is another call', async () => {
    const { paid, pay } = payer(true)
    const first = await run({ model: script(), tools: [pay], prompt: 'go' })
    const model = scriptedModel([{ toolCalls: [{ name: 'Pay', id: 'p1', input: { usd: 500 } }] }])
    const second = await run({
      model,
      tools: [pay],
      messages: first.messages,
      approvals: { p1: { behavior: 'allow' } },
    })
    expect([second.reason, paid, second.pending]).toEqual([
      'needs_approval',
      [5],
      [{ ...question, callId: 'p1_2', input: { usd: 500 } }],
    ])
  })
})

describe('on record', () => {
  test('the decision stays: a resume and a replay do not call the function again', async () => {
    let callCount = 0
    const { paid, pay } = payer(() => callCount++ > 100)
    const steps = createMemorySteps()
    const options = { model: script(), tools: [pay] }
    const whole = streamRun({ ...options, prompt: 'go', steps })
    await whole.result
    // A JSON round trip returns the same value.
    const records = JSON.parse(JSON.stringify(steps.records)) as readonly StepRecord[]
    expect([callCount, paid]).toEqual([1, [5]])
    const { terminal } = await replay(records, { model: options.model, tools: [pay] })
    expect([terminal.reason, callCount, paid]).toEqual(['completed', 1, [5]])
    const decided = records.findIndex((record) => record.type === 'result' && record.key.includes('/permission:'))
    const { loop } = resume(records.slice(0, decided + 1), { model: scriptedModel(['done']), tools: [pay] })
    expect([(await loop.result).reason, callCount, paid]).toEqual(['completed', 1, [5, 5]])
  })

  test('a run that is killed while it waits asks again, and nothing ran before the answer', async () => {
    const { paid, pay } = payer(true)
    const steps = createMemorySteps()
    const waiting = streamRun({ model: script(), tools: [pay], prompt: 'go', onAsk: 'wait', steps })
    const events: RunEvent[] = []
    for await (const event of waiting) {
      events.push(event)
      if (event.type === 'approval_needed') break
    }
    const records = steps.records.slice(
      0,
      steps.records.findIndex(
        ({ type, ...record }) => type === 'intent' && 'key' in record && record.key.includes('/approval:'),
      ) + 1,
    )
    const { loop } = resume(records, { model: scriptedModel(['done']), tools: [pay], onAsk: 'wait' })
    for await (const event of loop) {
      if (event.type !== 'approval_needed') continue
      const [first] = loop.pending
      expect([first, paid]).toEqual([{ ...question, key: event.key }, []])
      loop.answer(String(event.key), { behavior: 'allow' })
      // The first answer counts.
      loop.answer(String(event.key), { behavior: 'deny', message: 'No.' })
    }
    expect([(await loop.result).reason, paid]).toEqual(['completed', [5]])
  })
})
