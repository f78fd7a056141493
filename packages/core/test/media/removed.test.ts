// Tests R-MEDIA-8 to R-MEDIA-10, R-REQ-9.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Transcript, type ContentBlock, type ModelMessage, type TranscriptEntry } from '../../src/index.ts'
import { namedMedia, containsMedia, mediaIn, withoutMedia } from '../../src/model/media/places.ts'
import { scriptedModel, type ScriptedReply } from '../../src/testing/index.ts'
import { calls, json, reader, run, tool } from '../support/harness.ts'
import { tinyImage as image } from '../support/images.ts'

const text = (words: string): ContentBlock => ({ type: 'text', text: words })
const result = (content: readonly ContentBlock[], id = 't'): ContentBlock => ({
  type: 'tool_result',
  tool_use_id: id,
  content,
})
const user = (content: readonly ContentBlock[]): ModelMessage => ({ role: 'user', content })

describe('an entry that names removed media', () => {
  const entries: TranscriptEntry[] = [
    { kind: 'user', id: 'a', message: { role: 'user', content: [image, text('x'), image] }, origin: 'prompt' },
    { kind: 'user', id: 'b', message: { role: 'user', content: [result([image, image])] }, origin: 'hook' },
    {
      kind: 'media_removed',
      id: 'm',
      note: 'gone',
      at: [
        [0, 2],
        [1, 0, 1],
      ],
    },
  ]

  test('puts the note there only; the rest stays the same object', () => {
    const transcript = Transcript.of(entries)
    const before = Transcript.of(entries.slice(0, 2)).messages()
    const after = transcript.messages()
    expect(after).toEqual([user([image, text('x'), text('gone')]), user([result([image, text('gone')])])])
    const content = (messages: readonly ModelMessage[], index: number): readonly unknown[] => [
      ...((messages[index]?.content ?? []) as readonly unknown[]),
    ]
    expect(content(after, 0)[0]).toBe(content(before, 0)[0])
    const one = withoutMedia(before, 'gone', [[1, 0, 0]])
    expect(one[0]).toBe(before[0])
    expect(before).toEqual([entries[0], entries[1]].map((entry) => entry?.kind === 'user' && entry.message))
  })

  test('is read back from storage; an invalid position is rejected', () => {
    expect(Transcript.fromJSON(json(entries)).messages()).toEqual(Transcript.of(entries).messages())
    const [, , removed] = entries
    expect(() => Transcript.fromJSON([{ ...removed, at: [0] }])).toThrow(
      'transcript[0].at[0]'.replace('transcript', ''),
    )
    expect(() => Transcript.fromJSON([{ ...removed, at: [['x']] }])).toThrow('at[0][0] must be a number')
    expect(() => Transcript.fromJSON([{ ...removed, at: undefined }])).not.toThrow()
  })

  test('changes only images and documents, whatever it names', () => {
    const messages = Transcript.of(entries.slice(0, 2)).messages()
    const place = fc.array(fc.integer({ min: -2, max: 4 }), { maxLength: 4 })
    fc.assert(
      fc.property(fc.array(place, { maxLength: 6 }), (at) => {
        const changed = withoutMedia(messages, 'gone', at)
        expect(changed).toHaveLength(messages.length)
        const blocks = (all: readonly ModelMessage[]): unknown[] =>
          all
            .flatMap(({ content }) => [...(content as readonly ContentBlock[])])
            .flatMap((block) => {
              const { content } = block as { content?: readonly unknown[] }
              return content === undefined ? [block] : [...content]
            })
        for (const [index, block] of blocks(changed).entries())
          expect([blocks(messages)[index], text('gone')]).toContainEqual(block)
        expect(changed.map((message) => containsMedia(message)).length).toBe(2)
      }),
    )
  })
})

describe('the position that a refusal names', () => {
  const conversation: readonly ModelMessage[] = [
    { role: 'user', content: 'hello' },
    user([text(' '), image, text('x')]),
    { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'T', input: {} }] },
    user([result([text('r'), image])]),
    user([image]),
  ]

  test.each([
    ['messages.0.content.1.image.source.base64: image exceeds 5 MB maximum', [1, 1]],
    ['messages.2.content.0.tool_result.content.1.image.source.base64.data: too large', [3, 0, 1]],
    ['messages.2.content.1.image.source: image exceeds', [4, 0]],
    ['messages.0.content.2.image.source: there is text', undefined],
    ['messages.2.content.0.image.source: a result', undefined],
    ['messages.9.content.0.image.source: nothing', undefined],
    ['messages.2.content.0.tool_result.content.7.image: nothing', undefined],
    ['Could not process image', undefined],
  ])('%s', (refusal, at) => {
    expect(namedMedia(refusal, conversation)).toEqual(at)
  })

  test('is parsed from any text, and found only where there is media', () => {
    fc.assert(
      fc.property(fc.string(), fc.nat(9), fc.nat(9), (words, turn, place) => {
        for (const refusal of [words, `${words} messages.${turn}.content.${place}.image ${words}`]) {
          const at = namedMedia(refusal, conversation)
          const places = conversation.flatMap((message, index) => mediaIn(message, index)).map((one) => one.at)
          expect([...places, undefined]).toContainEqual(at)
        }
      }),
    )
  })
})

describe('an image that the service refuses', () => {
  const refusal = (message: string): ScriptedReply => ({ error: { kind: 'image', message, status: 400 } })
  const named = 'messages.0.content.1.image.source.base64: image exceeds 5 MB maximum'
  const prompt = [image, image, text('what is this?')]
  const notice = text(`[An image was removed here: the service rejected it (${named}).]`)

  test('is removed alone when the refusal names it', async () => {
    const { terminal, model } = await run([refusal(named), 'a dot'], {}, { prompt })
    expect(terminal.reason).toBe('completed')
    expect(model.requests[1]?.messages).toEqual([user([image, notice, text('what is this?')])])
  })

  test('ends the run with all images removed when one is named again, so that the next run continues', async () => {
    const { terminal, state, transitions } = await run(() => refusal(named), {}, { prompt })
    expect([terminal.reason, transitions]).toEqual(['image_error', ['media_recovery']])
    expect(state.transcript.messages().some(containsMedia)).toBe(false)
  })

  test('does not end a later run of the session when there were too many', async () => {
    const most = 3
    const count = (messages: readonly ModelMessage[]): number =>
      messages.flatMap((message, index) => mediaIn(message, index)).length
    let transcript = Transcript.empty()
    for (let turn = 0; turn < 12; turn++) {
      const model = scriptedModel(({ messages }, index) => {
        if (count(messages) > most) return refusal('too many images')
        return index === 0 && turn % 2 === 0 ? calls('Look') : 'seen'
      })
      const camera = tool('Look', () => ({ content: [image] }), { readOnly: true })
      const runOptions = { model, tools: [camera, reader('Other')] }
      const { terminal, state } = await run([], runOptions, { prompt: [image, text(`${turn}`)], transcript })
      expect([turn, terminal.reason]).toEqual([turn, 'completed'])
      ;({ transcript } = state)
    }
  })
})
