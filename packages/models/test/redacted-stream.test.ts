// Spec R-SECRET-6b: keys of this program in text that arrives in pieces.
import type { Model } from '@halting/core'
import type { ModelUpdate } from '@halting/core/adapters'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { noteKeyInUse } from '../src/service/known-keys.ts'
import { createTextRedactor, withRedactedStream } from '../src/service/redacted-stream.ts'

const key = 'sk-ant-abcdefgh0123456789'

describe('a text in chunks', () => {
  const letter = fc.constantFrom('a', 'b', 'c')
  const form = fc.string({ unit: letter, minLength: 1, maxLength: 5 })
  const cases = fc.record({
    forms: fc.array(form, { maxLength: 4 }),
    text: fc.string({ unit: letter, maxLength: 40 }),
    cuts: fc.array(fc.nat(40), { maxLength: 10 }),
  })

  function inPieces(text: string, forms: readonly string[], cuts: readonly number[]): string {
    const redactor = createTextRedactor(() => forms)
    const places = [0, ...cuts.filter((cut) => cut < text.length).toSorted((one, other) => one - other), text.length]
    const pieces = places.slice(1).map((end, at) => text.slice(places[at], end))
    return pieces.map((piece) => redactor.push(piece)).join('') + redactor.end()
  }

  test('yields the same text however it is split, without any form of a key, and is unchanged if it contains none', () => {
    fc.assert(
      fc.property(cases, ({ forms: drawn, text, cuts }) => {
        const forms = drawn.toSorted((one, other) => other.length - one.length)
        const shown = inPieces(text, forms, cuts)
        expect(shown).toBe(inPieces(text, forms, []))
        for (const part of shown.split('[REDACTED]')) for (const one of forms) expect(part).not.toContain(one)
        const isFree = !forms.some((one) => text.includes(one))
        expect(shown === text || !isFree).toBe(true)
      }),
    )
  })

  test('holds back only a possible beginning of a key', () => {
    const redactor = createTextRedactor(() => [key])
    expect([redactor.push('Hello, '), redactor.push('sk-an'), redactor.push('swer')]).toEqual([
      'Hello, ',
      '',
      'sk-answer',
    ])
  })

  test('takes linear time', () => {
    const began = performance.now()
    const redactor = createTextRedactor(() => [key, 'ssss'])
    redactor.push('s k-'.repeat(250_000))
    expect(performance.now() - began).toBeLessThan(3_000)
  })
})

/** A model whose reply consists of these updates. */
function modelOf(updates: readonly ModelUpdate[]): Model {
  return {
    id: 'm',
    contextWindow: 1,
    maxOutputTokens: 1,
    async call(_request, options) {
      for (const update of updates) options.emit(update)
      // Nothing here reads the result.
      return {} as Awaited<ReturnType<Model['call']>>
    },
  }
}

async function emittedBy(updates: readonly ModelUpdate[]): Promise<readonly ModelUpdate[]> {
  const seen: ModelUpdate[] = []
  const model = withRedactedStream(modelOf(updates), { ANTHROPIC_API_KEY: key })
  const request = {} as Parameters<Model['call']>[0]
  await model.call(request, { signal: new AbortController().signal, emit: (update) => void seen.push(update) })
  return seen
}

const [start, end] = [key.slice(0, 9), key.slice(9)]

test('does not report a key that is split in two, in text, thinking and service events', async () => {
  const delta = (type: string, field: string, text: string): ModelUpdate => ({
    type: 'api_event',
    event: { type: 'content_block_delta', index: 0, delta: { type, [field]: text } },
  })
  const stop: ModelUpdate = { type: 'api_event', event: { type: 'content_block_stop', index: 0 } }
  const block: ModelUpdate = { type: 'block', index: 0, block: { type: 'text', text: key }, messageId: 'm' }
  const shown = await emittedBy([
    { type: 'text_delta', index: 0, text: `It is ${start}` },
    delta('text_delta', 'text', `It is ${start}`),
    { type: 'text_delta', index: 0, text: end },
    delta('text_delta', 'text', end),
    { type: 'thinking_delta', index: 1, text: start },
    { type: 'thinking_delta', index: 1, text: `${end}.` },
    delta('input_json_delta', 'partial_json', `{"a":"${start}`),
    delta('input_json_delta', 'partial_json', `${end}"}`),
    delta('text_delta', 'text', ' sk-'),
    { type: 'text_delta', index: 0, text: ' sk-' },
    stop,
    block,
  ])
  expect(shown).toEqual([
    { type: 'text_delta', index: 0, text: 'It is ' },
    delta('text_delta', 'text', 'It is '),
    { type: 'text_delta', index: 0, text: '[REDACTED]' },
    delta('text_delta', 'text', '[REDACTED]'),
    { type: 'thinking_delta', index: 1, text: '[REDACTED].' },
    delta('input_json_delta', 'partial_json', '{"a":"'),
    delta('input_json_delta', 'partial_json', '[REDACTED]"}'),
    delta('text_delta', 'text', ' '),
    { type: 'text_delta', index: 0, text: ' ' },
    // The held-back text comes before the end of its block.
    delta('text_delta', 'text', 'sk-'),
    stop,
    { type: 'text_delta', index: 0, text: 'sk-' },
    block,
  ])
})

test('reports an update without a beginning of a key as the same object (R-FAST-5)', async () => {
  const event = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello. ' } }
  const updates: readonly ModelUpdate[] = [
    { type: 'api_event', event },
    { type: 'text_delta', index: 0, text: 'Hello. ' },
    { type: 'thinking_delta', index: 1, text: 'skies, tasks.' },
  ]
  const shown = await emittedBy(updates)
  expect(shown.map((update, index) => update === updates[index])).toEqual([true, true, true])
})

test('reports held-back text with the other fields of the last update', async () => {
  const delta = (text: string, more: number): ModelUpdate => ({
    type: 'api_event',
    event: { type: 'content_block_delta', index: 0, more, delta: { type: 'text_delta', text, more } },
  })
  // This end is not the start of any key in use, including those of other tests in the process.
  expect(await emittedBy([delta('Hello.', 1), delta(' sk-', 2)])).toEqual([
    delta('Hello.', 1),
    delta(' ', 2),
    delta('sk-', 2),
  ])
})

test('reports the rest when the reply ends, and a model without admit has none', async () => {
  expect(await emittedBy([{ type: 'text_delta', index: 0, text: 'sk-' }])).toEqual([
    { type: 'text_delta', index: 0, text: 'sk-' },
  ])
  expect(withRedactedStream(modelOf([]), {})).not.toHaveProperty('admit')
})

test('redacts a queued request, too', async () => {
  const model = modelOf([
    { type: 'text_delta', index: 0, text: start },
    { type: 'text_delta', index: 0, text: end },
  ])
  let left = 0
  const admitting: Model = { ...model, admit: async () => ({ call: model.call.bind(model), leave: () => void left++ }) }
  const signal = new AbortController().signal
  const admission = await withRedactedStream(admitting, { ANTHROPIC_API_KEY: key }).admit?.({ tokens: 1, signal })
  const seen: ModelUpdate[] = []
  await admission?.call({} as Parameters<Model['call']>[0], { signal, emit: (update) => void seen.push(update) })
  admission?.leave()
  expect([seen, left]).toEqual([[{ type: 'text_delta', index: 0, text: '[REDACTED]' }], 1])
})

test('redacts a key that is first known with the first request, such as that of a key helper', async () => {
  const late = 'helper-key-0123456789abcdef'
  const seen: ModelUpdate[] = []
  const model = withRedactedStream(
    {
      ...modelOf([]),
      async call(_request, options) {
        noteKeyInUse(late)
        options.emit({ type: 'text_delta', index: 0, text: `It is ${late.slice(0, 9)}` })
        options.emit({ type: 'text_delta', index: 0, text: `${late.slice(9)}.` })
        // Nothing here reads the result.
        return {} as Awaited<ReturnType<Model['call']>>
      },
    },
    {},
  )
  const request = {} as Parameters<Model['call']>[0]
  await model.call(request, { signal: new AbortController().signal, emit: (update) => void seen.push(update) })
  const texts = seen.map((update) => (update.type === 'text_delta' ? update.text : ''))
  expect(texts.join('')).toBe('It is [REDACTED].')
})

test('passes on the description of a model that is a class unchanged', () => {
  class Getters implements Model {
    readonly id = 'getters'
    readonly contextWindow = 9_000
    get maxOutputTokens(): number {
      return 4_000
    }
    get maxImageTokens(): number {
      return 5
    }
    async call(): Promise<never> {
      throw new Error('never asked')
    }
  }
  const said = { id: 'getters', contextWindow: 9_000, maxOutputTokens: 4_000, maxImageTokens: 5 }
  expect(withRedactedStream(new Getters(), {})).toMatchObject(said)
})
