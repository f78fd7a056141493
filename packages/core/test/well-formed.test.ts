// Tests R-REQ-13 and R-REQ-13a: no text sent to a model contains half of a surrogate pair, whatever its source.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { replay, type ContentBlock, type ModelMessage, type ModelRequest, type Usage } from '../src/index.ts'
import { upperBoundOfText } from '../src/model/tokens.ts'
import { noUsage } from '../src/model/messages.ts'
import { transcriptProblems } from '../src/testing/index.ts'
import { wellFormedRequest } from '../src/request/well-formed-request.ts'
import { hasLoneEscape, wellFormedJson } from '../src/values/well-formed.ts'
import { calls, hook, isLive, json, run, tool } from './support/harness.ts'

const high = '\ud83d'
const low = '\ude00'

/** Texts in which halves occur alone, adjacent, and as escapes. */
const anyText = fc
  .array(fc.constantFrom('a', ' ', high, low, high + low, 'é', '\\', '\\ud83d', '"'), { maxLength: 6 })
  .map((parts) => parts.join(''))

/** Every text in a value, including keys. `escape` finds a lone half in its JSON, independent of the product's own check. */
const isWellFormed = (value: unknown): boolean => !/\p{Surrogate}/u.test(everyText(value))
function everyText(value: unknown): string {
  if (typeof value === 'string') return `${value}\n`
  if (typeof value !== 'object' || value === null) return ''
  return Object.entries(value)
    .map(([key, part]) => `${key}\n${everyText(part)}`)
    .join('')
}

const request = (messages: readonly ModelMessage[], more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: '',
  messages,
  tools: [],
  maxOutputTokens: 1,
  idempotencyKey: 'k',
  ...more,
})
const assistantMessage = (...content: readonly ContentBlock[]): ModelMessage => ({ role: 'assistant', content })
const sentOf = (...messages: readonly ModelMessage[]): readonly ModelMessage[] =>
  wellFormedRequest(request(messages)).messages

describe('the text that is sent', () => {
  test('has U+FFFD in place of each lone half, and keeps a pair', () => {
    expect(sentOf({ role: 'user', content: `a${high}b${low}c${high}${low}` })).toEqual([
      { role: 'user', content: 'a\ufffdb\ufffdc\u{1F600}' },
    ])
  })

  test('keeps matching ids of a call and its result, and keeps distinct ids distinct', () => {
    const call = (id: string): ContentBlock => ({ type: 'tool_use', id, name: 'Look', input: { [high]: low } })
    const result = (id: string): ContentBlock => ({ type: 'tool_result', tool_use_id: id, content: high })
    const [first, second] = [`a${high}`, 'a\ud83e']
    const sentRequest = sentOf({ role: 'user', content: 'go' }, assistantMessage(call(first), call(second)), {
      role: 'user',
      content: [result(first), result(second)],
    })
    expect(transcriptProblems(sentRequest)).toEqual([])
    expect(isWellFormed(sentRequest)).toBe(true)
    expect(sentRequest[1]?.content[0]).toMatchObject({ name: 'Look', input: { '\ufffd': '\ufffd' } })
  })

  test('drops signed thinking with all of its message, and repairs unsigned thinking', () => {
    const signed = (thinking: string): ContentBlock => ({ type: 'thinking', thinking, signature: 'sig' })
    const text: ContentBlock = { type: 'text', text: 'so' }
    expect(
      sentOf(assistantMessage(signed('whole'), signed(high), { type: 'redacted_thinking', data: 'x' }, text)),
    ).toEqual([assistantMessage(text)])
    expect(sentOf(assistantMessage(signed('whole'), { type: 'text', text: low }))).toEqual([
      assistantMessage(signed('whole'), { type: 'text', text: '\ufffd' }),
    ])
    expect(sentOf({ role: 'user', content: 'go' }, assistantMessage(signed(high)))).toEqual([
      { role: 'user', content: 'go' },
    ])
    const field = { api: 'chat', field: 'reasoning_content' }
    expect(sentOf(assistantMessage({ type: 'thinking', thinking: high, signature: '', origin: field }, text))).toEqual([
      assistantMessage({ type: 'thinking', thinking: '\ufffd', signature: '', origin: field }, text),
    ])
    const metadata = { api: 'sdk', metadata: { service: { signature: 'sig' } } }
    expect(
      sentOf(assistantMessage({ type: 'thinking', thinking: high, signature: '', origin: metadata }, text)),
    ).toEqual([assistantMessage(text)])
  })

  test('drops text of an origin that an adapter would send unchanged, when it is broken', () => {
    const call = (input: unknown, origin: Record<string, string | { readonly signature: string }>): ModelMessage =>
      assistantMessage({ type: 'tool_use', id: 'c', name: 'Look', input, origin: { api: 'chat', ...origin } })
    // `a` occurs twice: only the text shows the half.
    const broken = '{"a":"\\ud83d","a":1}'
    expect(sentOf(call({ a: 1 }, { arguments: broken, extra: { signature: 's' } }))).toEqual([
      call({ a: 1 }, { extra: { signature: 's' } }),
    ])
    const whole = call({ a: 'x' }, { arguments: '{ "a": "\\ud83d\\ude00 \\\\ud83d" }' })
    expect(sentOf(whole)[0]).toBe(whole)
  })

  test('includes names of tools, fields of their schemas, and the system prompt', () => {
    const input_schema = { type: 'object', properties: { [low]: { description: high } } }
    const sentRequest = wellFormedRequest(
      request([], { system: high, tools: [{ name: `T${high}`, description: low, input_schema }] }),
    )
    expect(isWellFormed(sentRequest)).toBe(true)
    expect(sentRequest.tools[0]?.name).toBe('T\ufffd')
  })

  test('stays the same objects when it needs no repair, and so does a repaired message', () => {
    const messages: ModelMessage[] = [{ role: 'user', content: 'go' }]
    const whole = request(messages)
    expect(wellFormedRequest(whole)).toBe(whole)
    messages.push({ role: 'user', content: high })
    const once = wellFormedRequest(whole).messages
    messages.push({ role: 'user', content: 'more' })
    const twice = wellFormedRequest(whole).messages
    expect(twice).toHaveLength(3)
    expect(twice[0]).toBe(messages[0])
    expect(twice[1]).toBe(once[1])
    // In a list that does not belong to a transcript, another message may take a place.
    messages.splice(0, 3, { role: 'user', content: low })
    expect(wellFormedRequest(whole).messages).toEqual([{ role: 'user', content: '\ufffd' }])
  })
})

describe('in a run', () => {
  test('every request is well-formed, whatever its source, the calls stay matched, and a replay is the same', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(anyText, { minLength: 12, maxLength: 12 }), async (texts) => {
        const [prompt, id, name, key, value, output, answer, thought, system, hooked, described, structured] = texts
        const usage: Partial<Usage> = { ...noUsage, input_tokens: 10, output_tokens: 5 }
        const options = {
          system: String(system),
          tools: [
            tool('Look', () => ({ content: String(output), details: { structured: String(structured) } })),
            { ...tool('Other', String(output)), description: String(described) },
          ],
          hooks: [
            hook('afterToolUse', (context) =>
              context.toolCall?.name === 'Other' ? context.withToolOutput(`${output}${hooked}`) : context,
            ),
            hook('beforeStep', (context) => context.withState(context.state().withUserMessage(`h${hooked}`))),
          ],
        }
        const ended = await run(
          [
            { thinking: String(thought), ...calls({ name: 'Look', id: String(id), input: { [String(key)]: value } }) },
            { text: String(answer), ...calls({ name: `Look${name}`, id: `${id}${high}` }, 'Other'), usage },
            'done',
          ],
          options,
          { prompt: `p${prompt}` },
        )
        expect(ended.terminal.reason).toBe('completed')
        expect(ended.model.requests.length).toBe(3)
        for (const sentRequest of ended.model.requests) expect(isWellFormed(sentRequest)).toBe(true)
        // The record contains what was received, unchanged.
        expect(ended.messages[0]?.content).toBe(`p${prompt}`)
        const again = await replay(ended.steps.records, { ...options, model: ended.model })
        expect(json(again.terminal)).toEqual(json(ended.terminal))
        expect(json(again.events)).toEqual(json(ended.events.filter((event) => !isLive(event))))
      }),
      { numRuns: 60 },
    )
  })
})

describe('texts and JSON', () => {
  test('a repair changes nothing except lone halves', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: fc.constantFrom('a', high, low, '__proto__') }), (value) => {
        const before = JSON.stringify(value)
        const repaired = wellFormedJson(json(value) as never)
        expect(isWellFormed(repaired)).toBe(true)
        expect(JSON.stringify(repaired) === before).toBe(isWellFormed(value))
      }),
    )
  })

  test('an escape of a lone half is found in JSON text exactly where a value has one', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom('upper', 'lower'), (text, digits) => {
        const units = [...Array(text.length).keys()].map((index) => text.charCodeAt(index))
        const escaped = units.map((unit) => {
          const hex = unit.toString(16).padStart(4, '0')
          return `\\u${digits === 'upper' ? hex.toUpperCase() : hex}`
        })
        expect(hasLoneEscape(`"${escaped.join('')}"`)).toBe(!isWellFormed(text))
        expect(hasLoneEscape(JSON.stringify(text))).toBe(!isWellFormed(text))
      }),
    )
  })

  test('a bound of tokens counts a lone half as it is sent', () => {
    fc.assert(
      fc.property(anyText, (text) => {
        const { length } = new TextEncoder().encode(text)
        expect(upperBoundOfText(text)).toBe(length)
      }),
    )
  })
})
