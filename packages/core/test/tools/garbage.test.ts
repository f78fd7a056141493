// Tests R-LOOP-4, R-TOOL-1, R-TOOL-2, R-TOOL-8, R-TOOL-9, R-TOOL-16: whatever a tool does becomes a result.
import { describe, expect, test } from 'vitest'
import { AgentStopException, type AgentTool, type Tool } from '../../src/index.ts'
import { bug, circle, deep, garbage, revoked, throwing } from '../support/garbage.ts'
import {
  calls,
  dollarATokenPrices,
  json,
  reader,
  results,
  resultTexts,
  tick,
  tool,
  toolEnds,
} from '../support/harness.ts'
import { runChecked } from '../support/checked-run.ts'

/** A value that plain JavaScript code can return where the types forbid it. */
const untyped = (value: unknown): never => value as never
type Execute = NonNullable<Exclude<Parameters<typeof tool>[1], string>>
const throws = (make: () => unknown) => () => {
  throw make()
}
const rejects = (make: () => unknown) => () => Promise.reject(make())
const returns = (make: () => unknown) => () => untyped(make())
/** The budget reads every request: an unreadable value would end every later run of the session. */
const budget = { prices: dollarATokenPrices, maxBudgetUsd: 1e9 }

describe.each(garbage)('a tool that returns %s', (_what, make) => {
  const ways: readonly (readonly [string, Execute, ended: 'done' | 'failed' | undefined])[] = [
    ['thrown', throws(make), 'failed'],
    ['rejected with', rejects(make), 'failed'],
    ['given', returns(make), undefined],
    ['returned later', async () => (await tick(), untyped(make())), undefined],
  ]
  test.each(ways)('%s: it has a result, and the run continues', async (_way, execute, end) => {
    for (const parts of [{}, { readOnly: true }]) {
      const result = await runChecked([calls('Odd', 'Write'), 'done'], {
        tools: [tool('Odd', execute, parts), tool('Write', 'written')],
        ...budget,
      })
      const ends = toolEnds(result)
      expect([result.terminal.reason, result.model.requests.length, ends['call_0_1']]).toEqual(['completed', 2, 'done'])
      expect(['done', 'failed'].filter((status) => (end ?? ends['call_0_0']) === status)).toEqual([ends['call_0_0']])
      // The record can be written and read again.
      for (const record of result.steps.records) expectJson(record)
    }
  })
})

/** Checks that it survives a JSON round trip; undefined fields count as absent. */
function expectJson(value: unknown): void {
  expect(json(value)).toEqual(plain(value))
}

/** Classes of the record define their own JSON. */
function plain(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(plain)
  if ('toJSON' in value && typeof value.toJSON === 'function') return plain(value.toJSON())
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [key, plain(part)]))
}

describe('the report of garbage', () => {
  const reportOf = async (execute: Execute) => {
    const result = await runChecked([calls('Odd'), 'done'], { tools: [tool('Odd', execute)], ...budget })
    return [resultTexts(result)[0], Object.values(toolEnds(result))[0]]
  }

  test('that was thrown: what can be read of it', async () => {
    expect(await reportOf(throws(() => Object.create(null)))).toEqual(['thrown: {}', 'failed'])
    expect(await reportOf(throws(() => ({ code: 7 })))).toEqual(['thrown: {"code":7}', 'failed'])
    expect(await reportOf(throws(() => throwing(new Error('x'), 'message')))).toEqual([
      'thrown: a value that cannot be read',
      'failed',
    ])
    expect(await reportOf(throws(revoked))).toEqual(['thrown: a value that cannot be read', 'failed'])
    expect(await reportOf(throws(() => 10n))).toEqual(['thrown: 10', 'failed'])
    expect(await reportOf(throws(() => undefined))).toEqual(['thrown: undefined', 'failed'])
    expect(await reportOf(throws(() => ''))).toEqual(['The tool failed without an error message.', 'failed'])
  })

  test('that was returned: what can be read of it', async () => {
    expect(await reportOf(returns(revoked))).toEqual([expect.stringContaining('revoked'), 'failed'])
    expect(await reportOf(returns(() => throwing({}, 'content')))).toEqual(['bug', 'failed'])
    expect(await reportOf(returns(() => throwing({}, 'then')))).toEqual(['bug', 'failed'])
    expect(await reportOf(returns(circle))).toEqual(['{"self":"[circular]"}', 'done'])
    expect(await reportOf(returns(() => ({ at: new Date(0), n: 10n, f: bug, list: [bug, undefined] })))).toEqual([
      '{"at":"1970-01-01T00:00:00.000Z","n":"10","list":[null,null]}',
      'done',
    ])
    expect(await reportOf(returns(() => deep()))).toEqual([expect.stringContaining('[too deep]'), 'done'])
  })

  test('among blocks: valid ones stay, the rest is shown as text', async () => {
    const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } } as const
    const text = { type: 'text', text: 'a text' } as const
    const blocks = [
      image,
      null,
      { type: 'text' },
      { type: 'text', text: '' },
      text,
      'bare',
      { type: 'image', data: 'AAAA', mimeType: 'image/png' },
      { type: 'tool_use', id: 'x', name: 'Odd', input: {} },
      { type: 'audio', data: 'AAAA' },
    ]
    const result = await runChecked([calls('Odd'), 'done'], {
      tools: [tool('Odd', () => ({ content: untyped(blocks) }))],
      ...budget,
    })
    expect(results(result)[0]?.content).toEqual([
      image,
      { type: 'text', text: 'null' },
      { type: 'text', text: '{"type":"text"}' },
      text,
      { type: 'text', text: 'bare' },
      { type: 'text', text: '{"type":"image","data":"AAAA","mimeType":"image/png"}' },
      { type: 'text', text: '{"type":"tool_use","id":"x","name":"Odd","input":{}}' },
      { type: 'text', text: '{"type":"audio","data":"AAAA"}' },
    ])
  })

  test('of which nothing can be shown: that there was none', async () => {
    const empty = (isError: boolean) => () => ({ content: [{ type: 'text', text: '' }] as const, isError })
    expect(await reportOf(empty(false))).toEqual(['(no output)', 'done'])
    expect(await reportOf(empty(true))).toEqual(['The tool failed without an error message.', 'failed'])
  })

  test('as details: what JSON can represent of it', async () => {
    const details = { f: bug, n: 10n, d: new Date(0), c: circle(), nan: Number.NaN, ok: [1, 'two', null, true] }
    const result = await runChecked([calls('Odd'), 'done'], {
      tools: [tool('Odd', () => ({ content: 'x', details: untyped(details) }))],
      ...budget,
    })
    expect(result.state.transcript.at(2)).toMatchObject({
      details: {
        call_0_0: {
          n: '10',
          d: '1970-01-01T00:00:00.000Z',
          c: { self: '[circular]' },
          nan: null,
          ok: [1, 'two', null, true],
        },
      },
    })
  })

  test('as details that two fields share: twice, without a circular reference', async () => {
    const shared = { n: 1 }
    const result = await runChecked([calls('Odd'), 'done'], {
      tools: [tool('Odd', () => ({ content: 'x', details: { a: shared, b: shared, c: [shared, shared] } }))],
    })
    expect(result.state.transcript.at(2)).toMatchObject({
      details: { call_0_0: { a: { n: 1 }, b: { n: 1 }, c: [{ n: 1 }, { n: 1 }] } },
    })
  })
})

test('a tool that started early and returns garbage has its result', async () => {
  for (const [, make] of garbage) {
    for (const execute of [throws(make), returns(make), async () => untyped(make())]) {
      const garbageTool = reader('Odd', execute)
      const result = await runChecked([{ ...calls('Odd'), before: tick }, 'done'], { tools: [garbageTool], ...budget })
      expect([result.terminal.reason, results(result).length]).toEqual(['completed', 1])
    }
  }
})

test('a thrown stop that contains garbage still stops the run', async () => {
  const garbageTool: readonly (() => AgentStopException)[] = [
    () => new AgentStopException({ context: untyped({ c: circle(), n: 1n, f: bug }) }),
    () => new AgentStopException({ step: untyped({ c: circle() }) }),
    () => new AgentStopException({ signal: untyped({}) }),
    () => new AgentStopException({ message: untyped(7), source: untyped({}) }),
    () => throwing(new AgentStopException({ message: 'enough' }), 'context'),
    () => throwing(new AgentStopException({ message: 'enough' }), 'signal'),
  ]
  for (const make of garbageTool) {
    const result = await runChecked([calls('Stop', 'Write')], { tools: [tool('Stop', throws(make)), tool('Write')] })
    expect([result.terminal.reason, results(result).length, toolEnds(result)]).toEqual([
      expect.toBeOneOf(['stop_requested', 'error']),
      2,
      { call_0_0: 'done', call_0_1: 'not_run' },
    ])
  }
})

describe.each(garbage)('a function of a tool that returns %s', (_what, make) => {
  const garbageTool = (parts: Partial<Tool>): Tool => ({ ...tool('Odd', 'ran'), ...parts })

  test.each([
    ['thrown by its check', { validate: throws(make) }],
    ['returned by its check', { validate: returns(make) }],
  ] as const)('%s: the call is invalid, and not run', async (_way, parts) => {
    const result = await runChecked([calls('Odd'), 'done'], { tools: [garbageTool(parts)], ...budget })
    expect([result.terminal.reason, toolEnds(result), resultTexts(result)]).toEqual([
      'completed',
      { call_0_0: 'invalid' },
      [expect.stringMatching(/^Invalid input for Odd: .+ Nothing was run\./su)],
    ])
  })

  test.each([
    ['thrown by its predicate', { readOnly: throws(make) }],
    ['returned by its predicate', { readOnly: returns(make) }],
  ] as const)('%s: a call not known to be harmless counts as harmful', async (_way, parts) => {
    const log: string[] = []
    const execute = async () => (log.push('+'), await tick(), log.push('-'), 'ran')
    const result = await runChecked([calls('Odd', 'Odd'), 'done'], { tools: [garbageTool({ ...parts, execute })] })
    expect([result.terminal.reason, resultTexts(result), log]).toEqual([
      'completed',
      ['ran', 'ran'],
      ['+', '-', '+', '-'],
    ])
  })

  test.each([
    ['thrown', throws(make)],
    ['given', returns(make)],
  ] as const)('%s in place of a subagent: the call failed', async (_way, spawn) => {
    const agent: AgentTool = { name: 'Odd', description: 'odd', inputSchema: { type: 'object' }, readOnly: true, spawn }
    const result = await runChecked([calls('Odd'), 'done'], { tools: [agent], ...budget })
    expect([result.terminal.reason, toolEnds(result)]).toEqual(['completed', { call_0_0: 'failed' }])
  })
})

test('an asynchronous input check is no answer', async () => {
  const late: Tool = { ...tool('Odd'), validate: untyped(async (input: unknown) => ({ valid: true, input })) }
  expect(resultTexts(await runChecked([calls('Odd'), 'done'], { tools: [late] }))).toEqual([
    expect.stringContaining('Invalid input for Odd: '),
  ])
})

test('garbage progress is emitted as JSON', async () => {
  for (const [, make] of garbage) {
    const garbageTool = tool('Odd', (_input, { progress }) => (progress(untyped(make())), 'x'))
    const result = await runChecked([calls('Odd'), 'done'], { tools: [garbageTool] })
    expect([result.terminal.reason, resultTexts(result)]).toEqual(['completed', ['x']])
    for (const event of result.events) if (event.type === 'tool_update') expectJson(event.data)
  }
})

test('progress that is a promise is emitted as JSON, and its rejection is ignored', async () => {
  const garbageTool = tool('Odd', (_input, { progress }) => (progress(untyped(Promise.reject(new Error('late')))), 'x'))
  const result = await runChecked([calls('Odd'), 'done'], { tools: [garbageTool] })
  expect(resultTexts(result)).toEqual(['x'])
})
