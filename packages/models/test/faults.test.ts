// Tests the tables of "The wire" in docs/spec: R-WIRE-1 to R-WIRE-8. Each cell is executed.
import { readdirSync, readFileSync } from 'node:fs'
import { ModelError } from '@halting/core'
import type { Model } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { anthropic, openaiCompatible, openaiResponses } from '../src/index.ts'
import type { ServiceOptions } from '../src/service/endpoint.ts'
import { call } from './support/call.ts'
import type { Called } from './support/call.ts'
import { faultAnswers, retryDateMs } from './support/fault-answers.ts'
import type { FaultAnswer } from './support/fault-answers.ts'
import { createEar } from './support/fault-ear.ts'
import { faultKinds } from './support/fault-kinds.ts'
import type { StreamFault } from './support/fault-kinds.ts'
import { answeringReply, callingReply, faultPoints } from './support/fault-reply.ts'
import type { FaultPoint, FaultProtocol, FaultReply } from './support/fault-reply.ts'
import { startFaultServer } from './support/fault-server.ts'
import type { PlannedExchange } from './support/fault-server.ts'

const protocols = ['messages', 'chat', 'responses'] as const
const pages = new URL('../../../docs/spec/', import.meta.url)
const spec = readdirSync(pages)
  .map((name) => readFileSync(new URL(name, pages), 'utf8'))
  .join('\n\n')
const nowhere = '–'

/** The rows of the table with this head: the cells of each row by column name. */
function tableOf(head: string): readonly ReadonlyMap<string, string>[] {
  const lines = spec.split('\n')
  const start = lines.findIndex((line) => line.startsWith(head))
  const rows = lines.slice(start + 2, lines.indexOf('', start))
  const cellsOf = (line: string): readonly string[] =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim().replaceAll('`', ''))
  const names = cellsOf(lines[start] ?? '')
  return rows.map((row) => new Map(cellsOf(row).map((cell, index) => [names[index] ?? '', cell])))
}

const faultRows = tableOf('| fault | kind |')
const answerRows = tableOf('| answer | kind |')

interface Exchanged extends Called {
  /** Bytes that the server wrote. */
  readonly bytes: number
}

/** One exchange with a fault server. The model reads as fast as it can. */
async function exchange(
  protocol: FaultProtocol,
  planned: PlannedExchange,
  options: ServiceOptions = {},
): Promise<Exchanged> {
  const ear = createEar()
  const server = await startFaultServer({ protocol, plan: [planned], taken: ear.taken })
  try {
    const called = await call(modelOf(protocol, { baseUrl: server.url, fetch: ear.fetch, ...options }))
    // An endless response must be released.
    if ('fault' in planned && isEndless(planned.fault)) await server.released()
    return { ...called, bytes: server.bytesWritten() }
  } finally {
    await server.close()
  }
}

function modelOf(protocol: FaultProtocol, options: ServiceOptions & { readonly baseUrl: string }): Model {
  const named = { model: 'claude-test', apiKey: 'key', ...options }
  if (protocol === 'responses') return openaiResponses(named)
  return protocol === 'messages' ? anthropic(named) : openaiCompatible(named)
}

/** The outcome of an attempt in the words of the tables (R-WIRE-1). Any other outcome is described as it is. */
function outcomeOf({ reply, error, updates }: Called, sent: FaultReply): string {
  if (error !== undefined) {
    if (!(error instanceof ModelError)) return 'something that is no ModelError'
    return error.retryable ? 'retried' : 'ends'
  }
  if (reply === undefined) return 'nothing'
  const { content, stop_reason } = reply.message
  // R-WIRE-2: in every outcome.
  const complete = updates.flatMap((update) => (update.type === 'block' ? [update] : []))
  expect(content).toEqual(complete.toSorted((a, b) => a.index - b.index).map(({ block }) => block))
  if (reply.streamError !== undefined) {
    const isPart = stop_reason === null && isSame(content, sent.blocks.slice(0, content.length))
    if (!isPart) return 'something that was not said is kept'
    return content.length === 1 ? 'text kept' : 'text and call kept'
  }
  return stop_reason === sent.stopReason && isSame(content, sent.blocks) ? 'whole' : 'taken'
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}

/** The failure of an attempt, including one that kept a part of the reply. */
function failureOf({ reply, error }: Called): ModelError | undefined {
  if (error instanceof ModelError) return error
  return reply?.streamError
}

/** The cell of one protocol. If they differ, the Messages API is first and the Responses API last. */
function cellOf(cell: string, protocol: FaultProtocol): string {
  const [first = '', second = first, third = second] = cell.split(' / ')
  return { messages: first, chat: second, responses: third }[protocol]
}

/** Only silence may run into a short limit. */
function limitsFor(fault: StreamFault): ServiceOptions {
  if (fault === 'endless event') return { maxEventLength: endlessLimit }
  return isEndless(fault) ? { idleTimeoutMs: 1_000, requestTimeoutMs: 1_300 } : {}
}

function isEndless(fault: StreamFault): boolean {
  return fault === 'silent' || fault === 'pings' || fault === 'comments' || fault === 'endless event'
}

const endlessLimit = 100_000

describe('the table of faults', () => {
  test('has a row for every fault, and a column for every point', () => {
    expect(faultRows.map((row) => row.get('fault'))).toEqual(Object.keys(faultKinds))
    expect([...(faultRows[0]?.keys() ?? [])]).toEqual(['fault', 'kind', 'billed', ...faultPoints])
  })

  const cases = protocols.flatMap((protocol) =>
    faultRows.map((row) => ({ protocol, fault: row.get('fault') ?? '', row })),
  )
  test.each(cases)('$protocol: $fault', async ({ protocol, fault, row }) => {
    // The first test ensures that each row is the name of one.
    const name = fault as StreamFault
    const exchanged = await Promise.all(
      faultPoints.map(async (at) => {
        if (!faultKinds[name].points.includes(at)) return undefined
        return exchange(protocol, { fault: name, at }, limitsFor(name))
      }),
    )
    const outcomes = exchanged.map((called) => (called === undefined ? nowhere : outcomeOf(called, callingReply)))
    expect(outcomes).toEqual(faultPoints.map((at) => cellOf(row.get(at) ?? '', protocol)))
    const failures = exchanged.flatMap((called) => (called === undefined ? [] : (failureOf(called) ?? [])))
    const hasFailed = outcomes.some(
      (outcome) => outcome === 'retried' || outcome === 'ends' || outcome.endsWith('kept'),
    )
    expect([...new Set(failures.map(({ kind }) => kind))]).toEqual(hasFailed ? [row.get('kind')] : [])
    expect([...new Set(failures.map(({ billed }) => billed))]).toEqual(hasFailed ? [row.get('billed')] : [])
    for (const { message } of failures) expect(message).toMatch(/^[A-Z0-9].*[.?]$/)
  })
})

describe('beyond the table', () => {
  test('reads an endless event no further than its limit, and releases the connection', async () => {
    for (const protocol of protocols) {
      const { bytes } = await exchange(protocol, { fault: 'endless event', at: 'begun' }, limitsFor('endless event'))
      // The buffers of the kernel come on top.
      expect(bytes).toBeLessThan(endlessLimit + 16_000_000)
    }
  })

  test('charges a reply without usage at the worst case, and one with usage as reported', async () => {
    const usage = { input_tokens: 100, output_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
    const billed = async (protocol: FaultProtocol, at: FaultPoint) => {
      const { reply } = await exchange(protocol, { fault: 'closed', at })
      return reply?.billed ?? reply?.message.usage
    }
    expect(await Promise.all([billed('messages', 'stop'), billed('messages', 'end')])).toEqual([usage, usage])
    expect(await Promise.all([billed('chat', 'stop'), billed('chat', 'end')])).toEqual(['unknown', usage])
    expect(await Promise.all([billed('responses', 'stop'), billed('responses', 'end')])).toEqual([usage, usage])
  })

  test('reports the cause of a cut connection, with the request id if there was a response', async () => {
    const failed = async (fault: StreamFault) => failureOf(await exchange('messages', { fault, at: 'text' }))
    for (const fault of ['reset', 'closed'] as const) {
      expect((await failed(fault))?.message).toMatch(/^127\.0\.0\.1:\d+ closed the connection \(ECONNRESET\)/)
    }
    expect(await failed('ended')).toMatchObject({
      message: 'The reply stream failed: it ended before the reply was complete.',
      requestId: 'req_fault',
    })
  })
})

describe('the table of responses', () => {
  test('has a row for every response', () => {
    expect(new Set(answerRows.map((row) => row.get('answer')))).toEqual(new Set(Object.keys(faultAnswers)))
    expect([...(answerRows[0]?.keys() ?? [])]).toEqual(['answer', 'kind', 'tried again', 'waits', 'billed'])
  })

  const cases = protocols.flatMap((protocol) =>
    answerRows.map((row) => ({ protocol, answer: row.get('answer') ?? '', row })),
  )
  test.each(cases)('$protocol: $answer', async ({ protocol, answer, row }) => {
    // The first test ensures that each row is the name of one.
    const called = await exchange(
      protocol,
      { answer: answer as FaultAnswer },
      limitsFor(answer === '200 silent JSON' ? 'silent' : 'ended'),
    )
    const failure = failureOf(called)
    const outcome = outcomeOf(called, answeringReply)
    expect({
      answer,
      kind: failure?.kind ?? outcome,
      'tried again': failure === undefined ? nowhere : failure.retryable ? 'yes' : 'no',
      waits: waitsOf(failure),
      billed: failure?.billed ?? nowhere,
    }).toEqual(Object.fromEntries(row))
  })
})

function waitsOf(failure: ModelError | undefined): string {
  if (failure?.retryable !== true) return nowhere
  const { retryAfterMs } = failure
  if (retryAfterMs === null) return 'its own steps'
  // A date has whole seconds.
  const isAsked = retryAfterMs === 7_000 || (retryAfterMs > 0 && retryAfterMs <= retryDateMs + 1_000)
  return isAsked ? 'as asked' : `${retryAfterMs} ms`
}

test('rejects a fault that cannot happen at its point', async () => {
  await expect(startFaultServer({ protocol: 'chat', plan: [{ fault: 'pings', at: 'accept' }] })).rejects.toThrow(
    '"pings" cannot happen at "accept".',
  )
  const planned = { fault: 'reset', at: 'in call', reply: answeringReply } as const
  await expect(startFaultServer({ protocol: 'chat', plan: [planned] })).rejects.toThrow(
    'never comes to the point "in call"',
  )
})
