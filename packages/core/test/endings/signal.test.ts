// Tests R-STOP-1, R-STOP-7.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { AgentStopException, StopCategory, StopSignal, type JsonObject } from '../../src/index.ts'

const anyReason = fc.constantFrom(...StopCategory.all)
const jsonObject = fc.dictionary(fc.string(), fc.jsonValue()) as fc.Arbitrary<JsonObject>
const anySignal = fc
  .record({ reason: anyReason, message: fc.string(), context: jsonObject, source: fc.option(fc.string()) })
  .map((init) => new StopSignal(init))

const stepLimit = () =>
  new StopSignal({
    reason: 'steps_limit',
    message: 'Step limit reached: 10/10',
    context: { currentSteps: 10, maxSteps: 10 },
    source: 'MyGuard',
  })

describe('a signal', () => {
  test('carries reason, message, context and source', () => {
    const { reason, message, context, source } = stepLimit()
    expect({ reason, message, context, source }).toEqual({
      reason: 'steps_limit',
      message: 'Step limit reached: 10/10',
      context: { currentSteps: 10, maxSteps: 10 },
      source: 'MyGuard',
    })
  })

  test('has an empty message, an empty context and no source by default', () => {
    expect(new StopSignal({ reason: 'error' }).toJSON()).toEqual({
      reason: 'error',
      message: '',
      context: {},
      source: null,
    })
  })

  test('is immutable, including its context', () => {
    const signal = new StopSignal({ reason: 'error', context: { deep: { list: [1, { two: 2 }] } } })
    expect(() => Object.assign(signal, { reason: 'completed' })).toThrow(TypeError)
    expect(() => Object.assign(signal.context, { more: 1 })).toThrow(TypeError)
    const { list } = signal.context['deep'] as { list: [number, { two: number }] }
    expect(() => list.push(3)).toThrow(TypeError)
    expect(() => Object.assign(list[1], { two: 3 })).toThrow(TypeError)
  })

  test('does not share its context with the caller, and does not freeze that', () => {
    const context = { counter: 1, list: ['a'] }
    const signal = new StopSignal({ reason: 'error', context })
    context.counter = 2
    context.list.push('b')
    expect(signal.context).toEqual({ counter: 1, list: ['a'] })
  })

  test('reports whether it forces a stop', () => {
    expect(stepLimit().wasForceStopped()).toBe(true)
    expect(new StopSignal({ reason: 'completed' }).wasForceStopped()).toBe(false)
  })
})

describe('a signal as text', () => {
  test('is its reason and its message', () => {
    expect(stepLimit().toString()).toBe('steps_limit: Step limit reached: 10/10')
    expect(String(stepLimit())).toBe('steps_limit: Step limit reached: 10/10')
  })

  test('is its reason alone without a message', () => {
    expect(new StopSignal({ reason: 'unknown' }).toString()).toBe('unknown')
  })
})

describe('userRequested', () => {
  test('makes a signal of a person', () => {
    expect(
      StopSignal.userRequested('user pressed stop', { context: { source: 'ui' }, source: 'Panel' }).toJSON(),
    ).toEqual({
      reason: 'user_requested',
      message: 'user pressed stop',
      context: { source: 'ui' },
      source: 'Panel',
    })
  })

  test('has a default message', () => {
    expect(StopSignal.userRequested().toJSON()).toEqual({
      reason: 'user_requested',
      message: 'Stop requested by user',
      context: {},
      source: null,
    })
  })
})

describe('a signal as JSON', () => {
  test('survives a round trip', () => {
    fc.assert(
      fc.property(anySignal, (signal) => {
        const stored = JSON.stringify(signal)
        const restored = StopSignal.fromJSON(JSON.parse(stored))
        expect(JSON.stringify(restored)).toBe(stored)
        expect(Object.isFrozen(restored)).toBe(true)
      }),
    )
  })

  test('preserves a key with a special meaning for objects', () => {
    const stored = '{"reason":"error","message":"","context":{"__proto__":{"polluted":true}},"source":null}'
    expect(JSON.stringify(StopSignal.fromJSON(JSON.parse(stored)))).toBe(stored)
  })

  test('reads an unknown reason as unknown, and keeps the rest', () => {
    expect(
      StopSignal.fromJSON({ reason: 'quota_2031', message: 'm', context: { a: 1 }, source: 's' }).toJSON(),
    ).toEqual({
      reason: 'unknown',
      message: 'm',
      context: { a: 1 },
      source: 's',
    })
  })

  test('leaves fields of another type empty', () => {
    expect(StopSignal.fromJSON({ reason: 'error', message: 4, context: [1], source: {} }).toJSON()).toEqual({
      reason: 'error',
      message: '',
      context: {},
      source: null,
    })
  })

  test('never throws for garbage', () => {
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withMap: true, withDate: true, withSparseArray: true }),
        (garbage) => {
          expect(StopCategory.all).toContain(StopSignal.fromJSON(garbage).reason)
          expect(StopCategory.all).toContain(
            StopSignal.fromJSON({ reason: garbage, message: garbage, context: garbage, source: garbage }).reason,
          )
        },
      ),
    )
  })
})

describe('an AgentStopException', () => {
  const signal = new StopSignal({
    reason: 'completed',
    message: 'All tasks finished',
    context: { a: 1, b: 1 },
    source: 'Signal',
  })

  test("takes the signal's message, then its own, then the reason", () => {
    expect(new AgentStopException({ signal, message: 'own' }).message).toBe('All tasks finished')
    expect(new AgentStopException({ signal: new StopSignal({ reason: 'error' }), message: 'own' }).message).toBe('own')
    expect(new AgentStopException({ signal: new StopSignal({ reason: 'error' }) }).message).toBe('error')
    expect(new AgentStopException({ message: 'own' }).message).toBe('own')
    expect(new AgentStopException().message).toBe('stop_requested')
  })

  test('carries signal, step, context, source and cause', () => {
    const cause = new Error('disk')
    const exception = new AgentStopException({
      signal,
      step: { number: 4 },
      context: { tasks: 5 },
      source: 'Tool',
      cause,
    })
    expect(exception).toBeInstanceOf(Error)
    const { name, step, context, source } = exception
    expect({ name, step, context, source, signal: exception.signal, cause: exception.cause }).toEqual({
      name: 'AgentStopException',
      step: { number: 4 },
      context: { tasks: 5 },
      source: 'Tool',
      signal,
      cause,
    })
  })

  test('means stop_requested without a signal', () => {
    const exception = new AgentStopException({ message: 'enough' })
    expect({ step: exception.step, context: exception.context, source: exception.source }).toEqual({
      step: null,
      context: {},
      source: null,
    })
    expect(StopSignal.fromStopException(exception).toJSON()).toEqual({
      reason: 'stop_requested',
      message: 'enough',
      context: {},
      source: null,
    })
  })

  test("takes its signal's reason and message, merges both contexts, and keeps its own source if it has one", () => {
    expect(
      StopSignal.fromStopException(
        new AgentStopException({ signal, context: { b: 2, c: 3 }, source: 'Tool' }),
      ).toJSON(),
    ).toEqual({
      reason: 'completed',
      message: 'All tasks finished',
      context: { a: 1, b: 2, c: 3 },
      source: 'Tool',
    })
    expect(StopSignal.fromStopException(new AgentStopException({ signal })).toJSON()).toEqual(signal.toJSON())
  })
})
