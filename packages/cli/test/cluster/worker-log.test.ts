// Holds rules of docs/spec: R-OPER-4.
import type { WorkerEvent } from '@halting/restate'
import { assert, constantFrom, property, record, string } from 'fast-check'
import { expect, test } from 'vitest'
import { workerLog } from '../../src/cluster/worker-log.ts'

function logOf(format: 'text' | 'json'): { readonly log: ReturnType<typeof workerLog>; readonly lines: string[] } {
  const lines: string[] = []
  const output = { err: (text: string) => void lines.push(text) }
  return { log: workerLog({ format, output, worker: () => 'http://w:9080', now: () => 0 }), lines }
}

const ended: WorkerEvent = {
  type: 'run_ended',
  session: 's-1',
  tenant: 'acme',
  reason: 'completed',
  usd: 0.25,
  tokens: 1_000,
  requests: 3,
  toolCalls: 2,
}

test('logs an event as one sentence, or as one object with session, tenant and worker', () => {
  const text = logOf('text')
  text.log.event(ended)
  expect(text.lines).toEqual(['halting: s-1 (acme): run ended, completed: 3 requests, 2 tool calls, $0.2500\n'])
  const json = logOf('json')
  json.log.event(ended)
  expect(json.lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    {
      time: '1970-01-01T00:00:00.000Z',
      level: 'info',
      event: 'run_ended',
      worker: 'http://w:9080',
      session: 's-1',
      tenant: 'acme',
      reason: 'completed',
      usd: 0.25,
      tokens: 1_000,
      requests: 3,
      toolCalls: 2,
      message: 'run ended, completed: 3 requests, 2 tool calls, $0.2500',
    },
  ])
})

test('logs problems at another level', () => {
  const { log, lines } = logOf('json')
  log.event({ type: 'ready', isReady: false, because: 'the engine cannot write' })
  log.event({ type: 'ready', isReady: true })
  log.event({ type: 'trouble', level: 'warn', message: 'work: no folder.', session: 's' })
  log.event({ type: 'worker_lost', address: 'http://b' })
  log.say('serving.')
  log.ofSession('s')('halting: a rule does not apply\n')
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual(
    [
      ['error', 'ready', { isReady: false, because: 'the engine cannot write' }, 'not ready: the engine cannot write'],
      ['info', 'ready', { isReady: true }, 'ready'],
      ['warn', 'trouble', { session: 's' }, 'work: no folder.'],
      ['error', 'worker_lost', { address: 'http://b' }, 'the worker http://b no longer answers'],
      ['info', 'message', {}, 'serving.'],
      ['info', 'message', { session: 's' }, 'a rule does not apply'],
    ].map(([level, event, fields, message]) => ({
      time: '1970-01-01T00:00:00.000Z',
      level,
      event,
      worker: 'http://w:9080',
      ...(fields as object),
      message,
    })),
  )
})

test('logs an event as one line without controls, whatever its session and tenant are called', () => {
  const hostile = constantFrom(
    '\n',
    '\r\n',
    '\u001B[2J',
    '\u0085',
    '\u2028',
    '\u202E',
    '\uD800',
    '"}',
    'halting: ',
    'é',
  )
  const name = string({ unit: hostile, maxLength: 5 })
  assert(
    property(record({ session: name, tenant: name, because: name }), ({ session, tenant, because }) => {
      for (const format of ['text', 'json'] as const) {
        const { log, lines } = logOf(format)
        log.event({ type: 'session_left', session, tenant, because })
        const [line = ''] = lines
        expect([lines.length, line.endsWith('\n')]).toEqual([1, true])
        // oxlint-disable-next-line no-control-regex -- none of them may be there
        expect(line.slice(0, -1)).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u2028\u2029\u202A-\u202E\u2066-\u2069]/)
        const read = format === 'json' ? (JSON.parse(line) as object) : { session, tenant }
        expect(read).toMatchObject({ session, tenant })
      }
    }),
  )
})

test('redacts a secret with a known form in JSON', () => {
  const { log, lines } = logOf('json')
  const key = `sk-ant-api03-${'a'.repeat(80)}`
  log.event({ type: 'trouble', level: 'error', message: `the service refused ${key}` })
  expect(lines.join('')).not.toContain(key)
  expect(lines.join('')).toContain('the service refused')
})

test('redacts a secret with a known form in text, also in parts', () => {
  const { log, lines } = logOf('text')
  const key = `sk-ant-api03-${'a'.repeat(80)}`
  for (const before of [0, 900, 970, 990]) {
    const words = `${'x '.repeat(before / 2)}refused ${key}`
    log.event({ type: 'trouble', level: 'error', message: words, session: 's' })
    log.event({ type: 'session_left', session: 's', because: words })
    log.event({ type: 'ready', isReady: false, because: words })
    log.say(words)
    log.ofSession('s')(`halting: ${words}\n`)
  }
  expect(lines).toHaveLength(20)
  expect(lines.join('')).not.toContain('sk-ant-api03')
})
