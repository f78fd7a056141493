// How the events of the Responses API become a message: R-RESP-30 to R-RESP-41 of docs/spec.
import type { ContentBlock, JsonObject } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { ResponsesReader } from '../src/responses/responses-reader.ts'
import { requestOf } from './support/call.ts'
import {
  added,
  argumentsDelta,
  call,
  created,
  done,
  ended,
  message,
  readEvents,
  replyOfRead,
  textDelta,
  usage,
} from './support/responses-read.ts'

const api = 'responses'

function contentOf(...events: readonly JsonObject[]): readonly ContentBlock[] {
  return replyOfRead(readEvents(events)).message.content
}

/** The error of the stream, and the part of it that was kept. */
function brokenBy(...events: readonly JsonObject[]): unknown {
  const { end, assembled } = readEvents(events)
  return {
    why: end?.kind === 'violation' ? end.why : end?.kind,
    kept: 'message' in assembled && assembled.message.content,
  }
}

const text = (said: string, more: JsonObject = {}): JsonObject => ({ type: 'text', text: said, ...more })
const toolUse = (input: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id: 'call_1',
  name: 'read',
  input,
  ...more,
})

describe('identifies items by their index', () => {
  test('with deltas of several at once', () => {
    expect(
      contentOf(
        created,
        added(0, message('')),
        added(1, call('')),
        textDelta(0, 'Let me '),
        argumentsDelta(1, '{"path":'),
        textDelta(0, 'see.'),
        argumentsDelta(1, '"a"}'),
        done(1, call('{"path":"a"}')),
        done(0, message('Let me see.')),
        ended(),
      ),
      // The call started first: no piece of the text had arrived.
    ).toEqual([text('Let me see.'), toolUse({ path: 'a' })].toReversed())
  })

  test('without indexes: the newest of the type, and a new one after it is complete', () => {
    const anywhere = ({ output_index: _, ...event }: JsonObject): JsonObject => event
    expect(
      contentOf(
        ...[
          created,
          added(0, message('')),
          textDelta(0, 'One.'),
          done(0, message('One.')),
          added(0, call('')),
          argumentsDelta(0, '{}'),
          done(0, call('{}')),
          textDelta(0, 'Two.'),
          ended(),
        ].map(anywhere),
      ),
    ).toEqual([text('One.'), toolUse({}), text('Two.')])
  })

  test('and breaks the stream for an event of another type', () => {
    expect(brokenBy(created, added(0, message('')), argumentsDelta(0, '{}'))).toEqual({
      why: 'it had an event for an item of another kind',
      kept: false,
    })
  })

  test('and by their types and ids if all have the same index', () => {
    const events = [
      added(0, message('', { id: 'm1' })),
      textDelta(0, 'One.'),
      added(0, call('', { id: 'f1' })),
      argumentsDelta(0, '{}'),
      textDelta(0, ' Two.'),
      done(0, call('{}', { id: 'f1' })),
      done(0, message('One. Two.', { id: 'm1' })),
      added(0, call('', { id: 'f2', call_id: 'call_2' })),
      argumentsDelta(0, '{"a":1}'),
      done(0, call('{"a":1}', { id: 'f2', call_id: 'call_2' })),
      done(0, message('Three.', { id: 'm2' })),
    ]
    expect(contentOf(created, ...events, ended())).toEqual([
      text('One. Two.'),
      toolUse({}),
      toolUse({ a: 1 }, { id: 'call_2' }),
      text('Three.'),
    ])
  })

  test('and does not repeat a complete call, whatever its item is called', () => {
    const again = { id: 'f2', call_id: 'call_1' }
    const first = [created, added(0, call('', { id: 'f1' })), done(0, call('{}', { id: 'f1' }))]
    expect(contentOf(...first, done(0, call('{}', again)), ended())).toEqual([toolUse({})])
    expect(brokenBy(...first, added(0, call('', again)))).toMatchObject({ why: 'an item started twice' })
  })

  test('and breaks the stream if an item starts twice, or continues after its end', () => {
    const whole = [created, added(0, message('')), textDelta(0, 'One.'), done(0, message('One.'))]
    expect(brokenBy(created, added(0, message('')), added(0, message('')))).toMatchObject({
      why: 'an item started twice',
    })
    expect(brokenBy(created, done(0, message('One.')), added(0, message('')))).toMatchObject({
      why: 'an item started twice',
    })
    expect(brokenBy(...whole, textDelta(0, 'Two.'))).toEqual({
      why: 'it had more data for a completed item',
      kept: [text('One.')],
    })
    expect(contentOf(...whole, done(0, message('Another.')), ended())).toEqual([text('One.')])
  })
})

describe('never mixes the arguments of calls', () => {
  const anywhere = ({ output_index: _, ...event }: JsonObject): JsonObject => event
  const remove = (json: string): JsonObject => call(json, { call_id: 'call_2', name: 'remove' })
  const both = [created, anywhere(added(0, call(''))), anywhere(added(1, remove('')))]

  test('and identifies a call without an index by its id', () => {
    const ends = [anywhere(done(0, call('{"path":"a"}'))), anywhere(done(1, remove('{"path":"b"}')))]
    const calls = [toolUse({ path: 'a' }), toolUse({ path: 'b' }, { id: 'call_2', name: 'remove' })]
    expect(contentOf(...both, ...ends, ended())).toEqual(calls)
    expect(contentOf(...both, ...ends.toReversed(), ended())).toEqual(calls)
  })

  test('and breaks the stream for ambiguous deltas', () => {
    const pieces = ['{"path":"a"}', '{"path":"b"}'].map((json) => anywhere(argumentsDelta(0, json)))
    const whole = anywhere(done(0, call('{"path":"a"}')))
    expect(brokenBy(...both, ...pieces, whole, anywhere(done(1, remove('{"path":"b"}'))))).toMatchObject({
      why: 'the arguments of a call differ from the streamed ones',
    })
  })

  test('and breaks the stream if a call ends as another one', () => {
    const why = 'a call ended with another id or name'
    const begun = [created, added(0, call(''))]
    const another = call('{"path":"b"}', { call_id: 'call_2' })
    expect(brokenBy(...begun, done(0, remove('{"path":"b"}')))).toEqual({ why, kept: false })
    expect(brokenBy(...begun, anywhere(done(0, another)))).toEqual({ why, kept: false })
    expect(brokenBy(...begun, ended({ output: [remove('{"path":"b"}')] }))).toEqual({ why, kept: false })
    // Gateways replace ids.
    expect(contentOf(...begun, done(0, another), ended())).toEqual([toolUse({ path: 'b' })])
  })
})

describe('fills in what deltas omit', () => {
  test('from the end of a part, of the item, or of the response', () => {
    const part = { type: 'response.output_text.done', output_index: 0, content_index: 0, text: 'Let me see.' }
    const begun = [created, added(0, message('')), textDelta(0, 'Let ')]
    expect(contentOf(...begun, part, ended())).toEqual([text('Let me see.')])
    expect(contentOf(...begun, done(0, message('Let me see.')), ended())).toEqual([text('Let me see.')])
    expect(contentOf(...begun, ended({ output: [message('Let me see.')] }))).toEqual([text('Let me see.')])
    expect(contentOf(ended({ output: [message('Let me see.')] }))).toEqual([text('Let me see.')])
  })

  test('as emitted text, which equals the stored one', () => {
    const { updates } = readEvents([created, textDelta(0, 'Let '), done(0, message('Let me see.')), ended()])
    const texts = updates.flatMap((update) => (update.type === 'text_delta' ? [update.text] : []))
    expect(texts).toEqual(['Let ', 'me see.'])
  })

  test('by the final text after gaps', () => {
    expect(contentOf(created, textDelta(0, 'Let see.'), done(0, message('Let me see.')), ended())).toEqual([
      text('Let me see.'),
    ])
  })

  test('and breaks the stream after gaps in arguments, but accepts equivalent ones', () => {
    const begun = [created, added(0, call('')), argumentsDelta(0, '{"path": "a"}')]
    expect(contentOf(...begun, done(0, call('{"path":"a"}')), ended())).toEqual([
      toolUse({ path: 'a' }, { origin: { api, arguments: '{"path": "a"}' } }),
    ])
    const said = (json: string): JsonObject => ({
      type: 'response.function_call_arguments.done',
      output_index: 0,
      arguments: json,
    })
    expect(contentOf(...begun, said('{"path":"a"}'), done(0, call('{"path":"a"}')), ended())).toEqual([
      toolUse({ path: 'a' }, { origin: { api, arguments: '{"path": "a"}' } }),
    ])
    expect(brokenBy(...begun, done(0, call('{"path":"ab"}')))).toEqual({
      why: 'the arguments of a call differ from the streamed ones',
      kept: false,
    })
  })

  test('with items that only the end of the response has, each once', () => {
    const streamed = [created, added(1, call('')), argumentsDelta(1, '{}'), done(1, call('{}'))]
    const another = call('{"path":"b"}', { call_id: 'call_2' })
    expect(contentOf(...streamed, ended({ output: [message('So.'), call('{}'), another] }))).toEqual([
      toolUse({}),
      text('So.'),
      toolUse({ path: 'b' }, { id: 'call_2' }),
    ])
  })

  test('with a call of another id as a new one, whatever was streamed at its index', () => {
    const another = call('{"path":"b"}', { call_id: 'call_2' })
    expect(contentOf(created, done(0, call('{}')), ended({ output: [another, call('{}')] }))).toEqual([
      toolUse({}),
      toolUse({ path: 'b' }, { id: 'call_2' }),
    ])
  })

  test('but not with a response that is still being generated', () => {
    for (const status of ['in_progress', 'queued']) {
      const { response } = ended({ status, object: 'response', output: [call('{}')] })
      expect(readEvents([created, response as JsonObject]).assembled.kind).toBe('nothing')
      const reader = new ResponsesReader('m', requestOf(), () => {})
      expect(reader.takeWhole(response as JsonObject)).toBe(false)
      expect(reader.finish().kind).toBe('nothing')
    }
  })

  test('by order if the ids of calls change, without duplicates', () => {
    const streamed = [
      created,
      done(0, { type: 'reasoning', summary: [] }),
      done(1, call('{}')),
      done(2, message('So.')),
    ]
    const turned = call('{}', { call_id: 'call_9' })
    expect(contentOf(...streamed, ended({ output: [turned, message('So.')] }))).toEqual([toolUse({}), text('So.')])
  })

  test('from a response in an event without a type', () => {
    const { response } = ended({ output: [message('Yes.')], object: 'response' })
    expect(contentOf(response as JsonObject)).toEqual([text('Yes.')])
  })
})

describe('calls', () => {
  const begun = [created, added(0, call('')), argumentsDelta(0, '{"path":"a"}')]

  test('are complete when their item is done, before the response is', () => {
    const { updates } = readEvents([...begun, done(0, call('{"path":"a"}'))])
    expect(updates.filter(({ type }) => type === 'block')).toMatchObject([{ block: toolUse({ path: 'a' }) }])
    expect(readEvents(begun).updates.filter(({ type }) => type === 'block')).toEqual([])
  })

  test('are omitted if they were cut, even if their arguments happen to be complete', () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    expect(contentOf(...begun, ended(cut, 'incomplete'))).toEqual([])
    expect(contentOf(...begun, done(0, call('{"path":"a"}', { status: 'incomplete' })), ended(cut))).toEqual([])
    const whole = done(0, call('{"path":"a"}', { status: 'completed' }))
    expect(contentOf(...begun, whole, ended(cut, 'incomplete'))).toEqual([toolUse({ path: 'a' })])
  })

  test('that only the end of a cut response has are complete if the service says so', () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    const custom = { type: 'custom_tool_call', call_id: 'call_1', name: 'shell', input: 'rm -rf build' }
    for (const status of ['in_progress', 'incomplete', undefined]) {
      for (const whole of [call('{"path":"a"}', { status }), { ...custom, status }]) {
        expect(contentOf(...begun.slice(0, 1), ended({ ...cut, output: [whole] }, 'incomplete'))).toEqual([])
        const open = added(0, { ...whole, arguments: '', input: '' })
        expect(contentOf(created, open, ended({ ...cut, output: [whole] }, 'incomplete'))).toEqual([])
      }
    }
    const whole = call('{"path":"a"}', { status: 'completed' })
    expect(contentOf(...begun, ended({ ...cut, output: [whole] }, 'incomplete'))).toEqual([toolUse({ path: 'a' })])
  })

  test('are omitted if they were cut in a response that claims to be complete', () => {
    const cut = done(0, call('{"pa', { status: 'incomplete' }))
    const { message: reply } = replyOfRead(readEvents([created, cut, done(1, message('So.')), ended()]))
    expect(reply).toMatchObject({ stop_reason: 'end_turn', content: [text('So.')] })
  })

  test('without an end are complete if the response ended normally', () => {
    expect(contentOf(...begun, ended())).toEqual([toolUse({ path: 'a' })])
  })

  test('may get their name or id late, or never', () => {
    const nameless = { type: 'function_call', arguments: '' }
    expect(
      contentOf(created, added(0, nameless), argumentsDelta(0, '{"path":'), done(0, call('{"path":"a"}')), ended()),
    ).toEqual([toolUse({ path: 'a' })])
    expect(contentOf(created, argumentsDelta(0, '{}'), argumentsDelta(1, '{}'), ended())).toEqual([
      toolUse({}, { id: expect.stringMatching(/^call-\w{9}$/), name: 'unknown_tool' }),
      toolUse({}, { id: expect.stringMatching(/^call-\w{9}$/), name: 'unknown_tool' }),
    ])
  })

  test('with the same id get separate ones', () => {
    const ids = contentOf(created, done(0, call('{}')), done(1, call('{}')), ended()).map(
      (block) => 'id' in block && block.id,
    )
    expect(ids[0]).toBe('call_1')
    expect(new Set(ids).size).toBe(2)
  })

  test('may have arguments that are not an object, or are sent as one', () => {
    expect(contentOf(created, done(0, call('{"path"')), ended())).toEqual([toolUse({ INVALID_JSON: '{"path"' })])
    expect(contentOf(created, done(0, call('', { arguments: { path: 'a' } })), ended())).toEqual([
      toolUse({ path: 'a' }),
    ])
  })

  test('keep their namespace', () => {
    const spaced = call('{}', { namespace: 'files' })
    expect(contentOf(created, done(0, spaced), ended())).toEqual([toolUse({}, { origin: { api, namespace: 'files' } })])
  })

  test('of a custom tool have their text in the configured field', () => {
    const said = 'say "hi"\n\u{1f600}'
    const custom = { type: 'custom_tool_call', call_id: 'call_1', name: 'patch', input: said }
    const half = said.length - 1
    const events = [
      created,
      added(0, { ...custom, input: '' }),
      ...[said.slice(0, half), said.slice(half)].map((delta) => ({
        type: 'response.custom_tool_call_input.delta',
        output_index: 0,
        delta,
      })),
      done(0, custom),
      ended(),
    ]
    const block = { type: 'tool_use', id: 'call_1', name: 'patch', origin: { api, custom: true } }
    expect(contentOf(...events)).toEqual([{ ...block, input: { input: said } }])
    const named = readEvents(events, { freeform: { patch: { field: 'text' } } })
    expect(replyOfRead(named).message.content).toEqual([{ ...block, input: { text: said } }])
    const empty = done(0, { ...custom, input: '' })
    expect(contentOf(created, empty, ended())).toEqual([{ ...block, input: { input: '' } }])
  })

  test('set the stop reason of calls', () => {
    const { message: called } = replyOfRead(readEvents([...begun, ended()]))
    expect(called.stop_reason).toBe('tool_use')
  })
})

describe('reasoning', () => {
  const delta = (kind: 'summary' | 'text', piece: number, said: string): JsonObject => ({
    type: kind === 'summary' ? 'response.reasoning_summary_text.delta' : 'response.reasoning_text.delta',
    output_index: 0,
    [kind === 'summary' ? 'summary_index' : 'content_index']: piece,
    delta: said,
  })
  const item = (fields: JsonObject): JsonObject => ({ type: 'reasoning', id: 'rs_1', summary: [], ...fields })
  const summary = (...texts: readonly string[]) => texts.map((said) => ({ type: 'summary_text', text: said }))
  const thinking = (thought: string, fields: JsonObject): JsonObject => {
    const { id: _, ...kept } = item(fields)
    return { type: 'thinking', thinking: thought, signature: '', origin: { api, item: kept } }
  }

  test('shows the parts of its summary with an empty line between them', () => {
    const whole = { summary: summary('First.', 'Then.'), encrypted_content: 'e' }
    const events = [delta('summary', 0, 'Fir'), delta('summary', 0, 'st.'), delta('summary', 1, 'Then.')]
    expect(contentOf(created, ...events, done(0, item(whole)), ended())).toEqual([thinking('First.\n\nThen.', whole)])
    expect(contentOf(created, done(0, item(whole)), ended())).toEqual([thinking('First.\n\nThen.', whole)])
  })

  test('shows its text if there is no summary, and never both', () => {
    const whole = { content: [{ type: 'reasoning_text', text: 'Hm.' }] }
    expect(contentOf(created, delta('text', 0, 'Hm.'), done(0, item(whole)), ended())).toEqual([thinking('Hm.', whole)])
    const both = { ...whole, summary: summary('In short.') }
    expect(contentOf(created, done(0, item(both)), ended())).toEqual([thinking('In short.', both)])
    expect(
      contentOf(created, delta('summary', 0, 'In short.'), delta('text', 0, 'Hm.'), done(0, item(both)), ended()),
    ).toEqual([thinking('In short.', both)])
  })

  test('that is not shown is stored to be sent back, and omitted if it is empty', () => {
    expect(contentOf(created, added(0, item({})), done(0, item({ encrypted_content: 'e' })), ended())).toEqual([
      thinking('', { encrypted_content: 'e' }),
    ])
    expect(contentOf(created, added(0, item({})), done(0, item({})), ended())).toEqual([])
  })

  test('that was cut is stored without its encrypted content', () => {
    const cut = ended({ incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete')
    const begun = added(0, item({ encrypted_content: 'half' }))
    expect(contentOf(created, begun, delta('summary', 0, 'Fir'), cut)).toEqual([
      { type: 'thinking', thinking: 'Fir', signature: '', origin: { api } },
    ])
  })
})

describe('texts', () => {
  test('keep the phase of their message', () => {
    expect(contentOf(created, done(0, message('Wait.', { phase: 'commentary' })), ended())).toEqual([
      text('Wait.', { origin: { api, phase: 'commentary' } }),
    ])
  })

  test('in several parts become several blocks, without empty ones', () => {
    const content = [
      { type: 'output_text', text: 'One.' },
      { type: 'output_text', text: '' },
      { type: 'output_text', text: 'Two.' },
    ]
    expect(contentOf(created, textDelta(0, ''), done(0, message('', { content })), ended())).toEqual([
      text('One.'),
      text('Two.'),
    ])
  })

  test('that refuse are marked, and so is the reply', () => {
    const refusal = { type: 'response.refusal.delta', output_index: 0, content_index: 0, delta: 'I will ' }
    const content = [{ type: 'refusal', refusal: 'I will not.' }]
    const { message: reply } = replyOfRead(readEvents([created, refusal, done(0, message('', { content })), ended()]))
    expect(reply).toMatchObject({
      stop_reason: 'refusal',
      content: [text('I will not.', { origin: { api, refusal: true } })],
    })
  })

  test('cite their annotations by characters', () => {
    const annotation = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 2, end_index: 5 }
    const said = '\u{1f600} yes.'
    const citation = { type: 'web_search_result_location', url: 'https://a.example', title: 'A', cited_text: 'yes' }
    const event = { type: 'response.output_text.annotation.added', output_index: 0, content_index: 0, annotation }
    expect(contentOf(created, textDelta(0, said), event, done(0, message(said)), ended())).toEqual([
      text(said, { citations: [citation], origin: { api } }),
    ])
    const odd = { ...annotation, start_index: -3, end_index: 1e9 }
    const long = { ...annotation, start_index: 0, end_index: 10_000 }
    const cited = [odd, long].map((one) => ({ ...event, annotation: one }))
    const [block] = contentOf(created, textDelta(0, 'x'.repeat(10_000)), ...cited, ended())
    expect(block).toMatchObject({ citations: [{ cited_text: 'x'.repeat(500) }, { cited_text: 'x'.repeat(500) }] })
    const content = [
      { type: 'output_text', text: said, annotations: [annotation, { type: 'file_path', file_id: 'f' }] },
    ]
    expect(contentOf(created, textDelta(0, said), event, done(0, message('', { content })), ended())).toEqual([
      text(said, { citations: [citation, { type: 'file_path', file_id: 'f' }], origin: { api } }),
    ])
  })
})

test.each(['a', '\u{1f600}'])(
  'quote at most a fixed number of characters per citation, whatever its range',
  (character) => {
    const said = character.repeat(1_000)
    const url = 'https://a.example'
    const whole = { type: 'url_citation', url, title: 'A', start_index: -7, end_index: 5_000 }
    const annotations = [whole, { ...whole, start_index: 3, end_index: 3 }]
    const content = [{ type: 'output_text', text: said, annotations }]
    const [block] = contentOf(created, done(0, message('', { content })), ended())
    const citations = block !== undefined && 'citations' in block ? (block.citations as readonly JsonObject[]) : []
    const quoted = citations.map(({ cited_text }) => cited_text)
    expect(quoted).toEqual([character.repeat(500), ''])
  },
)

describe('server tools', () => {
  const hosted = (item: JsonObject) =>
    contentOf(created, added(0, { type: item.type!, id: 'h_1' }), done(0, item), ended())
  const shown = (name: string, input: JsonObject, item: JsonObject, content: readonly JsonObject[]) => {
    const { id: _, ...kept } = item
    return [
      { type: 'server_tool_use', id: 'h_1', name, input, origin: { api, item: kept } },
      { type: `${name}_tool_result`, tool_use_id: 'h_1', content, origin: { api } },
    ]
  }

  test.each<[string, JsonObject, JsonObject, readonly JsonObject[]]>([
    [
      'web_search',
      {
        action: { type: 'search', query: 'q', sources: [{ type: 'url', url: 'https://a.example' }, { url: 7 }, 'odd'] },
      },
      { type: 'search', query: 'q' },
      [{ type: 'web_search_result', url: 'https://a.example', title: 'https://a.example' }],
    ],
    ['web_search', { action: { type: 'open_page', url: null } }, { type: 'open_page', url: null }, []],
    [
      'file_search',
      { queries: ['q'], results: [{ filename: 'a.md', file_id: 'f', text: 'Found.' }, { file_id: 'g' }] },
      { queries: ['q'] },
      [
        { type: 'search_result', source: 'a.md', title: 'a.md', content: [text('Found.')] },
        { type: 'search_result', source: 'g', title: 'g', content: [] },
      ],
    ],
    ['file_search', { queries: [], results: null }, { queries: [] }, []],
    [
      'code_interpreter',
      {
        code: '1 + 1',
        outputs: [
          { type: 'logs', logs: '2' },
          { type: 'image', url: 'u' },
        ],
      },
      { code: '1 + 1' },
      [text('2')],
    ],
    ['image_generation', { result: 'aGk=', revised_prompt: 'a cat' }, { prompt: 'a cat' }, []],
    [
      'mcp',
      { server_label: 's', name: 'find', arguments: '{}', output: 'found', error: null },
      { server_label: 's', name: 'find', arguments: '{}' },
      [text('found')],
    ],
    ['tool_search', { execution: 'server', arguments: { paths: ['a'] } }, { paths: ['a'] }, []],
  ])('%s %j', (name, fields, input, results) => {
    const item = { type: name === 'mcp' ? 'mcp_call' : `${name}_call`, id: 'h_1', status: 'completed', ...fields }
    expect(hosted(item)).toEqual(shown(name, input, item, results))
  })

  test('and unknown items are stored unchanged, without their id', () => {
    for (const type of ['computer_call', 'mcp_list_tools', 'compaction', 'brand_new']) {
      expect(contentOf(created, added(0, { type, id: 'x' }), done(0, { type, id: 'x', data: [1] }), ended())).toEqual([
        { type: 'responses_item', origin: { api, item: { type, data: [1] } } },
      ])
    }
    const search = { type: 'tool_search_call', execution: 'client', call_id: 'c' }
    expect(contentOf(created, done(0, search), ended())).toEqual([
      { type: 'responses_item', origin: { api, item: search } },
    ])
  })

  test('are omitted if they were cut', () => {
    const cut = ended({ incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete')
    const begun = { type: 'web_search_call', id: 'h_1' }
    expect(contentOf(created, textDelta(0, 'So.'), added(1, begun), cut)).toEqual([text('So.')])
    const output = [message('So.'), { ...begun, status: 'in_progress' }]
    const { response } = ended({ output, incomplete_details: { reason: 'max_output_tokens' } }, 'incomplete')
    expect(contentOf({ type: 'response.incomplete', response: response ?? null })).toEqual([text('So.')])
    expect(
      readEvents([created, textDelta(0, 'So.'), done(0, message('So.')), added(1, begun)]).assembled,
    ).toMatchObject({
      kind: 'partial',
      message: { content: [text('So.')] },
    })
  })
})

describe('usage', () => {
  const billed = (fields: JsonObject, ...events: readonly JsonObject[]) => {
    const { message: reply, billed: unknown } = replyOfRead(readEvents([created, ...events, ended(fields)]))
    return unknown ?? reply.usage
  }

  test('distinguishes cache reads and writes', () => {
    const details = { input_tokens_details: { cached_tokens: 3, cache_write_tokens: 2 } }
    expect(billed({ usage: { ...usage, ...details, output_tokens_details: { reasoning_tokens: 4 } } })).toEqual({
      input_tokens: 5,
      output_tokens: 5,
      cache_creation_input_tokens: 2,
      cache_read_input_tokens: 3,
    })
  })

  test('includes what only the total has', () => {
    expect(billed({ usage: { ...usage, total_tokens: 22 } })).toMatchObject({ input_tokens: 10, output_tokens: 12 })
  })

  test.each([null, undefined, {}, { input_tokens: 0, output_tokens: 0 }])('is unknown for %j', (said) => {
    expect(billed({ usage: said ?? null })).toBe('unknown')
  })

  test('passes invalid counts on', () => {
    expect(billed({ usage: { ...usage, output_tokens: -1 } })).toMatchObject({ input_tokens: -1 })
  })

  test('has the searches that the service counts, otherwise the observed ones', () => {
    const searched = (place: number, action: JsonObject): JsonObject =>
      done(place, { type: 'web_search_call', id: `ws_${place}`, action })
    const events = [
      searched(0, { type: 'search', query: 'q' }),
      searched(1, { type: 'open_page', url: 'u' }),
      searched(2, { type: 'find_in_page', url: 'u', pattern: 'p' }),
      searched(3, { type: 'search', query: 'q' }),
    ]
    const counted = (web_search: JsonObject) => billed({ tool_usage: { web_search } }, ...events)
    expect(billed({}, ...events)).toMatchObject({ server_tool_use: { web_search_requests: 2 } })
    expect(counted({ num_requests: 1 })).toMatchObject({ server_tool_use: { web_search_requests: 1 } })
    expect(counted({ num_requests: 0 })).toMatchObject({ server_tool_use: { web_search_requests: 2 } })
    const queries = searched(4, { type: 'search', queries: ['a', 'b', 'c'] })
    expect(billed({}, ...events, queries)).toMatchObject({ server_tool_use: { web_search_requests: 3 } })
    expect(billed({ tool_usage: { web_search: { num_requests: 0 } } })).not.toHaveProperty('server_tool_use')
  })
})

describe('endings', () => {
  const stopOf = (...events: readonly JsonObject[]) => replyOfRead(readEvents([created, ...events])).message.stop_reason
  const said = done(0, message('So.'))

  test.each([
    [{ reason: 'max_output_tokens' }, 'max_tokens'],
    [{ reason: 'content_filter' }, 'refusal'],
    [{ reason: 'brand_new' }, 'brand_new'],
    [null, 'max_tokens'],
  ])('are derived from the status incomplete with %j', (incomplete_details, expected) => {
    expect(stopOf(said, ended({ incomplete_details }, 'incomplete'))).toBe(expected)
  })

  test('are read from the status of the response if the event has another name', () => {
    const cut = { status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    expect(stopOf(said, ended(cut))).toBe('max_tokens')
    expect(stopOf(said, ended({ status: 'completed' }, 'done'))).toBe('end_turn')
  })

  test('of a failed or cancelled response are errors, and complete blocks are preserved', () => {
    const error = { code: 'server_error', message: 'It broke.' }
    expect(readEvents([created, said, ended({ error }, 'failed')])).toMatchObject({
      end: { kind: 'error_event', error },
      assembled: { kind: 'partial', message: { content: [text('So.')] } },
    })
    expect(readEvents([created, ended({}, 'cancelled')])).toMatchObject({
      end: { kind: 'error_event', error: { message: 'it ended as "cancelled"' } },
      assembled: { kind: 'nothing' },
    })
  })

  test.each<JsonObject>([
    { type: 'error', code: 'server_error', message: 'It broke.' },
    { type: 'error', error: { type: 'error', code: 'server_error', message: 'It broke.' } },
    { error: { code: 'server_error', message: 'It broke.' } },
  ])('are errors for the event %j', (event) => {
    const error = { code: 'server_error', message: 'It broke.' }
    const { type: _, ...rest } = event
    expect(readEvents([created, event]).end).toEqual({
      kind: 'error_event',
      error: 'error' in rest ? error : { ...error },
    })
  })

  test('are missing if a stream ends early, unless the service ended it and each item was done', () => {
    expect(readEvents([created, said]).assembled.kind).toBe('partial')
    expect(readEvents([created, textDelta(0, 'So.')], { isOver: true }).assembled.kind).toBe('nothing')
    const { assembled } = readEvents([created, said], { isOver: true })
    expect(assembled).toMatchObject({ kind: 'complete', billed: 'unknown', message: { stop_reason: 'end_turn' } })
    expect(readEvents([created], { isOver: true }).assembled.kind).toBe('nothing')
  })
})

describe('two responses in one stream', () => {
  const other = { type: 'response.created', response: { id: 'resp_2', model: 'm2', output: [] } }

  test('leave nothing, unless the second starts before any content of the first', () => {
    expect(brokenBy(created, done(0, message('So.')), other)).toEqual({
      why: 'it contained two messages with different ids',
      kept: false,
    })
    const { message: reply } = replyOfRead(readEvents([created, other, done(0, message('So.')), ended()]))
    expect(reply).toMatchObject({ id: 'resp_2', model: 'm2', content: [text('So.')] })
  })

  test('continue if they are the same one', () => {
    expect(contentOf(created, textDelta(0, 'So'), created, textDelta(0, '.'), ended())).toEqual([text('So.')])
  })

  test('are not assumed if an id changes with every event', () => {
    const turning = [created, { type: 'response.in_progress', response: { id: 'resp_2' } }]
    expect(contentOf(...turning, done(0, message('So.')), ended({ id: 'resp_3' }))).toEqual([text('So.')])
  })
})

describe('a repeated event', () => {
  const numbered = (events: readonly JsonObject[], from = 0) =>
    events.map((event, index) => ({ ...event, sequence_number: from + index }))

  test('with the same number is skipped', () => {
    const events = numbered([
      created,
      added(0, call('')),
      argumentsDelta(0, '{"a":'),
      argumentsDelta(0, '1}'),
      done(0, call('{"a":1}')),
      ended(),
    ])
    expect(contentOf(...events.flatMap((event) => [event, event]))).toEqual([toolUse({ a: 1 })])
  })

  test('counts if numbers do not increase', () => {
    const flat = [created, added(0, message('')), textDelta(0, 'ha'), textDelta(0, 'ha'), ended()]
    expect(contentOf(...flat.map((event) => ({ ...event, sequence_number: 0 })))).toEqual([text('haha')])
    expect(contentOf(...flat.map((event) => ({ ...event, sequence_number: 3 })))).toEqual([text('haha')])
  })
})

describe('unknown events and parts', () => {
  test('have no effect', () => {
    const odd: readonly JsonObject[] = [
      { type: 'response.brand_new', output_index: 0, delta: 'x' },
      { type: 'keepalive', sequence_number: 3 },
      { type: 'response.code_interpreter_call_code.delta', output_index: 7, delta: 'x' },
      { type: 'codex.rate_limits', limits: {} },
    ]
    const strange = [{ type: 'output_audio', data: 'x' }, { type: 'output_text', text: 'So.' }, 'odd']
    const events = [created, textDelta(0, 'So.', 1), done(0, message('', { content: strange })), ended()]
    expect(contentOf(...events.flatMap((event) => [...odd, event]))).toEqual([text('So.')])
    for (const event of odd) expect(readEvents([event]).end).toBeUndefined()
  })

  test('break the stream if an item is invalid', () => {
    expect(brokenBy(created, { type: 'response.output_item.added', output_index: 0 })).toMatchObject({
      why: 'response.output_item.added has no item',
    })
  })
})

test('break the response if it has more calls than any model makes', () => {
  const calls = Array.from({ length: 1_001 }, (_, index) => done(index, call('{}', { call_id: `call_${index}` })))
  expect(brokenBy(created, ...calls)).toMatchObject({ why: 'it had too many calls' })
})
