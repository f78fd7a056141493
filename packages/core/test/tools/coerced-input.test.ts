// Tests R-TOOL-2, R-TOOL-2a, R-TOOL-2d.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Permissions } from '../../src/index.ts'
import { coercedInput, schemaProblems } from '../../src/entries/adapters.ts'
import type { Json, JsonObject } from '../../src/values/json.ts'
import { isDeep } from '../support/deep.ts'
import { calls, hook, results, resultTexts, run, tool } from '../support/harness.ts'

const schema: JsonObject = {
  type: 'object',
  properties: {
    path: { type: 'string', minLength: 1 },
    note: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    all: { type: 'boolean' },
    mode: { type: 'string', enum: ['content', 'count', 'Strange', 'strange'] },
    names: { type: 'array', items: { type: 'string' } },
    counts: { type: 'array', items: { type: 'integer' } },
    place: { type: 'object', properties: { line: { type: 'integer' } } },
    either: { type: ['integer', 'null'] },
    any: {},
  },
  required: ['path'],
}

describe('an unambiguous input', () => {
  const cases: readonly (readonly [Json, Json])[] = [
    [{ count: '3' }, { count: 3 }],
    [{ count: ' -12 ' }, { count: -12 }],
    [{ count: '3.0' }, { count: 3 }],
    [{ ratio: '0.25' }, { ratio: 0.25 }],
    [{ all: 'true' }, { all: true }],
    [{ all: 'False' }, { all: false }],
    [{ path: 404 }, { path: '404' }],
    [{ path: true }, { path: 'true' }],
    [{ count: null, path: 'a' }, { path: 'a' }],
    [{ names: null, all: null }, {}],
    [{ either: null }, { either: null }],
    [{ either: '7' }, { either: 7 }],
    [{ mode: 'Content ' }, { mode: 'content' }],
    [{ names: 'one' }, { names: ['one'] }],
    [{ names: '["one","two"]' }, { names: ['one', 'two'] }],
    [{ names: [1, 'two'] }, { names: ['1', 'two'] }],
    [{ counts: 3 }, { counts: [3] }],
    [{ counts: ['1', 2] }, { counts: [1, 2] }],
    [{ place: '{"line":"3"}' }, { place: { line: 3 } }],
    ['{"path":"a","count":"3"}', { path: 'a', count: 3 }],
  ]
  test.each(cases)('%j becomes %j', (input, expected) => expect(coercedInput(schema, input)).toEqual(expected))
})

describe('an ambiguous input stays unchanged', () => {
  const cases: readonly Json[] = [
    { count: 'three' }, { count: '' }, { count: '1e3' }, { count: '0x10' }, { count: '007' }, { count: '1.5' },
    { count: '99999999999999999999' }, { count: true }, { count: [3] }, { count: {} }, { all: 'yes' }, { all: 1 },
    { path: ['a'] }, { path: {} }, { path: null }, { path: '' }, { note: '' }, { mode: 'STRANGE' }, { mode: 'other' },
    { names: {} }, { names: '[1' }, { place: 'somewhere' }, { any: '3' }, { any: null }, { unknown: '3' }, { unknown: null },
    7, null, 'text', [],
  ] // prettier-ignore
  test.each(cases.map((input) => [input]))('%j', (input) => expect(coercedInput(schema, input)).toBe(input))
})

test('a valid input stays identical, and a coerced one is not coerced again', () => {
  fc.assert(
    fc.property(fc.object({ key: fc.constantFrom(...Object.keys(schema['properties'] ?? {})) }), (input) => {
      const value: Json = JSON.parse(JSON.stringify(input))
      const coerced = coercedInput(schema, value)
      expect(schemaProblems(schema, value).length === 0 ? coerced : value).toEqual(value)
      expect(coercedInput(schema, coerced)).toEqual(coerced)
    }),
    { numRuns: isDeep ? 500 : 100 },
  )
})

describe('in a run', () => {
  const rules = (judged: unknown[]): Permissions => ({
    denies: ({ call }) => void judged.push(['denies', call.input]),
    decide: ({ call }) => (judged.push(['decides', call.input]), { behavior: 'allow' }),
  })

  test('rules, hooks and the tool get the coerced input; the transcript has the original', async () => {
    const judged: unknown[] = []
    const sees = hook(['beforeToolUse', 'afterToolUse'], ({ trigger, toolCall }) => {
      judged.push([trigger, toolCall?.input])
      return undefined
    })
    const counts = { ...tool('Count', (input) => JSON.stringify(input)), inputSchema: schema }
    const result = await run([calls({ name: 'Count', input: { path: 'a', count: '3', all: null } }), 'done'], {
      tools: [counts],
      permissions: rules(judged),
      hooks: [sees],
    })
    const expected = { path: 'a', count: 3 }
    expect(resultTexts(result)).toEqual([JSON.stringify(expected)])
    expect(judged).toEqual(expect.arrayContaining([['denies', expected], ['beforeToolUse', expected], ['decides', expected], ['afterToolUse', expected]])) // prettier-ignore
    expect(judged.filter((entry) => !JSON.stringify(entry).includes(JSON.stringify(expected)))).toEqual([])
    expect(JSON.stringify(result.state.transcript.messages())).toContain('"count":"3"')
  })

  test('other names and forms of an input are replaced before the call is judged', async () => {
    const judged: Json[] = []
    const permissions: Permissions = {
      denies: () => undefined,
      decide: ({ call }) => (judged.push(call.input as Json), { behavior: 'allow' }),
    }
    const canonicalInput = ({ file_path, ...rest }: JsonObject): JsonObject =>
      file_path === undefined ? rest : { ...rest, path: file_path }
    const reads = { ...tool('Read', (input) => JSON.stringify(input)), inputSchema: { ...schema, additionalProperties: false }, canonicalInput } // prettier-ignore
    const inputs: Json[] = [{ file_path: 'a', count: '3' }, { path: 'a', count: 3 }, '{"file_path":"a","count":3}']
    for (const input of inputs) {
      judged.length = 0
      const result = await run([calls({ name: 'Read', input: input as JsonObject }), 'done'], {
        tools: [reads],
        permissions,
      })
      expect(JSON.parse(String(resultTexts(result)[0]))).toEqual({ path: 'a', count: 3 })
      expect(judged).toEqual([{ path: 'a', count: 3 }])
    }
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('no')
      },
    ],
    ['does not return an object', () => 'text' as never],
    ['returns its argument', (input: JsonObject) => input],
  ])('a canonicalInput that %s leaves the input unchanged', async (_how, canonicalInput) => {
    const counts = { ...tool('Count', (input) => JSON.stringify(input)), inputSchema: schema, canonicalInput }
    const result = await run([calls({ name: 'Count', input: { path: 'a' } }), 'done'], { tools: [counts] })
    expect(resultTexts(result)).toEqual(['{"path":"a"}'])
  })

  test('an early start is reused, also with a coerced input', async () => {
    let ran = 0
    const counts = { ...tool('Count', () => `${++ran}`, { readOnly: true }), inputSchema: schema }
    const result = await run([calls({ name: 'Count', input: { path: 'a', count: '3' } }), 'done'], { tools: [counts] })
    expect([resultTexts(result), ran]).toEqual([['1'], 1])
  })

  test('takes time proportional to the input and to its alternatives, and not to their product', () => {
    const choices = Array.from({ length: 3_000 }, (_, index) => `Choice ${index}`)
    const values = Array.from({ length: 30_000 }, (_, index) => (index === 1 ? 'CHOICE 7' : `none ${index}`))
    const began = performance.now()
    const coerced = coercedInput({ type: 'array', items: { type: 'string', enum: choices } }, values)
    expect(coerced).toEqual(values.with(1, 'Choice 7'))
    expect(performance.now() - began).toBeLessThan(1_500)
  })

  test('a rejection is one line with the problem and the field names', async () => {
    const result = await run(
      [calls({ name: 'Count', input: { path: { 'a\nb': 1 }, count: 'x\ny' } }, { name: 'Says', input: {} }), 'done'],
      {
        tools: [
          { ...tool('Count', 'ran'), inputSchema: schema },
          { ...tool('Says', 'ran'), validate: () => ({ valid: false, message: 'one\n  two.' }) },
        ],
      },
    )
    expect(resultTexts(result)).toEqual([
      'Invalid input for Count: path must be string, not object; count must be integer, not string. Its fields are path, note?, count?, ratio?, all?, mode?, names?, counts?, place?, either?, any?. Nothing was run.',
      'Invalid input for Says: one two. Nothing was run.',
    ])
    expect(results(result).every(({ is_error }) => is_error === true)).toBe(true)
  })
})
