// Tests R-STOP-9.
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

/** Values that JSON cannot represent, and what replaces them. */
const strangeValues = () => {
  const circular: Record<string, unknown> = { name: 'a' }
  circular['self'] = { of: circular }
  const revoked = Proxy.revocable({}, {})
  revoked.revoke()
  return {
    original: {
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
  test('is what JSON.stringify makes of it; where that would throw, a text replaces the value', () => {
    const { original, becomes } = strangeValues()
    const copied = jsonOf(original)
    expect(copied).toEqual(becomes)
    expect(JSON.parse(JSON.stringify(copied))).toEqual(becomes)
  })

  test('is the value itself when it is JSON, and shares nothing with it', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const wrapped = { value: [value] }
        const copied = jsonOf(wrapped) as typeof wrapped
        expect(JSON.stringify(copied)).toBe(JSON.stringify(wrapped))
        expect(copied.value).not.toBe(wrapped.value)
      }),
    )
  })

  test('agrees with JSON.stringify wherever that has an answer', () => {
    fc.assert(
      fc.property(fc.anything({ withDate: true, withMap: true, withSet: true }), (value) => {
        expect(JSON.stringify(jsonOf({ value }))).toBe(JSON.stringify({ value }))
      }),
    )
  })

  test('is truncated when the value has no end', () => {
    let deep: Record<string, unknown> = {}
    for (let level = 0; level < 100_000; level++) deep = { deep }
    expect(JSON.stringify(jsonOf(deep))).toContain('[too deep]')
  })
})

describe('the values that a run stores are JSON, whatever was passed in', () => {
  const { original, becomes } = strangeValues()
  // Plain JavaScript code can pass any value.
  const anything = original as never

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

  test('an invalid reason', () => {
    expect(new StopSignal({ reason: 'quota' as never }).toJSON()).toMatchObject({ reason: 'unknown' })
  })

  test('metadata, of a state and of a run', () => {
    expect(AgentState.empty().withMetadata('key', anything).metadata).toEqual({ key: becomes })
    expect(startRun({ prompt: 'go', metadata: anything }).spent.metadata).toEqual(becomes)
  })

  test('the input that a hook passes to a tool', () => {
    const state = AgentState.empty()
    const context = new HookContext({ trigger: 'beforeToolUse', state, signal: new AbortController().signal })
    expect(context.withToolInput(anything).outcome()).toEqual({ input: { value: becomes } })
  })
})
