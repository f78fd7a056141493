// Tests R-MEDIA-2a to R-MEDIA-7, R-MEDIA-11, R-ORD-1.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  replay,
  resume,
  Transcript,
  type ContentBlock,
  type RunOptions,
  type ModelMessage,
  type ModelRequest,
  type StartOptions,
  type TranscriptEntry,
} from '../../src/index.ts'
import { defaultMediaLimits } from '../../src/model/media/limits.ts'
import { mediaIn, type PlacedMedia } from '../../src/model/media/places.ts'
import { isTooMuch, mediaDropped, noMedia, plusMedia, type MediaTotals } from '../../src/model/media/too-much.ts'
import { createFakeClock, scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { ask } from '../support/engine.ts'
import { begin, calls, failures, json, reader, run, tool, type RunTestOptions } from '../support/harness.ts'
import { gifHead, imageOf, pdf, png, pngHead, tinyImage } from '../support/images.ts'
import { killedAfter } from '../support/kill-process.ts'

const hugeImage = imageOf(pngHead(9_000, 6_000))
const sentence = 'The image is 9000x6000 px; at most 8000x8000 are accepted. Make it smaller.'
const note = `[An image was removed here. ${sentence}]`
const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const removals = (entries: Iterable<TranscriptEntry>): readonly unknown[] =>
  [...entries].flatMap((entry) => (entry.kind === 'media_removed' ? [[entry.note, entry.at]] : []))
const mediaOf = (messages: readonly ModelMessage[]): readonly PlacedMedia[] =>
  messages.flatMap((message, index) => mediaIn(message, index))

const openContext: NonNullable<RunOptions['context']> = {
  autoCompact: false,
  beforeRequest: () => undefined,
  drain: () => undefined,
  compact: () => undefined,
  blockingLimit: () => Infinity,
}

describe('media from a person', () => {
  const prompt = [text('look'), hugeImage, tinyImage]

  test('ends the run as image_error before any request, with the problem; the next run over the session continues', async () => {
    const ended = await run(['never'], {}, { prompt })
    const { terminal, model, state } = ended
    expect([terminal.reason, terminal.signal.message, terminal.signal.source, model.requests.length]).toEqual([
      'image_error',
      sentence,
      'media',
      0,
    ])
    expect(terminal.error?.code).toBe('image')
    expect(failures(ended)).toEqual([['invalid_request', sentence]])
    expect(removals(state.transcript)).toEqual([[note, [[0, 1]]]])
    const next = await run(['a dot'], {}, { prompt: 'and the other?', transcript: state.transcript })
    expect(next.terminal.reason).toBe('completed')
    expect(next.model.requests[0]?.messages).toEqual([
      { role: 'user', content: [text('look'), text(note), tinyImage] },
      { role: 'user', content: 'and the other?' },
    ])
  })

  test('is also checked in a message that steers', async () => {
    const going = begin((_request, index) => (index === 0 ? calls('Look') : 'never'), {
      tools: [reader('Look', () => (going.loop.steer([hugeImage]), 'seen'))],
    })
    const { terminal, model } = await going.end()
    expect([terminal.reason, terminal.signal.message, model.requests.length]).toEqual(['image_error', sentence, 1])
  })

  test('reports every problem once', async () => {
    const document = {
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf(101).toString('base64') },
    } as const
    const { terminal, state } = await run(['never'], {}, { prompt: [hugeImage, document, hugeImage] })
    const pages = 'The PDF has 101 pages; at most 100 are accepted. Send a part of it.'
    expect(terminal.signal.message).toBe(`${sentence} ${pages}`)
    expect(removals(state.transcript)).toEqual([
      [
        note,
        [
          [0, 0],
          [0, 2],
        ],
      ],
      [`[A document was removed here. ${pages}]`, [[0, 1]]],
    ])
  })

  test('has its type corrected when its bytes show another', async () => {
    const { model } = await run(['a dot'], {}, { prompt: [imageOf(png(1, 1), 'image/jpeg')] })
    expect(model.requests[0]?.messages).toEqual([{ role: 'user', content: [tinyImage] }])
  })

  test('is checked against the limits of the options first', async () => {
    const { terminal } = await run(['a wall'], { mediaLimits: { imageSidePx: 9_000 } }, { prompt })
    expect(terminal.reason).toBe('completed')
    for (const mediaLimits of [{ imageSidePx: '1' }, { imageSides: 1 }, { advice: 1 }, { imageTypes: [1] }, 1]) {
      const runOptions = { mediaLimits } as unknown as RunTestOptions
      expect(() => begin([], runOptions)).toThrow(/mediaLimits/)
    }
  })

  test('ends a query with a result that reports it', async () => {
    const { result } = await ask(['never'], {
      transcript: Transcript.of([
        { kind: 'user', id: 'a', message: { role: 'user', content: [hugeImage] }, origin: 'prompt' },
      ]),
    })
    // It is from before this run: it is removed, and the run continues.
    expect(result.subtype).toBe('success')
  })
})

describe('media from a tool', () => {
  const camera = (content: readonly ContentBlock[]) => tool('Look', () => ({ content }), { readOnly: true })

  test('is replaced by a note, and the run continues', async () => {
    const script = [calls('Look'), 'a wall']
    const { terminal, model, state } = await run(script, { tools: [camera([text('here'), hugeImage, tinyImage])] })
    expect([terminal.reason, model.requests.length]).toEqual(['completed', 2])
    expect(removals(state.transcript)).toEqual([[note, [[2, 0, 1]]]])
    expect(model.requests[1]?.messages[2]).toEqual({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'call_0_0', content: [text('here'), text(note), tinyImage] }],
    })
    expect(model.requests[1]?.messages[0]).toBe(model.requests[0]?.messages[0])
  })

  test('is also checked before a last answer', async () => {
    const options = { tools: [camera([hugeImage])], maxTurns: 1, wrapUp: true }
    const { terminal, model } = await run([calls('Look'), 'the last'], options)
    expect([terminal.reason, model.requests.length]).toEqual(['max_turns', 2])
    expect(mediaOf(model.requests[1]?.messages ?? [])).toEqual([])
  })

  test('is checked once: a valid old one is not read again', async () => {
    let reads = 0
    const data = png(1, 1).toString('base64')
    const watched = Object.freeze({
      type: 'image',
      source: {
        type: 'base64',
        media_type: 'image/png',
        get data() {
          reads++
          return data
        },
      },
    })
    const entry = { kind: 'user', id: 'a', message: { role: 'user', content: [watched] }, origin: 'prompt' } as const
    const transcript = Transcript.of([entry])
    const readsAt: number[] = []
    const script = (_request: unknown, index: number): ScriptedReply => {
      readsAt.push(reads)
      return index < 6 ? calls('Look') : 'end'
    }
    const { terminal } = await run(script, { tools: [reader('Look')] }, { prompt: 'go on', transcript })
    expect([terminal.reason, readsAt.length, new Set(readsAt.slice(1)).size]).toEqual(['completed', 7, 1])
  })
})

test('does not fill the window by its bytes, also inside a result', async () => {
  const photo = imageOf(Buffer.concat([png(1, 1), Buffer.alloc(2_000_000)]))
  const data = Buffer.concat([pdf(3), Buffer.alloc(2_000_000)]).toString('base64')
  const document: ContentBlock = { type: 'document', source: { type: 'base64', media_type: 'application/pdf', data } }
  const estimates: number[] = []
  const context: RunOptions['context'] = {
    ...openContext,
    beforeRequest: ({ estimatedTokens }) => void estimates.push(estimatedTokens),
  }
  const look = tool('Look', () => ({ content: [photo, document] }), { readOnly: true })
  const script = ({ messages }: ModelRequest): ScriptedReply => (messages.length < 3 ? calls('Look') : 'end')
  const { terminal } = await run(script, { tools: [look], context }, { prompt: [photo] })
  expect(terminal.reason).toBe('completed')
  // An image has 1,600, a page 3,000, plus a few for their frames. The model has counted the prompt by then: as nothing.
  expect(estimates.map((tokens) => Math.floor(tokens / 100))).toEqual([16, (1_600 + 9_000) / 100])
})

describe('the media of a request', () => {
  const small = imageOf(pngHead(10, 10))
  const large = imageOf(pngHead(2_001, 10))
  const session = (media: readonly ContentBlock[]): Transcript =>
    Transcript.of(
      media.flatMap((block, index): TranscriptEntry[] => [
        {
          kind: 'user',
          id: `u${index}`,
          message: { role: 'user', content: [text(`${index}`), block] },
          origin: 'prompt',
        },
      ]),
    )
  const sendMedia = async (media: readonly ContentBlock[], overrides: RunTestOptions = {}) => {
    const { terminal, model, state } = await run(['ok'], overrides, { prompt: 'go', transcript: session(media) })
    expect(terminal.reason).toBe('completed')
    const messages = model.requests[0]?.messages ?? []
    return {
      keptPlaces: mediaOf(messages).map(({ at: [index] }) => index),
      messages,
      notes: removals(state.transcript),
    }
  }
  const times = <T>(count: number, of: T): readonly T[] => Array.from({ length: count }, () => of)
  const range = (from: number, to: number): readonly number[] => Array.from({ length: to - from }, (_, at) => from + at)

  test('are unchanged for 100 images; of 101 the newest 50 stay', async () => {
    expect((await sendMedia(times(100, small))).keptPlaces).toEqual(range(0, 100))
    const { keptPlaces, messages, notes } = await sendMedia(times(101, small))
    expect(keptPlaces).toEqual(range(51, 101))
    const notice = '[An older image or document was removed here: a request takes at most 100 images.]'
    expect(notes).toEqual([[notice, range(0, 51).map((index) => [index, 1])]])
    expect(messages[0]).toEqual({ role: 'user', content: [text('0'), text(notice)] })
  })

  test('lose old large images when there are more than 20, and others only when the newest are large', async () => {
    expect((await sendMedia([...times(20, large)])).keptPlaces).toEqual(range(0, 20))
    expect((await sendMedia([large, ...times(20, small)])).keptPlaces).toEqual(range(1, 21))
    expect((await sendMedia([...times(25, small), large])).keptPlaces).toEqual(range(16, 26))
    expect((await sendMedia(times(30, large))).keptPlaces).toEqual(range(20, 30))
  })

  test('have a total size, and a total number of PDF pages', async () => {
    const part = imageOf(Buffer.concat([pngHead(9, 9), Buffer.alloc(700)]))
    const bytes = part.source.data?.length ?? 0
    const limits = { encodedBytes: bytes * 4 }
    expect((await sendMedia(times(4, part), { mediaLimits: limits })).keptPlaces).toEqual([0, 1, 2, 3])
    expect((await sendMedia(times(5, part), { mediaLimits: limits })).keptPlaces).toEqual([3, 4])
    const document = (pages: number): ContentBlock => ({
      type: 'document',
      source: { type: 'base64', media_type: 'application/pdf', data: pdf(pages).toString('base64') },
    })
    const documents = [small, document(60), small, document(30), document(20), small]
    expect((await sendMedia(documents, { context: openContext })).keptPlaces).toEqual([0, 2, 3, 4, 5])
  })

  test('do not change what stays for the next ones once half is gone', async () => {
    const camera = tool('Look', () => ({ content: [small] }), { readOnly: true })
    const script = (_request: unknown, index: number): ScriptedReply => (index < 49 ? calls('Look') : 'end')
    const runOptions = { tools: [camera] }
    const { model, state } = await run(script, runOptions, { prompt: 'go', transcript: session(times(101, small)) })
    expect(removals(state.transcript)).toHaveLength(1)
    expect(mediaOf(model.requests.at(-1)?.messages ?? [])).toHaveLength(99)
    // The earlier part is the same object from request to request, which caches depend on.
    const [first, last] = [model.requests[0]?.messages ?? [], model.requests.at(-1)?.messages ?? []]
    expect(first.every((message, index) => message === last[index])).toBe(true)
  })

  test('pass no limit, keep the newest, and lose nothing without need', () => {
    const limits = { ...defaultMediaLimits, images: 8, manyImages: 4, encodedBytes: 4_000, pdfPages: 12 }
    const block = fc.oneof(
      fc.constant(small),
      fc.constant(large),
      fc.constant(imageOf(Buffer.concat([pngHead(9, 9), Buffer.alloc(900)]))),
      fc.integer({ min: 1, max: 12 }).map((pages): PlacedMedia['block'] => ({
        type: 'document',
        source: { type: 'base64', media_type: 'application/pdf', data: pdf(pages).toString('base64') },
      })),
    )
    const totalsOf = (media: readonly PlacedMedia[]): MediaTotals =>
      media.reduce((totals, { block: one }) => plusMedia(totals, one, limits), noMedia)
    fc.assert(
      fc.property(fc.array(block, { maxLength: 20 }), (blocks) => {
        const media = blocks.map((one, index) => ({ at: [index, 0], block: one }))
        const dropped = mediaDropped(media, limits).flatMap(({ at }) => at.map(([index]) => index))
        const keptMedia = media.filter((_one, index) => !dropped.includes(index))
        expect(isTooMuch(totalsOf(keptMedia), limits)).toBe(false)
        expect(new Set(dropped).size).toBe(dropped.length)
        expect(keptMedia.at(-1)).toBe(media.at(-1))
        expect(dropped.length > 0).toBe(isTooMuch(totalsOf(media), limits))
      }),
    )
  })
})

/** The scripted model numbers its replies anew. */
const withoutServiceId = (entry: TranscriptEntry): unknown =>
  entry.kind === 'assistant' ? { ...entry, message: { ...entry.message, id: '' } } : entry

describe('a kill between any two records', () => {
  const camera = tool('Look', () => ({ content: [imageOf(gifHead(9_001, 5), 'image/gif'), tinyImage] }), {
    readOnly: true,
  })
  const script = ({ messages }: ModelRequest): ScriptedReply => (messages.length < 3 ? calls('Look') : 'end')
  const optionsOf = (): RunOptions & { readonly model: ReturnType<typeof scriptedModel> } => ({
    model: scriptedModel(script),
    tools: [camera],
    clock: createFakeClock({ autoAdvance: true }),
  })

  test.each<[string, StartOptions]>([
    ['media from a tool', { prompt: 'go' }],
    ['media from a person', { prompt: [hugeImage] }],
  ])('has the same effect on %s, whatever limits the resuming program has', async (_name, start) => {
    const completeRun = await run(script, { tools: [camera] }, start)
    expect(removals(completeRun.state.transcript)).toHaveLength(1)
    const records = completeRun.steps.records
    for (let count = 1; count < records.length; count++) {
      const left = await killedAfter(count, optionsOf(), start)
      const resumed = resume(left, optionsOf())
      const { terminal, state } = await resumed.loop.ended
      expect([count, terminal.reason]).toEqual([count, completeRun.terminal.reason])
      expect([...state.transcript].map(withoutServiceId)).toEqual(
        [...completeRun.state.transcript].map(withoutServiceId),
      )
      // A recorded note stays; none is made for a recorded request.
      const wide = { ...optionsOf(), mediaLimits: { imageSidePx: 10_000 } }
      const isRemoved = left.some(
        (record) => 'key' in record && record.type === 'result' && record.key.includes('media:'),
      )
      const later = await resume(left, wide).loop.ended
      expect([count, removals(later.state.transcript).length]).toEqual([count, isRemoved ? 1 : 0])
    }
    const replayed = await replay(json(records) as never, optionsOf())
    expect(replayed.terminal.reason).toBe(completeRun.terminal.reason)
  })

  test('removes nothing from a recorded request when the program has narrower limits', async () => {
    const large = tool('Look', () => ({ content: [imageOf(pngHead(500, 5))] }), { readOnly: true })
    const options = { ...optionsOf(), tools: [large] }
    const left = await killedAfter(1_000, options)
    const isSecond = (record: (typeof left)[number]): boolean => 'key' in record && record.key.endsWith('model:2.1')
    const cut = left.slice(0, left.findLastIndex(isSecond) + 1)
    expect(cut.length).toBeGreaterThan(1)
    const narrow = { ...options, model: scriptedModel([]), mediaLimits: { imageSidePx: 100 } }
    const { terminal, state } = await resume(cut, narrow).loop.ended
    expect([terminal.reason, removals(state.transcript)]).toEqual(['completed', []])
  })
})
