// The text of a service is sent back byte for byte, even if JavaScript values cannot represent it.
import { streamRun, startRun, Transcript } from '@halting/core'
import type { TranscriptEntry } from '@halting/core'
import { describe, expect, test } from 'vitest'
import { compact, isExact, valueText } from '../src/anthropic/open-block.ts'
import { openaiCompatible } from '../src/index.ts'
import { modelAt } from './support/call.ts'
import { beginStream, startRawServer } from './support/raw-server.ts'
import { look } from './support/inspect.ts'

/** Numbers that are rounded or reformatted, duplicate keys, keys that would change their order, and escapes. */
const hostile = '{"b": 1.0, "a": 12345678901234567890, "10": 1e2, "2": -0, "b": "\\u00e9\\/ {\\"x\\": 1}"}'
const packed = '{"b":1.0,"a":12345678901234567890,"10":1e2,"2":-0,"b":"\\u00e9\\/ {\\"x\\": 1}"}'

const frame = (data: string): string => `data: ${data}\n\n`

/** Answers with each of these streams in turn. */
async function startTurns(turns: readonly string[]) {
  let turn = 0
  const server = await startRawServer((response) => {
    beginStream(response)
    response.end(turns[turn++])
  })
  return { url: server.url, bodies: () => server.bodies.map(String) }
}

describe('the Messages API', () => {
  const stream = (blocks: readonly (readonly [start: string, ...deltas: string[]])[], reason: string): string =>
    [
      '{"type":"message_start","message":{"id":"m","type":"message","role":"assistant","model":"m","content":[]}}',
      ...blocks.flatMap(([start, ...deltas], index) => [
        `{"type":"content_block_start","index":${index},"content_block":${start}}`,
        ...deltas.map((delta) => `{"type":"content_block_delta","index":${index},"delta":${delta}}`),
        `{"type":"content_block_stop","index":${index}}`,
      ]),
      `{"type":"message_delta","delta":{"stop_reason":"${reason}"},"usage":{"input_tokens":5,"output_tokens":5}}`,
      '{"type":"message_stop"}',
    ]
      .map(frame)
      .join('')
  const json = (part: string): string => `{"type":"input_json_delta","partial_json":${JSON.stringify(part)}}`
  const found =
    '{"type":"web_search_tool_result","tool_use_id":"s","content":[{"score":1.0,"id":98765432109876543210}]}'
  const signature = 'Eq+/=\\u003d'
  const reply = stream(
    [
      [
        '{"type":"thinking","thinking":"","signature":""}',
        '{"type":"thinking_delta","thinking":"  so \\n"}',
        `{"type":"signature_delta","signature":"${signature}"}`,
      ],
      ['{"type":"redacted_thinking","data":"c2VjcmV0"}'],
      ['{"type":"server_tool_use","id":"s","name":"web_search","input":{}}', json('{"q": 2.50}')],
      [found],
      ['{"type":"tool_use","id":"t","name":"Look","input":{}}', json(hostile.slice(0, 20)), json(hostile.slice(20))],
    ],
    'tool_use',
  )
  const sent = [
    '{"type":"thinking","thinking":"  so \\n","signature":"Eq+/=="}',
    '{"type":"redacted_thinking","data":"c2VjcmV0"}',
    '{"type":"server_tool_use","id":"s","name":"web_search","input":{"q":2.50}}',
    found,
    `{"type":"tool_use","id":"t","name":"Look","input":${packed}}`,
  ].join(',')
  const answer = stream([['{"type":"text","text":""}', '{"type":"text_delta","text":"done"}']], 'end_turn')

  test('gets its blocks back unchanged in the next request, even from a recorded transcript', async () => {
    const service = await startTurns([reply, answer, answer])
    const model = modelAt(service.url)
    const run = streamRun(startRun({ prompt: 'go' }), { model, tools: [look] })
    const { transcript } = (await run.ended).state
    const record = JSON.parse(JSON.stringify(transcript)) as TranscriptEntry[]
    await streamRun(startRun({ prompt: 'again', transcript: Transcript.of(record) }), { model, tools: [look] }).result
    const [, second, third] = service.bodies()
    expect(second).toContain(`{"role":"assistant","content":[${sent}]}`)
    expect(third).toContain(`{"role":"assistant","content":[${sent}]}`)
  })
})

test('sends the exact text of an input back to chat completions, including white space', async () => {
  const call = { index: 0, id: 'call_1', function: { name: 'Look', arguments: hostile } }
  const chunk = (delta: object, reason: string): string =>
    frame(JSON.stringify({ id: 'c', model: 'm', choices: [{ index: 0, delta, finish_reason: reason }] }))
  const service = await startTurns([chunk({ tool_calls: [call] }, 'tool_calls'), chunk({ content: 'done' }, 'stop')])
  const model = openaiCompatible({ model: 'm', baseUrl: service.url })
  await streamRun(startRun({ prompt: 'go' }), { model, tools: [look] }).result
  expect(service.bodies()[1]).toContain(`"arguments":${JSON.stringify(hostile)}`)
})

describe('a text is equivalent to its value', () => {
  test.each([
    ['{"a":1}', true],
    ['{ "a" : [ 1 , "x y" ] }', true],
    ['{"a":1.5,"b":null,"c":"\\n"}', true],
    ['{"a":1.0}', false],
    ['{"a":9007199254740993}', false],
    ['{"2":0,"1":0}', false],
    ['{"a":1,"a":2}', false],
    ['{"a":-0}', false],
  ])('for %s: %s', (text, exact) => {
    expect(isExact(text, JSON.parse(text))).toBe(exact)
  })

  test('preserves white space within strings', () => {
    expect(compact('{ "a b" : "c \\" d" ,\n"e":\t[ ] }')).toBe('{"a b":"c \\" d","e":[]}')
  })

  test('finds the value of a key at its own level', () => {
    expect(valueText('{"x":{"k":1},"y":"\\"k\\":2","k": {"z":[1.0, {}]} , "l":3}', 'k')).toBe('{"z":[1.0,{}]}')
    expect(valueText('{"k":"a,b}","l":3}', 'k')).toBe('"a,b}"')
    expect(valueText('{"l":3,"k":1.0}', 'k')).toBe('1.0')
    expect(valueText('{"l":3}', 'k')).toBeUndefined()
  })
})
