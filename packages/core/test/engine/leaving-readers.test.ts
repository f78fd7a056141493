// Tests R-SDK-15 to R-SDK-15b: a reader leaves while the query waits for something that never arrives.
import { describe, expect, test } from 'vitest'
import { AgentState, query, QueryEngine, type ContentBlock, type MessageContent } from '../../src/index.ts'
import { Agent } from '../../src/compat/index.ts'
import { createFakeClock, scriptedModel } from '../../src/testing/index.ts'
import { tick } from '../support/harness.ts'

const never = <T>(): Promise<T> => new Promise(() => {})

/** Yields one prompt, and then neither another nor an end. */
function silentPrompts(first: readonly MessageContent[] = ['one']) {
  let wasReturned = false
  let at = 0
  const prompts: AsyncIterable<MessageContent> = {
    [Symbol.asyncIterator]: () => ({
      next: () => {
        const value = first[at++]
        return value === undefined ? never() : Promise.resolve({ done: false, value })
      },
      return: () => {
        wasReturned = true
        return never()
      },
    }),
  }
  return { prompts, wasReturned: () => wasReturned }
}

/** Reads to the end, and returns the kinds of the messages. */
function readKinds(messages: AsyncIterable<{ readonly type: string }>) {
  const types: string[] = []
  const end = (async () => {
    for await (const { type } of messages) types.push(type)
  })()
  return { types, end }
}

describe('a query whose next prompt never arrives', () => {
  test('is ended by its signal', async () => {
    const { prompts, wasReturned } = silentPrompts()
    const controller = new AbortController()
    const running = query({
      prompt: prompts,
      options: {
        clock: createFakeClock({ autoAdvance: true }),
        model: scriptedModel(['a']),
        signal: controller.signal,
      },
    })
    const { types, end } = readKinds(running)
    await tick()
    controller.abort()
    await end
    expect([types.at(-1), wasReturned()]).toEqual(['result', true])
  })

  test('is ended by an interruption, which also ends the wait for a first prompt', async () => {
    for (const [first, last] of [
      [['one'], 'result'],
      [[], undefined],
    ] as const) {
      const { prompts, wasReturned } = silentPrompts(first)
      const running = query({
        prompt: prompts,
        options: { clock: createFakeClock({ autoAdvance: true }), model: scriptedModel(['a']) },
      })
      const { types, end } = readKinds(running)
      await tick()
      running.interrupt()
      await end
      expect([types.at(-1), wasReturned()]).toEqual([last, true])
    }
  })

  test('is ended by return(), and by throw()', async () => {
    const returned = query({
      prompt: silentPrompts([]).prompts,
      options: { clock: createFakeClock({ autoAdvance: true }), model: scriptedModel([]) },
    })
    const pending = returned.next()
    await tick()
    expect(await returned.return()).toEqual({ done: true, value: undefined })
    expect(await pending).toEqual({ done: true, value: undefined })
    const thrown = query({
      prompt: silentPrompts([]).prompts,
      options: { clock: createFakeClock({ autoAdvance: true }), model: scriptedModel([]) },
    })
    const other = thrown.next()
    await tick()
    await expect(thrown.throw(new Error('enough'))).rejects.toThrow('enough')
    expect(await other).toEqual({ done: true, value: undefined })
  })

  test('interrupts the current run, and not the query', async () => {
    const prompts = ['one', 'two']
    const model = scriptedModel([{ hang: true }, 'b'])
    const running = query({
      prompt: (async function* () {
        yield* prompts
      })(),
      options: { clock: createFakeClock({ autoAdvance: true }), model },
    })
    const results: unknown[] = []
    for await (const message of running) {
      if (message.type === 'system' && message.subtype === 'init' && results.length === 0)
        void tick().then(() => running.interrupt())
      if (message.type === 'result') results.push(message.terminal_reason)
    }
    expect(results).toEqual(['aborted_streaming', 'completed'])
  })

  test('accepts plain lists of prompts, and their promises, too', async () => {
    const model = scriptedModel(['a', 'b'])
    const prompts = new Set(['one', Promise.resolve('two')]) as unknown as AsyncIterable<MessageContent>
    const { types, end } = readKinds(
      query({ prompt: prompts, options: { clock: createFakeClock({ autoAdvance: true }), model } }),
    )
    await end
    expect(types.filter((type) => type === 'result')).toHaveLength(2)
  })

  test('fails when its prompts fail', async () => {
    const prompts: AsyncIterable<MessageContent> = {
      [Symbol.asyncIterator]: () => ({ next: () => Promise.reject(new Error('no more')) }),
    }
    await expect(
      readKinds(
        query({
          prompt: prompts,
          options: { clock: createFakeClock({ autoAdvance: true }), model: scriptedModel([]) },
        }),
      ).end,
    ).rejects.toThrow('no more')
  })
})

describe('a reader that leaves while it waits for a message', () => {
  test.each(['query', 'engine'] as const)('ends a run whose model never answers: %s', async (face) => {
    const options = { clock: createFakeClock({ autoAdvance: true }), model: scriptedModel([{ hang: true }]) }
    const asked = face === 'query' ? query({ prompt: 'go', options }) : undefined
    const engine = asked?.engine ?? new QueryEngine(options)
    const messages = asked ?? engine.submit('go')
    await messages.next()
    const pending = messages.next()
    await tick()
    expect(await messages.return()).toEqual({ done: true, value: undefined })
    // The pending request for a message gets one.
    expect(await pending).toMatchObject({ done: false, value: { type: expect.stringMatching(/user|result/) } })
    expect(engine.lastTerminal?.reason).toBe('abandoned')
  })

  test('ends an execution whose model never answers', async () => {
    const states = new Agent({
      clock: createFakeClock({ autoAdvance: true }),
      model: scriptedModel([{ hang: true }]),
    }).iterate(AgentState.empty().withUserMessage('go'))
    const pending = states.next()
    await tick()
    expect(await states.return()).toEqual({ done: true, value: undefined })
    expect((await pending).value?.stopReason()).toBeDefined()
  })

  test('leaves nothing behind when its prompt was never prepared', async () => {
    const image: ContentBlock = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'AAAA' } }
    const engine = new QueryEngine({
      clock: createFakeClock({ autoAdvance: true }),
      model: scriptedModel(['a']),
      prepareContent: () => never(),
    })
    const messages = engine.submit([image])
    const pending = messages.next()
    await tick()
    expect(await messages.return()).toEqual({ done: true, value: undefined })
    expect([await pending, engine.transcript.length]).toEqual([{ done: true, value: undefined }, 0])
  })
})
