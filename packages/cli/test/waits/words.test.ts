// Holds R-SERV-14 and R-SERV-15 of docs/spec: texts about waits for services.
import { ModelError, startRun, StopSignal, streamRun, type RunEvent, type RunResult } from '@halting/core'
import { scriptedModel } from '@halting/core/testing'
import { beforeAll, describe, expect, test } from 'vitest'
import {
  countdownText,
  endingMessage,
  longRetryText,
  serviceCountdown,
  serviceWaitText,
  toolWaitText,
} from '../../src/frontends/wait-text.ts'
import { followActivity } from '../../src/headless/activity.ts'
import { waitAdvice } from '../../src/headless/limit-advice.ts'
import { pauseNote } from '../../src/headless/pause-note.ts'
import { clockText } from '../../src/io/figures.ts'
import { resumeCommand } from '../../src/why/resume-command.ts'

const hour = 3_600_000
/** A time in the local zone, whichever that is. */
const at = (text: string): number => new Date(text).getTime()
const now = at('2026-11-29T14:05:10')

test.each([
  ['2026-11-29T14:05:59', '14:05:59'],
  ['2026-11-29T14:15:09', '14:15:09'],
  ['2026-11-29T14:15:10', '14:15'],
  ['2026-11-29T23:59:59', '23:59'],
  ['2026-11-30T00:00:00', '2026-11-30 00:00'],
  ['2027-01-02T03:04:05', '2027-01-02 03:04'],
])('%s is %s', (moment, shown) => expect(clockText(at(moment), now)).toBe(shown))

describe('a wait', () => {
  const wait = { untilMs: now + 751_000, error: '429', message: 'Too many requests.' }

  test('is printed with its end and its reason, and counts down', () => {
    expect(serviceWaitText(wait, now)).toBe('waiting for the service until 14:17 (429: Too many requests)')
    expect(serviceWaitText({ ...wait, message: '429 slow down' }, now)).toContain('(429 slow down)')
    expect(serviceWaitText({ untilMs: now, error: '', message: '' }, now)).toBe(
      'waiting for the service until 14:05:10',
    )
    expect(serviceCountdown(wait, now)).toBe('waiting for the service, 12:31 left (429)')
    expect(serviceCountdown(wait, now + hour)).toBe('waiting for the service, 0:00 left (429)')
    expect(serviceCountdown({ untilMs: now + 500, error: '' }, now)).toBe('waiting for the service, 0:01 left')
  })

  test('of a tool is printed the same way, with the day if it is another one', () => {
    const text = (untilMs: number): string => toolWaitText({ what: 'bash_1 to end', untilMs }, now)
    expect(text(now + hour)).toBe('waiting for bash_1 to end, at most until 15:05')
    expect(text(now + 24 * hour)).toBe('waiting for bash_1 to end, at most until 2026-11-30 14:05')
    expect(countdownText('bash_1 to end', 1)).toBe('waiting for bash_1 to end, 0:01 left')
    expect(countdownText('bash_1 to end', -1)).toBe('waiting for bash_1 to end, 0:00 left')
  })

  test("has no terminal controls from a service's text", () => {
    const hostile = '\u001B[2Jgone\n\u202Eok'
    expect(serviceWaitText({ ...wait, message: hostile }, now)).toBe(
      'waiting for the service until 14:17 (429: gone ok)',
    )
  })
})

test('prints a retry with its time if it is more than five seconds away', () => {
  const error = new ModelError({ kind: 'rate_limit', message: 'Slow down', status: 429 }).toRecord()
  const retry = (delayMs: number) =>
    ({ type: 'retry', request: 1, attempt: 1, maxRetries: 10, delayMs, error }) as const
  expect([longRetryText(retry(5_000), now), longRetryText(retry(5_001), now)]).toEqual([undefined, 'at 14:05:15'])
  expect(pauseNote(retry(500_000), now)).toBe('Slow down (retry 1 of 10 at 14:13:30)')
  expect([pauseNote(retry(2_000), now), pauseNote({ type: 'turn_start', request: 1, turn: 1 }, now)]).toEqual([
    undefined,
    undefined,
  ])
})

test('counts a wait down in the line of a run or an agent, and continues afterwards', () => {
  const error = new ModelError({ kind: 'rate_limit', message: 'Slow down', status: 429 }).toRecord()
  const untilMs = Date.now() + hour
  const wait = (isWaiting: boolean) =>
    ({ type: 'service_wait', isWaiting, model: 'm', error, sinceMs: 0, untilMs }) as const
  const ofAgent = (event: RunEvent): RunEvent => ({ type: 'agent', callId: 'a', agentType: 'Explore', event })
  const activity = followActivity()
  const line = (): string => activity.line(100)
  activity.onEvent({ type: 'tool_start', callId: 'a', name: 'Agent', input: {} })
  activity.onEvent(ofAgent(wait(true)))
  expect(line()).toMatch(/^waiting for the service, (?:1:00:00|59:\d\d) left \(429\) \(and 1 more\)/)
  activity.onEvent(ofAgent(wait(false)))
  expect(line()).toMatch(/^Agent/)
  activity.onEvent({
    type: 'tool_end',
    callId: 'a',
    name: 'Agent',
    status: 'done',
    durationMs: 1,
    output: 'ok',
    isError: false,
  })
  activity.onEvent(wait(true))
  expect(line()).toMatch(/^waiting for the service, .* left \(429\) ·/)
  // It may take hours.
  expect(activity.paceMs()).toBe(1_000)
  activity.onEvent(wait(false))
  expect(line()).toMatch(/^asking the model/)
  expect(activity.paceMs()).toBe(100)
})

describe('an ending caused by a service', () => {
  let ended: RunResult
  beforeAll(async () => {
    const error = { kind: 'rate_limit', message: 'Slow down', status: 429, retryAfterMs: hour } as const
    ended = (await streamRun(startRun({ prompt: 'hi' }), { model: scriptedModel([{ error }]) }).ended).terminal
  })
  const limited = (context: Readonly<Record<string, string | number>>, retryAt?: number): RunResult => ({
    ...ended,
    ...(retryAt === undefined ? { retryAt: undefined } : { retryAt: new Date(retryAt).toISOString() }),
    signal: new StopSignal({ reason: 'error', message: 'x', context, source: 'model' }),
  })

  test('names the time in local time', () => {
    const moment = Date.parse(ended.retryAt ?? '')
    expect(endingMessage(ended, moment - 2 * hour)).toBe(
      `Slow down. It takes requests again at ${clockText(moment, moment - 2 * hour)}.`,
    )
    expect(endingMessage(limited({}), now)).toBe('x')
  })

  test.each<readonly [string, RunResult | (() => RunResult), number | undefined, string]>([
    ['in an hour', () => limited({ kind: 'rate_limit' }, now + hour), undefined, '--wait-for-limits 8h waits for it.'],
    ['in eight hours', () => limited({ kind: 'rate_limit' }, now + 8 * hour), 0, '--wait-for-limits 24h waits for it.'],
    ['in 20 days', () => limited({ kind: 'rate_limit' }, now + 480 * hour), 0, '--wait-for-limits 744h waits for it.'],
    ['in 40 days', () => limited({ kind: 'rate_limit' }, now + 960 * hour), 0, ''],
    ['that has passed', () => limited({ kind: 'rate_limit' }, now - 1), 0, ''],
    [
      'after what it may wait',
      () => limited({ kind: 'rate_limit' }, now + 7 * hour),
      8 * hour,
      '--wait-for-limits 24h waits longer.',
    ],
    [
      'that is not known, down',
      () => limited({ kind: 'server_error' }),
      0,
      '--wait-for-limits 8h waits until the service answers.',
    ],
    [
      'that is not known, no way to it',
      () => limited({ kind: 'connection', attempts: 3 }),
      0,
      '--wait-for-limits 8h waits until the service answers.',
    ],
    ['that is not known, a spending cap', () => limited({ kind: 'rate_limit' }), 0, ''],
    ['of a wrong key', () => limited({ kind: 'authentication_failed' }), 0, ''],
  ])('a time %s', (_which, terminal, waitForLimits, advice) => {
    expect(waitAdvice(typeof terminal === 'function' ? terminal() : terminal, waitForLimits, now)).toBe(advice)
  })

  test.each([[1], [8], [10], [30], [480]])('%i hours away: names the same time in the command', (hours) => {
    const terminal = limited({ kind: 'rate_limit' }, now + hours * hour)
    for (const waitForLimitsMs of [0, 8 * hour]) {
      const { command } = resumeCommand(terminal, { sessionId: 'id', sessionCwd: '/', cwd: '/', waitForLimitsMs }, now)
      const [flag] = /--wait-for-limits \d+h/.exec(waitAdvice(terminal, waitForLimitsMs, now)) ?? []
      expect(command).toBe(`halting -p --resume id ${flag}`)
    }
  })
})
