// Tests what a run shows when it does something other than a plain turn (R-TERM-23).
import type { RunEvent } from '../../src/state/events.ts'
import type { IterationReason } from '../../src/limits/transition-rules.ts'
import { expect, test } from 'vitest'
import { RunActivity } from '../../src/live-session/run-activity.ts'

function iterationEvent(transition: IterationReason, left: number): RunEvent {
  // True: the code under test reads only these fields.
  const all = { [transition]: left } as Extract<RunEvent, { readonly type: 'lap' }>['left']
  return { type: 'lap', transition, before: [3, 0, 9], after: [3, 0, 8], left: all }
}

function stopHook(block?: string): RunEvent {
  const outcome = block === undefined ? {} : { block }
  return { type: 'hook_end', hook: 'h', trigger: 'stopHook', callId: null, outcome, durationMs: 1 }
}

function retry(status: number | null): RunEvent {
  const about = { kind: 'connection', message: 'A long story.', status, retryable: true } as const
  const error = { ...about, retryAfterMs: null, requestId: null, usage: null, billed: 'nothing' } as const
  return { type: 'retry', request: 1, attempt: 2, maxRetries: 10, delayMs: 8_000, error }
}

function after(...events: readonly RunEvent[]): RunActivity['present'] {
  const activity = new RunActivity(() => 1_000)
  activity.begin('m')
  for (const event of events) activity.onEvent(event)
  return activity.present
}

test('shows how often a stop hook sent the answer back, and why', () => {
  const blocked = stopHook('lint')
  const sentBack = { type: 'recovery', transition: 'stop_hook_blocking', used: 1, left: 7, because: 'lint' }
  expect(after(stopHook(), blocked, stopHook('format'), iterationEvent('stop_hook_blocking', 7))).toEqual(sentBack)
  expect(
    after(blocked, iterationEvent('stop_hook_blocking', 7), stopHook('types'), iterationEvent('stop_hook_blocking', 6)),
  ).toEqual({
    ...sentBack,
    used: 2,
    left: 6,
    because: 'types',
  })
})

test('does not show the message of a stop hook for another recovery', () => {
  expect(
    after(stopHook('lint'), iterationEvent('stop_hook_blocking', 7), iterationEvent('max_output_tokens_recovery', 2)),
  ).toEqual({
    type: 'recovery',
    transition: 'max_output_tokens_recovery',
    used: 1,
    left: 2,
    because: null,
  })
})

test('names a retry by its status, or by what failed', () => {
  const waiting = { type: 'retry', attempt: 2, maxRetries: 10, untilMs: 9_000 }
  expect(after(retry(529))).toEqual({ ...waiting, error: '529' })
  expect(after(retry(null))).toEqual({ ...waiting, error: 'connection' })
})

test('shows the amount that a request waits for, and then that the model is asked', () => {
  const figures = { reservedUsd: 2.1, reservedTokens: 400, holders: 3 }
  const wait = (isWaiting: boolean): RunEvent => ({
    type: 'budget_wait',
    isWaiting,
    neededUsd: 1,
    neededTokens: 10,
    ...figures,
  })
  const asks: RunEvent = { type: 'model_start', request: 1, attempt: 1, model: 'm' }
  expect(after(asks, wait(true))).toEqual({ type: 'budget_wait', ...figures })
  const ofBudget = { ...wait(true), budget: '$20 a day' } as RunEvent
  expect(after(asks, ofBudget)).toEqual({ type: 'budget_wait', ...figures, budget: '$20 a day' })
  expect(after(asks, wait(true), wait(false))).toEqual({ type: 'asking', model: 'm' })
})
