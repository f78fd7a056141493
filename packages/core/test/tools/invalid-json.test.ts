// Tests R-TOOL-2b and R-TOOL-2c: arguments that are not a JSON object run nothing, and the model gets the error with its position.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { invalidJsonInput, invalidJsonOf } from '../../src/entries/adapters.ts'
import type { Tool } from '../../src/index.ts'
import { jsonProblemOf } from '../../src/values/json-problem.ts'
import { drawn } from '../support/deep.ts'
import { calls, results, run } from '../support/harness.ts'

/** Accepts any input, as a server of tools may. */
function loose(ran: unknown[]): Tool {
  return {
    name: 'mcp__notes__write',
    description: 'Writes.',
    inputSchema: { type: 'object', additionalProperties: true },
    readOnly: true,
    execute: (input) => {
      ran.push(input)
      return 'written'
    },
  }
}

describe('arguments that are not a JSON object', () => {
  test.each([
    [
      '{"path":"a.ts","text":"one\\ntw',
      'they were cut off after 30 characters, after "{\\"path\\":\\"a.ts\\",\\"text\\":\\"one\\\\ntw", where the closing quote of a string was expected',
    ],
    ['{"path":', 'they were cut off after 8 characters, after "{\\"path\\":", where a value was expected'],
    ['{"path": tru}', 'character 10 is "t", after "{\\"path\\": ", where a value was expected'],
    ["{'path': 1}", `character 2 is "'", after "{", where a name in quotes or "}" was expected`],
    ['{"a":1}{"b":2}', 'character 8 is "{", after "{\\"a\\":1}", where the end of the text was expected'],
    ['[1]', 'must be one JSON object'],
    ['null', 'must be one JSON object'],
  ])('%s', async (text, problem) => {
    const ran: unknown[] = []
    const tool = loose(ran)
    const call = calls({ name: tool.name, input: invalidJsonInput(text) })
    const ended = await run([call, 'done'], { tools: [tool] })
    expect([ended.terminal.reason, ran]).toEqual(['completed', []])
    const [result] = results(ended)
    expect(result).toMatchObject({ is_error: true })
    expect(result?.content).toContain(problem)
    expect(result?.content).toContain('Nothing was run.')
    expect(result?.content).toContain(`Received ${text.length} characters: ${text}`)
  })

  test('get the same error for a missing tool, and are shortened when they are long', async () => {
    const text = `{"text":"${'x'.repeat(20_000)}`
    const [result] = results(await run([calls({ name: 'Nowhere', input: invalidJsonInput(text) }), 'done']))
    expect(result?.content).toContain('were cut off after 20009 characters')
    expect(JSON.stringify(result?.content).length).toBeLessThan(2_000)
  })

  test.each([
    ['{"text":"a', undefined],
    ['[1]', undefined],
    ['null', undefined],
    [[], undefined],
    [5, undefined],
    ['{"text":"a"}', { text: 'a' }],
    ['', {}],
    [undefined, {}],
  ])('are accepted from a model that passes them on as %j', async (input, received) => {
    const ran: unknown[] = []
    const tool = { ...loose(ran), inputSchema: {} }
    const ended = await run([calls({ name: tool.name, input: input as never }), 'done'], { tools: [tool] })
    expect([ended.terminal.reason, ran]).toEqual(['completed', received === undefined ? [] : [received]])
    const text = typeof input === 'string' ? input : JSON.stringify(input)
    const [, reply] = ended.state.transcript.messages()
    expect(reply?.content).toMatchObject([{ input: received ?? { INVALID_JSON: text } }])
  })

  test('do not include a field of that name next to another, or one that is not text', () => {
    expect(invalidJsonOf({ INVALID_JSON: '{' })).toBe('{')
    expect([{ INVALID_JSON: '{', a: 1 }, { INVALID_JSON: 1 }, {}, null, '{'].map(invalidJsonOf)).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
      undefined,
    ])
  })
})

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

describe('the position where a text stops being JSON', () => {
  const object = fc.dictionary(fc.string({ unit: 'grapheme' }), fc.jsonValue()).map((value) => JSON.stringify(value))

  test('is absent for a JSON object, and present for each proper prefix of one', () => {
    fc.assert(
      fc.property(object, fc.nat(), (text, length) => {
        expect(jsonProblemOf(text)).toBeUndefined()
        const cut = text.slice(0, length % text.length)
        expect(jsonProblemOf(cut)).toMatchObject({ kind: 'cut', at: cut.length })
      }),
      { numRuns: drawn(2_000) },
    )
  })

  test('exists exactly when JSON.parse throws, or its result is not an object', () => {
    const changed = fc
      .tuple(
        fc.oneof(object, fc.json()),
        fc.nat(),
        fc.constantFrom('', '"', '}', ',', '\\', 'e', '-', '.', '0', '\n', 'x', 'tru'),
      )
      .map(
        ([text, at, added]) => text.slice(0, at % (text.length + 1)) + added + text.slice((at % (text.length + 1)) + 1),
      )
    fc.assert(
      fc.property(fc.oneof(changed, fc.string(), fc.json()), (text) => {
        const problem = jsonProblemOf(text)
        const read = parsed(text)
        const isObject = typeof read === 'object' && read !== null && !Array.isArray(read)
        const kinds = read === undefined ? ['cut', 'invalid'] : [isObject ? undefined : 'not_an_object']
        expect(kinds).toContain(problem?.kind)
        // Everything before it is a prefix of some JSON.
        expect(jsonProblemOf(text.slice(0, problem?.at ?? 0))?.kind).not.toBe('invalid')
      }),
      { numRuns: drawn(4_000) },
    )
  })

  test.each(['x', '\\n'])('is found after ten million characters of a string: %j', (part) => {
    const text = `{"a":"${part.repeat(1e7 / part.length)}`
    expect(jsonProblemOf(text)).toMatchObject({ kind: 'cut', at: text.length })
  })

  test('takes linear time', () => {
    const deep = '['.repeat(200_000)
    const began = performance.now()
    expect(jsonProblemOf(`{"a":${deep}`)?.kind).toBe('cut')
    expect(jsonProblemOf(`{"a":"${'\\n'.repeat(500_000)}`)?.kind).toBe('cut')
    expect(jsonProblemOf(`{"a":"${'x'.repeat(20_000_000)}`)?.kind).toBe('cut')
    expect(performance.now() - began).toBeLessThan(3_000)
  })
})
