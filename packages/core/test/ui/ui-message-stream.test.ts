// Tests `toUIMessageStream`: the reader of `ai` builds the right message, and a reconnecting client builds the same, wherever it was cut off.
import * as fc from 'fast-check'
import type { UIMessage } from 'ai'
import { describe, expect, test } from 'vitest'
import { resume, type RunEvent, type RunOptions, type RunResult } from '../../src/index.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { eventIdOf, recordedEvents, shareRun, toUIMessageStream, type UIMessageChunk } from '../../src/ui/index.ts'
import { calls, reader, subagent, tool, until } from '../support/harness.ts'
import { checkedChunks, collected, eventsOf, messageOf, chunksSentBy, started, type SentChunk } from './support.ts'

const script: readonly ScriptedReply[] = [
  {
    thinking: 'Hm.',
    text: 'I look.',
    toolCalls: [
      { id: 'a', name: 'Look', input: { at: 'a' } },
      { id: 'b', name: 'Write', input: {} },
    ],
  },
  { text: 'Again.', toolCalls: [{ id: 'c', name: 'Fail', input: { n: [1, 2] } }] },
  'It is done.',
]

const options = (replies: readonly ScriptedReply[] = script): RunOptions => ({
  model: scriptedModel(replies),
  clock: createFakeClock({ autoAdvance: true }),
  tools: [
    reader('Look', 'seen'),
    tool('Write', 'written'),
    tool('Fail', () => {
      throw new Error('no luck')
    }),
  ],
})

const typesOf = (chunks: readonly UIMessageChunk[]): readonly string[] =>
  chunks.map(({ type }) => type).filter((type) => type !== 'data-halting-figures')

describe('a run as a UI message stream', () => {
  test('has text, reasoning, inputs in pieces, outputs, errors, figures and the ending', async () => {
    const chunks = await collected(toUIMessageStream(started(options()).run))
    await checkedChunks(chunks)
    expect(typesOf(chunks).join(' ')).toBe(
      [
        'start start-step reasoning-start reasoning-delta',
        'reasoning-end text-start text-delta text-end',
        'tool-input-start tool-input-delta tool-input-delta tool-input-available',
        'tool-input-start tool-input-delta tool-input-delta tool-input-available',
        'data-halting-reply tool-output-available tool-output-available finish-step',
        'start-step text-start text-delta text-end',
        'tool-input-start tool-input-delta tool-input-delta tool-input-available',
        'data-halting-reply tool-output-error finish-step start-step',
        'text-start text-delta text-end data-halting-reply',
        'finish-step data-halting-ending finish',
      ].join(' '),
    )
    const figures = chunks.filter(({ type }) => type === 'data-halting-figures')
    expect(figures.length).toBeGreaterThan(2)
    expect(figures.every((chunk) => 'transient' in chunk && chunk.transient === true)).toBe(true)
  })

  test('builds the message that a page shows', async () => {
    const message = await messageOf(await collected(toUIMessageStream(started(options()).run, { messageId: 'm1' })))
    expect(message?.id).toBe('m1')
    expect(message?.parts).toMatchObject([
      { type: 'step-start' },
      { type: 'reasoning', text: 'Hm.', state: 'done' },
      { type: 'text', text: 'I look.', state: 'done' },
      { type: 'tool-Look', state: 'output-available', input: { at: 'a' }, output: 'seen' },
      { type: 'tool-Write', state: 'output-available', input: {}, output: 'written' },
      { type: 'step-start' },
      { type: 'text', text: 'Again.' },
      { type: 'tool-Fail', state: 'output-error', input: { n: [1, 2] }, errorText: 'no luck' },
      { type: 'step-start' },
      { type: 'text', text: 'It is done.' },
      { type: 'data-halting-ending', data: { reason: 'completed', category: 'completed', turns: 3 } },
    ])
  })

  test('retracts the output of a failed attempt', async () => {
    const reply: ScriptedReply = { hang: true, text: 'Half of' }
    const run = started(options([reply])).run
    const chunks: UIMessageChunk[] = []
    for await (const chunk of toUIMessageStream(run) as unknown as AsyncIterable<UIMessageChunk>) {
      chunks.push(chunk)
      if (chunk.type === 'text-delta') run.abort('user')
    }
    const message = await messageOf(chunks)
    const texts = message?.parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))
    expect(texts).toEqual(['Half of'])
    expect(typesOf(chunks).slice(-3)).toEqual(['data-halting-ending', 'abort', 'finish'])
  })

  test('reports a failure as an error, after the ending', async () => {
    const error = { kind: 'invalid_request', message: 'bad', status: 400, retryable: false } as const
    const chunks = await collected(toUIMessageStream(started(options([{ error }])).run))
    await checkedChunks(chunks)
    expect(typesOf(chunks).slice(-3)).toEqual(['data-halting-ending', 'error', 'finish'])
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'error' })
  })

  test('hides the error text of a server from a client, unless configured otherwise', async () => {
    const error = { kind: 'invalid_request', message: 'no /srv/key of sk-1', status: 400, retryable: false } as const
    const { run, steps } = started(options([{ error }]))
    const live = JSON.stringify(await collected(toUIMessageStream(run)))
    expect(live).toContain('"errorText":"The run failed (model_error)."')
    expect(live).not.toContain('/srv/key')
    const events = await recordedEvents(steps.records, options([]))
    const texts = [
      ({ signal }: RunResult) => signal.message,
      () => 'Sorry.',
      () => undefined as never,
      () => { throw new Error('/srv/key') }, // prettier-ignore
    ].map(async (errorText) => {
      const chunks = await collected(toUIMessageStream(events, { errorText }))
      return chunks.flatMap((chunk) => (chunk.type === 'error' ? [chunk.errorText] : []))
    })
    const hidden = 'The run failed (model_error).'
    expect((await Promise.all(texts)).flat()).toEqual(['no /srv/key of sk-1', 'Sorry.', hidden, hidden])
  })

  test('omits the reasoning of the model on request', async () => {
    const chunks = await collected(toUIMessageStream(started(options()).run, { sendReasoning: false }))
    expect(typesOf(chunks).filter((type) => type.startsWith('reasoning'))).toEqual([])
    const whole = await messageOf(chunks)
    expect(whole?.parts[1]).toMatchObject({ type: 'text', text: 'I look.' })
  })

  test('rejects a value that is not a run', () => {
    expect(() => toUIMessageStream(undefined as never)).toThrow('such as streamRun')
    expect(() => toUIMessageStream({} as never)).toThrow('such as streamRun')
    expect(() => toUIMessageStream('a run' as never)).toThrow('such as streamRun')
  })
})

describe('an approval', () => {
  const asking = (): RunOptions => ({
    ...options([calls('Write'), 'ok']),
    onAsk: 'wait',
    permissions: { denies: () => undefined, decide: () => ({ behavior: 'ask', message: 'May it?' }) },
  })

  test.each(['allow', 'deny'] as const)('that is answered %s by another request', async (behavior) => {
    const { run } = started(asking())
    const chunks: UIMessageChunk[] = []
    for await (const chunk of toUIMessageStream(run) as unknown as AsyncIterable<UIMessageChunk>) {
      chunks.push(chunk)
      if (chunk.type !== 'tool-approval-request') continue
      expect(chunk.reason).toBe('May it?')
      run.answer(chunk.approvalId, behavior === 'allow' ? { behavior } : { behavior, message: 'no' })
    }
    const message = await messageOf(chunks)
    const state = behavior === 'allow' ? 'output-available' : 'output-denied'
    expect(message?.parts[1]).toMatchObject({ type: 'tool-Write', state, approval: { requestReason: 'May it?' } })
  })

  test('that ends the run is requested by the id of its call', async () => {
    const chunks = await collected(toUIMessageStream(started({ ...asking(), onAsk: 'end' }).run))
    expect(chunks.find(({ type }) => type === 'tool-approval-request')).toMatchObject({ approvalId: 'call_0_0' })
    expect(chunks.at(-1)).toEqual({ type: 'finish', finishReason: 'tool-calls' })
  })
})

/** The parts of a message that matter to a person, without those that only this process knows. */
const visible = (message: UIMessage | undefined): unknown => JSON.parse(JSON.stringify(message ?? null))

/** Without the figures of the ending: a kill charges what it interrupts. */
const withoutTotals = (message: unknown): string => JSON.stringify(message).replace(/"totalTokens":\d+/, '')

/** The message of a client that was cut off after some chunks and has read the rest. */
async function continued(before: readonly SentChunk[], rest: ReadableStream<UIMessageChunk>): Promise<unknown> {
  const first = before.length === 0 ? undefined : await messageOf(before.map(({ chunk }) => chunk))
  return visible(await messageOf(await collected(rest), first))
}

describe('a client that reconnects', () => {
  test('builds the same message, wherever it was cut off: from the record', async () => {
    const { run, steps } = started(options())
    const sentChunks = await chunksSentBy(toUIMessageStream(run))
    const whole = visible(await messageOf(sentChunks.map(({ chunk }) => chunk)))
    const events = await recordedEvents(steps.records, options())
    for (let cut = 0; cut <= sentChunks.length; cut++) {
      const before = sentChunks.slice(0, cut)
      const rest = toUIMessageStream(events, { after: before.at(-1)?.id })
      expect([cut, await continued(before, rest)]).toEqual([cut, whole])
    }
  })

  test('has the parts of the message that it continues, when cut off before the first step', async () => {
    const before: UIMessage = { id: 'm1', role: 'assistant', parts: [{ type: 'text', text: 'Before.', state: 'done' }] }
    const [first, ...others] = await eventsOf(started(options(['After.'])).run)
    const notice: RunEvent = { type: 'notice', message: 'Careful.' }
    const events = [...(first === undefined ? [] : [first]), notice, ...others]
    const runOptions = { continuesMessage: true, messageId: 'm1' }
    const sentChunks = await chunksSentBy(toUIMessageStream(events, runOptions))
    const whole = visible(await messageOf(sentChunks.map(({ chunk }) => chunk), before)) // prettier-ignore
    expect(JSON.stringify(whole)).toMatch(/Before.*After/)
    for (const [cut, { id }] of sentChunks.entries()) {
      const had = await messageOf(sentChunks.slice(0, cut + 1).map(({ chunk }) => chunk), before) // prettier-ignore
      const rest = await collected(toUIMessageStream(events, { ...runOptions, after: id }))
      expect([id, visible(await messageOf(rest, had))]).toEqual([id, whole])
    }
  })

  test('gets the same ids from the record as live, except for streamed pieces', async () => {
    const { run, steps } = started(options())
    const counted = (all: readonly SentChunk[]): unknown => all.filter(({ id }) => !id.includes('.'))
    const live = await chunksSentBy(toUIMessageStream(run))
    const events = await recordedEvents(steps.records, options())
    expect(counted(await chunksSentBy(toUIMessageStream(events)))).toEqual(counted(live))
    expect(live.every(({ id }) => id.startsWith('run1:'))).toBe(true)
  })

  test('may be cut off repeatedly: any run, any cuts', async () => {
    const text = fc.string({ unit: 'binary', maxLength: 12 })
    const reply = fc.record({
      thinking: fc.option(text, { nil: undefined }),
      text: fc.option(text, { nil: undefined }),
      toolCalls: fc.array(
        fc.record({ name: fc.constantFrom('Look', 'Write', 'Fail', 'None'), input: fc.dictionary(text, text) }),
        {
          maxLength: 2,
        },
      ),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(reply, { maxLength: 3 }),
        fc.array(fc.nat(60), { maxLength: 5 }),
        async (replies, cuts) => {
          const runOptions = (): RunOptions => options([...(replies as readonly ScriptedReply[]), 'end'])
          const { run, steps } = started(runOptions())
          const shared = shareRun(run)
          const sentChunks = await chunksSentBy(toUIMessageStream(shared))
          const whole = visible(await messageOf(sentChunks.map(({ chunk }) => chunk)))
          const sources = [shared, await recordedEvents(steps.records, runOptions())]
          let message: UIMessage | undefined
          let after: string | undefined
          for (const [index, cut] of [...cuts, 1_000].entries()) {
            const rest = await chunksSentBy(toUIMessageStream(sources[index % 2] ?? shared, { after }))
            const read = rest.slice(0, cut)
            if (read.length > 0)
              message = await messageOf(
                read.map(({ chunk }) => chunk),
                message,
              )
            after = read.at(-1)?.id ?? after
          }
          expect(visible(message)).toEqual(whole)
        },
      ),
      { numRuns: 60 },
    )
  })

  test('continues with a run that another process resumed, after a kill at any record', async () => {
    const { run, steps } = started(options())
    const sentChunks = await chunksSentBy(toUIMessageStream(run))
    const whole = visible(await messageOf(sentChunks.map(({ chunk }) => chunk)))
    const end = steps.records.findIndex(({ type }) => type === 'end')
    for (let count = 1; count < end; count++) {
      const records = steps.records.slice(0, count)
      const model = scriptedModel(
        ({ messages }) => script[messages.filter(({ role }) => role === 'assistant').length] ?? 'x',
      )
      const past = await recordedEvents(records, options())
      const resumed = shareRun(resume(records, { ...options(), model }).loop, { past })
      const rest = await chunksSentBy(toUIMessageStream(resumed))
      const again = visible(await messageOf(rest.map(({ chunk }) => chunk)))
      // The part of the open turn that the previous process had sent.
      const lastId = (await chunksSentBy(toUIMessageStream(past))).at(-1)?.id
      const from = sentChunks.findIndex(({ id }) => id === lastId) + 1
      const open = sentChunks.slice(
        from,
        sentChunks.findIndex(({ chunk }, index) => index > from && chunk.type === 'finish-step'),
      )
      for (const more of [0, 1, 2, 3, 5, 8, 13, open.length]) {
        const before = [...sentChunks.slice(0, from), ...open.slice(0, more)]
        const rest = toUIMessageStream(resumed, { after: before.at(-1)?.id })
        expect([count, more, await continued(before, rest)]).toEqual([count, more, again])
      }
      // A writing call that had begun is unknown then: the message says so, to every client.
      const isKnown = !JSON.stringify(again).includes('unknown')
      expect([count, isKnown ? withoutTotals(again) : '']).toEqual([count, isKnown ? withoutTotals(whole) : ''])
    }
  })

  test.each(['', 'x', 'main:1', ':', '%:3', 'other:99.9', `${'a'.repeat(5_000)}:1`, 'x:1e9', '\u0000:1', 'x:-1'])(
    'gets everything for the id %j',
    async (after) => {
      const { run } = started(options())
      const shared = shareRun(run)
      const all = await chunksSentBy(toUIMessageStream(shared))
      expect(await chunksSentBy(toUIMessageStream(shared, { after }))).toEqual(
        await chunksSentBy(toUIMessageStream(shared)),
      )
      expect(all.length).toBeGreaterThan(20)
    },
  )

  test('that claims more than there is gets its last step again, and the end', async () => {
    const { run } = started(options())
    const shared = shareRun(run)
    const all = await chunksSentBy(toUIMessageStream(shared))
    const runId = all[0]?.id.split(':')[0] ?? ''
    const rest = await collected(toUIMessageStream(shared, { after: `${runId}:9999` }))
    expect(rest[0]).toEqual({ type: 'reset-step' })
    expect(rest.at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
  })
})

const look = (turn: number): { readonly id: string; readonly name: string } => ({ id: `look${turn}`, name: 'Look' })

describe('clients of a shared run', () => {
  test('each read all of it, at their own pace', async () => {
    const shared = shareRun(started(options()).run)
    const [fast, slow] = await Promise.all([
      chunksSentBy(toUIMessageStream(shared)),
      (async () => {
        const chunks: UIMessageChunk[] = []
        for await (const chunk of toUIMessageStream(shared) as unknown as AsyncIterable<UIMessageChunk>) {
          chunks.push(chunk)
          await new Promise((resolve) => setImmediate(resolve))
        }
        return chunks
      })(),
    ])
    expect(visible(await messageOf(slow))).toEqual(visible(await messageOf(fast.map(({ chunk }) => chunk))))
  })

  test('that connect after the end get whole texts', async () => {
    const shared = shareRun(started(options()).run)
    const live = await collected(toUIMessageStream(shared))
    await shared.done
    const late = await collected(toUIMessageStream(shared))
    expect(late.length).toBeLessThan(live.length)
    expect(visible(await messageOf(late))).toEqual(visible(await messageOf(live)))
  })

  test('do not store what a subagent streamed, once its reply is complete', async () => {
    const replies = Array.from({ length: 4 }, (_, turn): ScriptedReply => ({
      text: `${turn}`,
      toolCalls: [look(turn)],
    }))
    const model = scriptedModel([calls('Agent'), ...replies, 'sub done', { text: 'Half', hang: true }])
    const { run } = started({ ...options(), model, tools: [subagent, reader('Look', 'seen')] })
    const shared = shareRun(run)
    for await (const event of shared) if (event.type === 'model_update' && event.request === 2) break
    run.abort('user')
    await shared.done
    const ofAgent = (await eventsOf(shared)).flatMap((event) => (event.type === 'agent' ? [event.event.type] : []))
    expect(ofAgent.filter((type) => type === 'model_update' || type === 'figures')).toEqual([])
    expect(ofAgent.filter((type) => type === 'message').length).toBe(10)
  })

  test('do not end the run when they disconnect, unless configured', async () => {
    const { run } = started(options([{ hang: true, text: 'a' }]))
    const shared = shareRun(run)
    const first = toUIMessageStream(shared).getReader()
    await first.read()
    await first.cancel()
    const second = toUIMessageStream(shared, { onDisconnect: 'abort' }).getReader()
    await second.read()
    await second.cancel()
    expect((await run.result).reason).toBe('aborted_streaming')
  })
})

describe('a client that disconnects', () => {
  test('ends the run at any chunk, also while the model is silent', async () => {
    for (let cut = 1; cut < 12; cut++) {
      const { run } = started(options([script[0] ?? '', { hang: true, text: 'a' }]))
      const client = toUIMessageStream(run).getReader()
      for (let read = 0; read < cut; read++) await client.read()
      await client.cancel()
      expect((await run.result).reason).toBe('abandoned')
    }
    const { run } = started(options([{ hang: true }]))
    const client = toUIMessageStream(run).getReader()
    const reading = (async () => {
      while (!(await client.read()).done);
    })()
    await until(() => run.hasStarted)
    await client.cancel()
    await reading
    expect((await run.result).reason).toBe('abandoned')
  })

  test('leaves the run to its end when it is configured to continue', async () => {
    const { run } = started(options())
    const client = toUIMessageStream(run, { onDisconnect: 'continue' }).getReader()
    await client.read()
    await client.cancel()
    expect((await run.result).reason).toBe('completed')
  })
})

test('delivers a large output whole', async () => {
  const large = 'x'.repeat(2_500_000)
  const runOptions = { ...options([calls('Big'), 'ok']), tools: [tool('Big', large)] }
  const message = await messageOf(await collected(toUIMessageStream(started(runOptions).run)))
  expect(message?.parts[1]).toMatchObject({ type: 'tool-Big', output: large })
})

test('chunks of other streams have no id', () => {
  expect(eventIdOf({ type: 'start' })).toBeUndefined()
})

test('accepts the events of a run as a source, too', async () => {
  const events = await eventsOf(started(options()).run)
  expect((await collected(toUIMessageStream(events))).at(-1)).toEqual({ type: 'finish', finishReason: 'stop' })
})
