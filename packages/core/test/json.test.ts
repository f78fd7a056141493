// Holds R-STOP-9 of docs/spec.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AgentState, AgentStopException, HookContext, StopSignal, startRun } from '../src/index.ts'
import { jsonOf } from '../src/values/json.ts'

const throwing = {
  before: 1,
  get bad(): never {
    throw new Error('no')
  },
  after: 2,
}

/** What is no JSON, and what becomes of it. */
const strange = () => {
  const circular: Record<string, unknown> = { name: 'a' }
  circular['self'] = { of: circular }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  return {
    given: {
      date: new Date(0),
      never: new Date(Number.NaN),
      map: new Map([['a', 1]]),
      set: new Set([1]),
      big: 2n ** 64n,
      nan: Number.NaN,
      infinity: -Infinity,
      absent: undefined,
      callback: () => 1,
      list: [undefined, Symbol('s'), () => 1, new Date(0), 1n],
      circular,
      own: { toJSON: () => ({ at: new Date(0) }) },
      itself: {
        kept: 1,
        toJSON() {
          return this
        },
      },
      throwing,
      refusing: {
        toJSON() {
          throw new Error('no')
        },
      },
      revoked: revoked.proxy,
    },
    becomes: {
      date: '1970-01-01T00:00:00.000Z',
      never: null,
      map: {},
      set: {},
      big: '18446744073709551616',
      nan: null,
      infinity: null,
      list: [null, null, null, '1970-01-01T00:00:00.000Z', '1'],
      circular: { name: 'a', self: { of: '[circular]' } },
      own: { at: '1970-01-01T00:00:00.000Z' },
      itself: { kept: 1 },
      throwing: { before: 1, bad: '[unreadable]', after: 2 },
      refusing: '[unreadable]',
      revoked: '[unreadable]',
    },
  }
}

describe('the JSON of a value', () => {
  test('is what JSON makes of it; where JSON would throw, a text stands in its place', () => {
    const { given, becomes } = strange()
    const copied = jsonOf(given)
    expect(copied).toEqual(becomes)
    expect(JSON.parse(JSON.stringify(copied))).toEqual(becomes)
  })

  test('is the value itself where it is JSON, and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const wrapped = { value: [value] }
        const copied = jsonOf(wrapped) as typeof wrapped
        expect(JSON.stringify(copied)).toBe(JSON.stringify(wrapped))
        expect(copied.value).not.toBe(wrapped.value)
      }),
    )
  })

  test('agrees with JSON wherever JSON has an answer', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withSet: true }), (value) => {
        expect(JSON.stringify(jsonOf({ value }))).toBe(JSON.stringify({ value }))
      }),
    )
  })

  test('of something without end is cut', () => {
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 100_000; level++) deep = { deep }
    expect(JSON.stringify(jsonOf(deep))).toContain('[too deep]')
  })
})

describe('what a run keeps is JSON, whatever it was given', () => {
  const { given, becomes } = strange()
  // Plain JavaScript may give anything.
  const anything = given as never

  test('the context of a signal', () => {
    expect(new StopSignal({ reason: 'error', context: anything }).context).toEqual(becomes)
    for (const context of [null, 'text', 7, [1], new Date(0), () => 1])
      expect(new StopSignal({ reason: 'error', context: context as never }).context).toEqual({})
  })

  test('the context and the step of an exception that stops', () => {
    const exception = new AgentStopException({ context: anything, step: anything })
    expect([exception.context, exception.step]).toEqual([becomes, becomes])
    expect(StopSignal.fromStopException(exception).context).toEqual(becomes)
  })

  test('a reason that is none', () => {
    expect(new StopSignal({ reason: 'quota' as never }).toJSON()).toMatchObject({ reason: 'unknown' })
  })

  test('metadata, of a state and of a run', () => {
    expect(AgentState.empty().withMetadata('key', anything).metadata).toEqual({ key: becomes })
    expect(startRun({ prompt: 'go', metadata: anything }).spent.metadata).toEqual(becomes)
  })

  test('the input that a hook gives a tool', () => {
    const state = AgentState.empty()
    const context = new HookContext({ trigger: 'beforeToolUse', state, signal: new AbortController().signal })
    expect(context.withToolInput(anything).outcome()).toEqual({ input: { value: becomes } })
  })
})
