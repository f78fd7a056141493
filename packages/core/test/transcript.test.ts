// Tests R-CTX-5, R-REQ-9, R-TOOL-1.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { project } from '../src/conversation/transcript.ts'
import { Transcript, type ContentBlock, type ModelMessage, type TranscriptEntry } from '../src/index.ts'
import { transcriptProblems } from '../src/testing/index.ts'

const noUsage = { input_tokens: 0, output_tokens: 0, cache_creation_input_tokens: 0, cache_read_input_tokens: 0 }
const user = (id: string, content: string | readonly ContentBlock[] = id): TranscriptEntry => ({
  kind: 'user',
  id,
  message: { role: 'user', content },
  origin: 'prompt',
})
const assistant = (
  id: string,
  content: readonly ContentBlock[] = [{ type: 'text', text: id }],
  more = {},
): TranscriptEntry => ({
  kind: 'assistant',
  id,
  message: { role: 'assistant', id, model: 'm', content, stop_reason: 'end_turn', usage: noUsage },
  ...more,
})
const boundary = (id: string, messages: readonly ModelMessage[]): TranscriptEntry => ({
  kind: 'compact_boundary',
  id,
  messages,
  trigger: 'auto',
  preTokens: 9,
  postTokens: 1,
})
const ids = (transcript: Transcript) => Array.from(transcript, ({ id }) => id)

describe('a transcript', () => {
  test('is append-only: a view never changes', () => {
    const empty = Transcript.empty()
    const one = empty.append(user('a'))
    const two = one.append(assistant('b'))
    expect([ids(empty), ids(one), ids(two)]).toEqual([[], ['a'], ['a', 'b']])
    expect([one.length, one.at(0)?.id, one.at(1), two.at(-1)?.id, two.at(-3), empty.at(-1)]).toEqual([
      1,
      'a',
      undefined,
      'b',
      undefined,
      undefined,
    ])
  })

  test('copies when it is appended to through an older view', () => {
    const one = Transcript.empty().append(user('a'))
    const left = one.append(user('left'))
    const right = one.append(user('right'))
    expect([ids(left), ids(right), ids(left.append(user('more'))), ids(right)]).toEqual([
      ['a', 'left'],
      ['a', 'right'],
      ['a', 'left', 'more'],
      ['a', 'right'],
    ])
  })

  test('keeps two lines separate: neither adds to the list that the other shows its model', () => {
    const shared = Transcript.of([user('a')])
    const [left, right] = [shared.fork(), shared.fork()]
    const projections = [left.messages(), right.messages(), shared.messages()]
    const [longLeft, longRight] = [left.append(user('left')), right.append(user('right'))]
    const contents = (list: readonly ModelMessage[]) => list.map(({ content }) => content)
    expect([contents(longLeft.messages()), contents(longRight.messages())]).toEqual([
      ['a', 'left'],
      ['a', 'right'],
    ])
    // Each line's own list grows with it; the shared one stays.
    expect(projections.map(contents)).toEqual([['a', 'left'], ['a', 'right'], ['a']])
    shared.append(user('b')).messages()
    expect(projections.map(contents)).toEqual([
      ['a', 'left'],
      ['a', 'right'],
      ['a', 'b'],
    ])
  })

  test('copies when foreign code appends to it, and the original line continues in place', () => {
    let line = Transcript.of([user('a')])
    const projection = line.messages()
    for (let turn = 0; turn < 3; turn++) {
      const theirs = line.copyOnAppend().append(user('stranger'))
      expect([theirs.at(-1)?.id, theirs.messages().length]).toEqual(['stranger', line.length + 1])
      line = line.append(user(`turn ${turn}`))
      expect(line.messages()).toBe(projection)
    }
    expect(ids(line)).toEqual(['a', 'turn 0', 'turn 1', 'turn 2'])
    expect(line.copyOnAppend().messages()).toBe(projection)
  })

  test('of 1,000 turns is projected once: every request is shown the same list, which grows', () => {
    let transcript = Transcript.empty().append(user('go')).fork()
    const projection = transcript.messages()
    for (let turn = 0; turn < 1_000; turn++) {
      transcript = transcript.append(assistant(`a${turn}`)).append(user(`u${turn}`))
      expect(transcript.messages()).toBe(projection)
    }
    expect(projection).toHaveLength(2_001)
  })

  test('returns the later entries as a separate list', () => {
    const two = Transcript.of([user('a'), user('b')])
    const since = two.since(1)
    two.append(user('c'))
    expect(since.map(({ id }) => id)).toEqual(['b'])
  })

  test('has a digest that distinguishes contents and order, and is the same for equal transcripts', () => {
    const of = (...entries: readonly TranscriptEntry[]) => Transcript.of(entries).digest()
    expect(of(user('a'), user('b'))).toBe(Transcript.empty().append(user('a')).append(user('b')).digest())
    expect(new Set([of(), of(user('a')), of(user('b')), of(user('a'), user('b')), of(user('b'), user('a'))]).size).toBe(
      5,
    )
    const fork = Transcript.of([user('a')])
    fork.append(user('b')).digest()
    expect(fork.append(user('c')).digest()).toBe(of(user('a'), user('c')))
  })

  test('is JSON of its entries', () => {
    expect(JSON.parse(JSON.stringify(Transcript.of([user('a')])))).toEqual([user('a')])
  })
})

describe('the projection for the model', () => {
  test('contains only messages: no attachments, no error messages of the loop, no empty text', () => {
    const entries: TranscriptEntry[] = [
      user('a'),
      assistant('b', [
        { type: 'text', text: '' },
        { type: 'text', text: 'b' },
      ]),
      assistant('empty', [{ type: 'text', text: '' }]),
      assistant('error', [{ type: 'text', text: 'failed' }], { error: 'overloaded' }),
      { kind: 'attachment', id: 'note', attachment: { type: 'informational', message: 'x' } },
      user('c'),
    ]
    expect(Transcript.of(entries).messages()).toEqual([
      { role: 'user', content: 'a' },
      { role: 'assistant', content: [{ type: 'text', text: 'b' }] },
      { role: 'user', content: 'c' },
    ])
  })

  test('contains the compaction in place of everything before it', () => {
    const summary: ModelMessage = { role: 'user', content: 'summary' }
    expect(Transcript.of([user('a'), assistant('b'), boundary('x', [summary]), user('c')]).messages()).toEqual([
      summary,
      { role: 'user', content: 'c' },
    ])
  })

  test('contains a note in place of every image, also inside results', () => {
    const image = { type: 'image', source: { type: 'base64' } } as const
    const entries: TranscriptEntry[] = [
      user('a', [image, { type: 'text', text: 'x' }]),
      assistant('b', [{ type: 'tool_use', id: 't', name: 'T', input: {} }]),
      user('c', [{ type: 'tool_result', tool_use_id: 't', content: [image] }]),
      { kind: 'media_removed', id: 'm', note: 'gone' },
      user('d', [image]),
    ]
    const note = { type: 'text', text: 'gone' }
    expect(Transcript.of(entries).messages()).toEqual([
      { role: 'user', content: [note, { type: 'text', text: 'x' }] },
      { role: 'assistant', content: [{ type: 'tool_use', id: 't', name: 'T', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: [note] }] },
      { role: 'user', content: [image] },
    ])
  })

  test('is the same step by step, at once, and in any view', () => {
    const entry = fc.oneof(
      fc.constantFrom(user('u'), assistant('a'), boundary('x', [{ role: 'user', content: 's' }])),
      fc.constant<TranscriptEntry>({ kind: 'media_removed', id: 'm', note: 'gone' }),
      fc
        .array(fc.array(fc.nat(3), { maxLength: 4 }), { maxLength: 3 })
        .map((at): TranscriptEntry => ({ kind: 'media_removed', id: 'm', note: 'gone', at })),
    )
    fc.assert(
      fc.property(
        fc.array(entry, { maxLength: 20 }),
        fc.array(fc.boolean(), { minLength: 20, maxLength: 20 }),
        (entries, asks) => {
          let transcript = Transcript.empty()
          const views: Transcript[] = []
          for (const [index, each] of entries.entries()) {
            transcript = transcript.append(each)
            views.push(transcript)
            if (asks[index] === true) transcript.messages()
          }
          for (const view of views) expect(view.messages()).toEqual(project([...view]))
        },
      ),
    )
  })
})

test('the validator detects what the API would refuse', () => {
  const use = (...names: string[]): ModelMessage => ({
    role: 'assistant',
    content: names.map((id) => ({ type: 'tool_use', id, name: 'T', input: {} })),
  })
  const answer = (...names: string[]): ModelMessage => ({
    role: 'user',
    content: names.map((id) => ({ type: 'tool_result', tool_use_id: id, content: 'x' })),
  })
  const holding = (block: unknown): ModelMessage => ({
    role: 'user',
    // Values that plain JavaScript code can put there.
    content: [{ type: 'tool_result', tool_use_id: 'a', content: [block as ContentBlock] }],
  })
  const hello: ModelMessage = { role: 'user', content: 'hello' }
  expect([
    transcriptProblems([]),
    transcriptProblems([use('a')]),
    transcriptProblems([hello, use('a'), hello]),
    transcriptProblems([hello, use('a', 'b'), answer('a')]),
    transcriptProblems([hello, use('a'), hello, answer('a')]),
    transcriptProblems([hello, answer('z')]),
    transcriptProblems([hello, use('a'), answer('a', 'a')]),
    transcriptProblems([hello, use('a', 'b'), answer('a'), answer('b'), hello]),
    transcriptProblems([hello, use('a', 'a'), answer('a')]),
    transcriptProblems([hello, use('a'), answer('a'), use('a'), answer('a')]),
    transcriptProblems([hello, use(''), answer('')]),
    ...[null, { type: 'text' }, { type: 'text', text: '' }, { type: 'image' }, { type: 'tool_use' }].map((block) =>
      transcriptProblems([hello, use('a'), holding(block)]),
    ),
    transcriptProblems([hello, use('a'), holding({ type: 'text', text: 'x' })]),
  ]).toEqual([
    ['the list is empty'],
    ['the first message is not from the user', 'the last message leaves a without a result'],
    ['message 2 (user) does not answer a'],
    ['message 2 (user) does not answer b'],
    ['message 2 (user) has a tool result after other blocks'],
    ['message 0 (user) has a tool result after other blocks', 'message 0 (user) answers z, but there is no such call'],
    ['message 2 (user) answers a twice'],
    [],
    ['message 1 (assistant) uses the call id a again'],
    ['message 3 (assistant) uses the call id a again'],
    ['message 1 (assistant) has a call without an id'],
    ...Array.from({ length: 5 }, () => ['message 2 (user) has a result with an invalid block']),
    [],
  ])
})
