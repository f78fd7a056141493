// The start and the end of a session in a process are each reported once.
import { array, assert, constantFrom, property } from 'fast-check'
import { expect, test } from 'vitest'
import type { RunResult } from '@halting/core'
import { PresenceReporter } from '../../src/service/sessions-of-process.ts'
import { SdkLog } from '../../src/worker/sdk-log.ts'
import { LeftError } from '../../src/worker/departure.ts'
import type { WorkerEvent } from '../../src/worker/worker-events.ts'

const result = (reason: string): RunResult =>
  ({ reason, committedUsd: 0.5, totalTokens: 30, summary: { requests: 2, toolResults: 1 } }) as unknown as RunResult

test('the end of a session is reported with its tenant and the ending of its last run', () => {
  const events: WorkerEvent[] = []
  const presence = new PresenceReporter('s-1', 'acme', (event) => events.push(event))
  presence.reportRunEnd(result('max_turns'))
  presence.reportRunEnd(result('completed'))
  presence.reportEnd()
  presence.reportLeft('its attempt is over')
  expect(events).toEqual([
    { type: 'session_started', session: 's-1', tenant: 'acme' },
    ...['max_turns', 'completed'].map((reason) => ({
      type: 'run_ended',
      session: 's-1',
      tenant: 'acme',
      reason,
      usd: 0.5,
      tokens: 30,
      requests: 2,
      toolCalls: 1,
    })),
    { type: 'session_ended', session: 's-1', tenant: 'acme', reason: 'completed' },
  ])
})

test('a session is reported to start once and to end once, in any order of notices', () => {
  assert(
    property(array(constantFrom('reportEnd', 'reportRest', 'reportLeft', 'reportRunEnd'), { minLength: 1 }), (seen) => {
      const events: WorkerEvent[] = []
      const presence = new PresenceReporter('s', undefined, (event) => events.push(event))
      for (const each of seen)
        if (each === 'reportLeft') presence.reportLeft('why')
        else if (each === 'reportRunEnd') presence.reportRunEnd(result('completed'))
        else presence[each]()
      const first = seen.find((each) => each !== 'reportRunEnd')
      const types = { reportEnd: 'session_ended', reportRest: 'session_resting', reportLeft: 'session_left' }
      expect(events.map(({ type }) => type).filter((type) => type !== 'run_ended')).toEqual([
        'session_started',
        ...(first === undefined ? [] : [types[first]]),
      ])
    }),
  )
})

const of = (key: string) => ({
  level: 'warn' as never,
  context: { serviceName: 'halting_session', handlerName: 'work', key } as never,
})

test('a failure is reported once for its session until another one occurs', () => {
  const events: WorkerEvent[] = []
  const log = new SdkLog((event) => events.push(event))
  for (const [session, what] of [
    ['a', 'no folder'],
    ['a', 'no folder'],
    ['b', 'no folder'],
    ['a', 'no key'],
    ['a', 'no key'],
  ] as const)
    log.take(of(session), ["Error when processing ctx.run 'records'.\n", new Error(what)])
  expect(events).toEqual(
    [
      ['a', 'no folder'],
      ['b', 'no folder'],
      ['a', 'no key'],
    ].map(([session, what]) => ({
      type: 'trouble',
      level: 'warn',
      message: `work: ${what}. The engine retries it.`,
      session,
    })),
  )
})

test('expected errors are not reported: a 4xx answer, or a session that was left', () => {
  const events: WorkerEvent[] = []
  const log = new SdkLog((event) => events.push(event))
  log.take(of('a'), ['failed', Object.assign(new Error('Give the callId.'), { code: 400 })])
  log.take(of('a'), ['failed', new LeftError()])
  log.take({ ...of('a'), level: 'info' as never }, ['Invocation suspended'])
  log.take({ level: 'warn' as never }, ['Accepting requests without validating request signatures; …'])
  const ending = new SdkLog(
    (event) => events.push(event),
    () => true,
  )
  ending.take(of('a'), ['failed', new Error('Premature close')])
  expect(events).toEqual([])
  log.take({ level: 'error' as never }, ['Rejecting request as its JWT did not validate: x'])
  expect(events).toEqual([
    { type: 'trouble', level: 'error', message: 'Rejecting request as its JWT did not validate: x' },
  ])
})
