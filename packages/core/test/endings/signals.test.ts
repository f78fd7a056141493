// Tests R-STOP-3, R-STOP-4.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { StopCategory, StopSignal, StopSignals } from '../../src/index.ts'
import { ExecutionContinuation } from '../../src/compat/index.ts'

const signal = (reason: StopCategory, message = ''): StopSignal => new StopSignal({ reason, message })
const anySignals = fc
  .array(fc.tuple(fc.constantFrom(...StopCategory.all), fc.string(), fc.dictionary(fc.string(), fc.integer())))
  .map((list) =>
    StopSignals.of(...list.map(([reason, message, context]) => new StopSignal({ reason, message, context }))),
  )

describe('signals', () => {
  test('are empty at first', () => {
    const signals = StopSignals.empty()
    expect([
      signals.hasAny(),
      signals.size,
      signals.first(),
      signals.highest(),
      signals.toString(),
      signals.toJSON(),
    ]).toEqual([false, 0, null, null, '', []])
  })

  test('append a signal to a new list and leave the old list unchanged', () => {
    const empty = StopSignals.empty()
    const one = empty.withSignal(signal('time_limit'))
    const two = one.withSignal(signal('error'))
    expect([empty.size, one.size, two.size]).toEqual([0, 1, 2])
    expect([...two].map(({ reason }) => reason)).toEqual(['time_limit', 'error'])
  })

  test('are independent of the list they were made from', () => {
    const list = [signal('error')]
    const signals = StopSignals.of(...list)
    list.push(signal('completed'))
    expect(signals.size).toBe(1)
  })

  test('are formatted as one line', () => {
    const signals = StopSignals.empty()
      .withSignal(signal('steps_limit', 'Step limit reached: 10/10'))
      .withSignal(signal('token_limit', 'Token limit reached'))
    expect(signals.toString()).toBe('steps_limit: Step limit reached: 10/10 | token_limit: Token limit reached')
  })
})

describe('first', () => {
  test('is the one that was raised first, however urgent the others are', () => {
    expect(StopSignals.of(signal('completed', 'a'), signal('error', 'b')).first()?.message).toBe('a')
  })
})

describe('highest', () => {
  test('is the most urgent one', () => {
    expect(
      StopSignals.of(signal('completed'), signal('time_limit'), signal('error'), signal('stop_requested')).highest()
        ?.reason,
    ).toBe('error')
  })

  test('is the earliest of equal numbers', () => {
    expect(StopSignals.of(signal('token_limit', 'a'), signal('cost_limit', 'b')).highest()?.message).toBe('a')
    expect(StopSignals.of(signal('cost_limit', 'b'), signal('token_limit', 'a')).highest()?.message).toBe('b')
    expect(StopSignals.of(signal('no_progress', 'n'), signal('retry_limit', 'r')).highest()?.message).toBe('n')
  })

  test('prefers a person to a limit of the same number, in any order', () => {
    expect(StopSignals.of(signal('steps_limit'), signal('user_requested')).highest()?.reason).toBe('user_requested')
    expect(StopSignals.of(signal('user_requested'), signal('steps_limit')).highest()?.reason).toBe('user_requested')
    expect(StopSignals.of(signal('user_requested', 'a'), signal('user_requested', 'b')).highest()?.message).toBe('a')
  })

  test('is never less urgent than any other', () => {
    fc.assert(
      fc.property(anySignals, (signals) => {
        const highest = signals.highest()
        expect(highest === null).toBe(signals.size === 0)
        for (const other of signals)
          expect(StopCategory.priority(highest?.reason ?? 'unknown')).toBeLessThanOrEqual(
            StopCategory.priority(other.reason),
          )
      }),
    )
  })
})

describe('signals as JSON', () => {
  test('survive a round trip', () => {
    fc.assert(
      fc.property(anySignals, (signals) => {
        const restored = StopSignals.fromJSON(JSON.parse(JSON.stringify(signals)))
        expect(JSON.stringify(restored)).toBe(JSON.stringify(signals))
        expect(restored.toString()).toBe(signals.toString())
      }),
    )
  })

  test('never throw for garbage', () => {
    fc.assert(
      fc.property(fc.anything({ withSparseArray: true }), (garbage) => {
        expect(StopSignals.fromJSON(garbage)).toBeInstanceOf(StopSignals)
      }),
    )
    expect(StopSignals.fromJSON([{ reason: 'novel' }, 7]).toJSON()).toEqual([
      { reason: 'unknown', message: '', context: {}, source: null },
      { reason: 'unknown', message: '', context: {}, source: null },
    ])
  })
})

describe('a continuation', () => {
  const limit = signal('steps_limit', 'Step limit reached: 10/10')

  test('is fresh with no signals and no request', () => {
    const fresh = ExecutionContinuation.fresh()
    expect([fresh.shouldStop(), fresh.isContinuationRequested(), fresh.stopSignals().hasAny()]).toEqual([
      false,
      false,
      false,
    ])
  })

  test.each([
    [false, false, false],
    [true, false, true],
    [false, true, false],
    [true, true, false],
  ])('with a signal: %s, and a continuation request: %s, should stop: %s', (hasSignal, requested, stops) => {
    const base = hasSignal ? ExecutionContinuation.fresh().withNewStopSignal(limit) : ExecutionContinuation.fresh()
    expect(base.withContinuationRequested(requested).shouldStop()).toBe(stops)
  })

  test('is immutable: every with… returns a new one', () => {
    const fresh = ExecutionContinuation.fresh()
    const stopped = fresh.withNewStopSignal(limit)
    const asked = stopped.withContinuationRequested(true)
    const replaced = asked.withStopSignals(StopSignals.of(signal('error')))
    expect([fresh, stopped, asked, replaced].map((each) => each.toJSON())).toEqual([
      { stopSignals: [], isContinuationRequested: false },
      { stopSignals: [limit.toJSON()], isContinuationRequested: false },
      { stopSignals: [limit.toJSON()], isContinuationRequested: true },
      { stopSignals: [signal('error').toJSON()], isContinuationRequested: true },
    ])
    expect(asked.withContinuationRequested(false).shouldStop()).toBe(true)
  })

  test('explains itself in exactly these words', () => {
    const fresh = ExecutionContinuation.fresh()
    expect(fresh.explain()).toBe('No Stop Signals; Continuation Requested: No')
    expect(fresh.withNewStopSignal(limit).explain()).toBe(
      'Stop Signals: steps_limit: Step limit reached: 10/10; Continuation Requested: No',
    )
    expect(fresh.withContinuationRequested(true).explain()).toBe('No Stop Signals; Continuation Requested: Yes')
    expect(
      fresh.withNewStopSignal(limit).withNewStopSignal(signal('error')).withContinuationRequested(true).explain(),
    ).toBe('Stop Signals: steps_limit: Step limit reached: 10/10 | error; Continuation Requested: Yes')
  })

  test('survives a round trip', () => {
    fc.assert(
      fc.property(anySignals, fc.boolean(), (signals, requested) => {
        const continuation = ExecutionContinuation.fresh().withStopSignals(signals).withContinuationRequested(requested)
        const restored = ExecutionContinuation.fromJSON(JSON.parse(JSON.stringify(continuation)))
        expect(JSON.stringify(restored)).toBe(JSON.stringify(continuation))
        expect(restored.explain()).toBe(continuation.explain())
      }),
    )
  })

  test('reads garbage as fresh', () => {
    fc.assert(
      fc.property(fc.anything(), (garbage) => {
        expect(typeof ExecutionContinuation.fromJSON(garbage).shouldStop()).toBe('boolean')
      }),
    )
    expect(ExecutionContinuation.fromJSON({ isContinuationRequested: 'yes' }).toJSON()).toEqual({
      stopSignals: [],
      isContinuationRequested: false,
    })
  })
})
