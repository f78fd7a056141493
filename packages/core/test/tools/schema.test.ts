// Tests R-SCHEMA-1 to R-SCHEMA-5.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileSchema, schemaProblems } from '../../src/entries/adapters.ts'
import type { Json, JsonObject } from '../../src/index.ts'
import { interpretedProblems } from '../support/interpreted-schema.ts'

const path = {
  type: 'object',
  properties: { path: { type: 'string', minLength: 1 } },
  required: ['path'],
  additionalProperties: false,
}

describe('the schema checker reports problems', () => {
  test.each([
    [path, { path: 'a' }, []],
    [path, {}, ['path is missing']],
    [path, { path: undefined }, ['path is missing']],
    [path, { path: 3 }, ['path must be string, not number']],
    [path, { path: '' }, ['path must have at least 1 character']],
    [path, { path: 'a', extra: 1 }, ['extra is an unknown field; the fields are path']],
    [path, [], ['the input must be object, not array']],
    [path, null, ['the input must be object, not null']],
    [path, undefined, ['the input must be object, not undefined']],
    [{ type: 'object', additionalProperties: false }, { a: 1 }, ['a is an unknown field; there are no fields']],
    [{}, 'anything', []],
    [{ type: ['string', 'null'] }, null, []],
    [{ type: ['string', 'null'] }, 1, ['the input must be string or null, not number']],
    [{ type: 'integer' }, 1.5, ['the input must be integer, not number']],
    [{ type: 'integer', minimum: 1, maximum: 3 }, 0, ['the input must be at least 1']],
    [{ type: 'integer', minimum: 1, maximum: 3 }, 4, ['the input must be at most 3']],
    [{ enum: ['a', 'b'] }, 'c', ['the input must be one of "a", "b"']],
    [{ const: 'x' }, 'y', ['the input must be "x"']],
    [{ type: 'array', items: { type: 'number' }, minItems: 1 }, [], ['the input must have at least 1 item']],
    [
      { type: 'array', items: { type: 'number' } },
      [1, 'x', 2, null],
      ['[1] must be number, not string', '[3] must be number, not null'],
    ],
    [{ anyOf: [{ type: 'string' }, { type: 'number' }] }, true, ['the input matches none of the allowed forms']],
    [{ oneOf: [{ type: 'string' }, { type: 'number' }] }, 1, []],
    [
      { type: 'object', properties: { list: { type: 'array', items: path } } },
      { list: [{ path: 'a' }, {}] },
      ['list[1].path is missing'],
    ],
    [
      { type: 'object', properties: { a: { type: 'object', properties: { b: { type: 'boolean' } } } } },
      { a: { b: 'no' } },
      ['a.b must be boolean, not string'],
    ],
    [{ type: 'object', required: ['a', 'b'] }, {}, ['a is missing', 'b is missing']],
    [{ type: 'object', required: ['toString'] }, {}, ['toString is missing']],
  ] as const)('%j given %j', (schema, value, problems) => {
    expect(schemaProblems(schema, value)).toEqual(problems)
  })
})

describe('further keywords', () => {
  const text = { type: 'string' }
  const tree = {
    $defs: { node: { type: 'object', properties: { left: { $ref: '#/$defs/node' }, size: { type: 'integer' } } } },
    $ref: '#/$defs/node',
  }
  test.each([
    [{ exclusiveMinimum: 0, exclusiveMaximum: 2 }, 1, []],
    [{ exclusiveMinimum: 0 }, 0, ['the input must be greater than 0']],
    [{ exclusiveMaximum: 2 }, 2, ['the input must be less than 2']],
    [{ multipleOf: 5 }, 7, ['the input must be a multiple of 5']],
    [{ multipleOf: 2 }, 10_000_000_000_001, ['the input must be a multiple of 2']],
    [{ multipleOf: 0.1 }, 0.3, []],
    [{ multipleOf: 0.1 }, 0.35, ['the input must be a multiple of 0.1']],
    [{ multipleOf: 0 }, 3, []],
    [{ maxLength: 2 }, 'abc', ['the input must have at most 2 characters']],
    [{ maxLength: 2 }, '😀😀', []],
    [{ maxItems: 1 }, [1, 2], ['the input must have at most 1 item']],
    [{ uniqueItems: true }, ['a', 1, '1', null, {}, {}], []],
    [{ uniqueItems: true }, ['a', 1, 'a'], ['[2] is a duplicate']],
    [{ prefixItems: [text], items: { type: 'number' } }, ['a', 1, 'b'], ['[2] must be number, not string']],
    [{ items: [text], additionalItems: false }, [1, 2], ['[0] must be string, not number', '[1] is not allowed']],
    [{ prefixItems: [text] }, ['a', 1], []],
    [{ additionalProperties: text }, { a: 'b', c: 1 }, ['c must be string, not number']],
    [{ properties: { a: true }, additionalProperties: text }, { a: 1 }, []],
    [{ properties: { a: false } }, { a: 1 }, ['a is not allowed']],
    [{ properties: { a: true }, additionalProperties: false }, { a: 1 }, []],
    [{ patternProperties: { '^x': text }, additionalProperties: false }, { y: 1 }, []],
    [{ allOf: [{ required: ['a'] }, { required: ['b'] }] }, {}, ['a is missing', 'b is missing']],
    [{ allOf: [text], minLength: 2 }, 'a', ['the input must have at least 2 characters']],
    [{ not: text }, 'a', ['the input matches a form that is not allowed']],
    [{ not: text }, 1, []],
    [
      { anyOf: [text, { type: 'null' }], oneOf: [{ const: 'a' }] },
      'b',
      ['the input matches none of the allowed forms'],
    ],
    [{ const: { a: [1, { b: null }] } }, { a: [1, { b: null }] }, []],
    [{ const: { a: 1, b: 2 } }, { b: 2, a: 1 }, []],
    [{ const: { a: 1 } }, { a: 1, b: 2 }, ['the input must be {"a":1}']],
    [{ const: [] }, {}, ['the input must be []']],
    [{ enum: [6, [], { a: [true] }] }, { a: [true] }, []],
    [{ enum: [6, [], { a: [true] }] }, [], []],
    [{ enum: [[0]] }, [false], ['the input must be one of [0]']],
    [{ minLength: 2 }, '😀', ['the input must have at least 2 characters']],
    [{ multipleOf: 0.5 }, 1e308, []],
    [tree, { left: { left: { size: 1 } } }, []],
    [tree, { left: { left: { size: 'x' } } }, ['left.left.size must be integer, not string']],
    [
      { type: 'object', properties: { next: { $ref: '#' } }, required: ['id'] },
      { id: 1, next: {} },
      ['next.id is missing'],
    ],
    [
      { definitions: { 'a/b~c d': text }, $ref: '#/definitions/a~1b~0c%20d' },
      1,
      ['the input must be string, not number'],
    ],
    [{ anyOf: [text], items: { $ref: '#/anyOf/0' } }, 'a', []],
    [{ $ref: '#/$defs/toString', $defs: {} }, 1, []],
    [{ $ref: 'https://example.com/schema' }, 1, []],
    [{ $ref: '#name' }, 1, []],
    [{ pattern: '^(a+)+$', format: 'email', contains: false }, 'a'.repeat(60) + '!', []],
  ] as const)('%j given %j', (schema: JsonObject, value, problems) => {
    expect(schemaProblems(schema, value)).toEqual(problems)
  })
})

describe('an unchecked keyword makes no input invalid', () => {
  test.each([
    [{ pattern: '^a' }, 'b'],
    [{ contains: { const: 1 } }, [2]],
    [{ properties: { a: { 'x-unknown': true } } }, { a: 1 }],
    [{ anyOf: [{ type: 'number' }, { minProperties: 1 }] }, {}],
    // The second form fits, too, so the keyword excludes the value, which the check does not notice.
    [{ oneOf: [{ type: 'number' }, { type: 'string' }] }, 1],
    [{ $ref: '#/$defs/a', $defs: { a: { uniqueItems: true } } }, [{}]],
    [{ minimum: '3' }, 1],
    [{ type: 'file' }, 1],
    [{ multipleOf: 0.1 }, 0.3000000000001],
  ])('within a not: %j', (excluded, value) => {
    const { $defs, ...rest } = excluded as JsonObject
    expect(schemaProblems({ not: rest, ...($defs !== undefined && { $defs }) }, value)).toEqual([])
    expect(schemaProblems({ not: { not: { not: rest } }, ...($defs !== undefined && { $defs }) }, value)).toEqual([])
  })

  test.each([
    [{ required: ['a'], properties: { a: { enum: [[1]] } } }, { a: [1] }],
    [{ anyOf: [{ $ref: '#/$defs/n' }], $defs: { n: { maximum: 2 } } }, 1],
    [{ not: { type: 'string' }, description: 'no text' }, 1],
    [{ oneOf: [{ type: 'string' }] }, ''],
    [{}, 1],
  ])('and a fully checked keyword excludes: %j', (excluded, value) => {
    const { $defs, ...rest } = excluded as JsonObject
    expect(schemaProblems({ not: rest, ...($defs !== undefined && { $defs }) }, value)).toHaveLength(1)
  })

  const two = { maxItems: 2 }
  test.each([
    // Up to draft 7, nothing next to a reference counts.
    [{ $schema: 'http://json-schema.org/draft-07/schema#', $ref: '#/x', x: {}, ...two }, []],
    [{ $ref: '#/definitions/x', definitions: { x: {} }, ...two }, []],
    [
      {
        $schema: 'https://json-schema.org/draft/2020-12/schema',
        definitions: { x: {} },
        $ref: '#/definitions/x',
        ...two,
      },
      ['the input must have at most 2 items'],
    ],
    [{ $ref: '#/$defs/x', $defs: { x: {} }, ...two }, ['the input must have at most 2 items']],
    // Another vocabulary may define these words differently.
    [{ $schema: 'https://example.com/vocabulary', ...two }, []],
    // References inside a part with its own address are relative to that part.
    [{ maxItems: 1, anyOf: [{ $id: 'part', type: 'array' }, false] }, ['the input must have at most 1 item']],
    [{ allOf: [{ $id: 'part', $ref: '#/$defs/x', $defs: { x: {} } }], $defs: { x: two } }, []],
    [
      {
        $ref: '#/$defs/part/allOf/0',
        $defs: { part: { $id: 'part', allOf: [{ $ref: '#/$defs/x' }], $defs: { x: {} } }, x: two },
      },
      [],
    ],
  ])('%j given a list of three', (schema: JsonObject, problems) => {
    const reported = schemaProblems(schema, [1, 2, 3])
    expect(reported).toEqual(problems)
  })

  test('also for deeply nested values and schemas', () => {
    let deep: Json = 1
    for (let level = 0; level < 2_000; level++) deep = [deep]
    expect(schemaProblems({ const: deep }, deep)).toEqual([])
    expect(schemaProblems({ enum: [deep] }, [deep])).toHaveLength(1)
    const excluding = (levels: number): JsonObject => {
      let excluded: JsonObject = { type: 'string' }
      for (let level = 0; level < levels; level++) excluded = { not: excluded }
      return excluded
    }
    expect(schemaProblems(excluding(900), 1)).toEqual(['the input is nested too deeply to be checked'])
    // Its innermost parts are never checked, so nothing is known to be excluded.
    expect(schemaProblems(excluding(100_000), 1)).toEqual([])
  })
})

describe('an input or a schema', () => {
  /** `levels` nested objects; `next` of each is the inner one. */
  const nested = (levels: number): Json => {
    let value: Json = null
    for (let level = 0; level < levels; level++) value = { next: value }
    return value
  }
  const list = { type: ['object', 'null'], properties: { next: { $ref: '#' } } }
  const tooDeep = ['the input is nested too deeply to be checked']
  const tooLarge = ['the input is too large to be checked']

  test('nested some hundred levels deep is still checked, without an overflow', () => {
    expect([249, 250, 5_000, 100_000].map((levels) => schemaProblems(list, nested(levels)))).toEqual([
      [],
      tooDeep,
      tooDeep,
      tooDeep,
    ])
  })

  test('nested too deeply is accepted when the depth is in an exclusion, or in one of several forms', () => {
    expect(schemaProblems({ not: list }, nested(5_000))).toEqual(tooDeep)
    expect(schemaProblems({ anyOf: [list, {}] }, nested(5_000))).toEqual(tooDeep)
  })

  test('that refers to itself without end terminates', () => {
    expect(schemaProblems({ $ref: '#' }, 1)).toEqual(tooDeep)
    const circular: { [key: string]: Json } = { type: 'object' }
    circular['properties'] = { next: circular }
    expect(schemaProblems(circular, { next: { next: 1 } })).toEqual(['next.next must be object, not number'])
  })

  test('whose forms multiply with every level terminates', () => {
    const forks = { anyOf: [{ allOf: [{ $ref: '#' }, false] }, { allOf: [{ $ref: '#' }, false] }] }
    expect(schemaProblems(forks, 1)).toEqual(tooDeep)
    const either = (last: string) => ({ properties: { next: { $ref: '#' } }, required: [last] })
    expect(schemaProblems({ anyOf: [either('a'), either('b'), { type: 'null' }] }, nested(60))).toEqual(tooLarge)
  })

  const numbered = <T>(count: number, item: (index: number) => T) =>
    Array.from({ length: count }, (_, index) => item(index))
  const long = numbered(2_000, (index) => index)

  // Each comparison takes about as long as its value.
  test.each<[string, JsonObject, Json]>([
    [
      'items that may be many objects',
      { items: { enum: numbered(900, (a) => ({ a })) } },
      numbered(900, () => ({ a: 899 })),
    ],
    ['constants', { allOf: numbered(1_100, () => ({ const: [...long] })) }, long],
    ['lists without repetition', { allOf: numbered(1_100, () => ({ uniqueItems: true })) }, long],
    ['checks of each item', { items: { allOf: numbered(2_200, () => ({ type: 'number' })) } }, long],
    ['names', { allOf: numbered(1_100, () => ({ required: numbered(2_000, () => 'a') })) }, { a: 1 }],
    ['characters', { allOf: numbered(350, () => ({ minLength: 49_999 })) }, 'x'.repeat(50_000)],
  ])('takes little time to multiply: %s', (_, schema, value) => {
    expect(schemaProblems(schema, value)).toEqual(tooLarge)
  })

  test('does not make a large input too large', () => {
    const items = numbered(50_000, (index) => `item ${index}`)
    const each = { type: 'string', minLength: 1, maxLength: 20, enum: items }
    expect(schemaProblems({ type: 'array', items: each, uniqueItems: true, maxItems: 50_000 }, items)).toEqual([])
    expect(schemaProblems({ const: items }, items.with(0, 'item 0'))).toEqual([])
  })

  test('has a long answer shortened: twenty problems, and paths in a few words', () => {
    const numbers = { type: 'array', items: { type: 'number' } }
    const reported = schemaProblems(
      numbers,
      Array.from({ length: 10_000 }, () => 'x'),
    )
    expect([reported.length, reported.slice(-2)]).toEqual([21, ['[19] must be number, not string', 'and more']])
    expect(
      schemaProblems(
        numbers,
        Array.from({ length: 20 }, () => 'x'),
      ),
    ).toHaveLength(20)
    const name = 'n'.repeat(10_000)
    expect(schemaProblems({ additionalProperties: false }, { [name]: 1 })).toEqual([
      `${'n'.repeat(100)}…${'n'.repeat(80)} is an unknown field; there are no fields`,
    ])
  })
})

test('compiles a schema once', () => {
  const schema = { type: 'string' }
  expect(compileSchema(schema)).toBe(compileSchema(schema))
  expect(compileSchema({ type: 'string' })).not.toBe(compileSchema(schema))
})

describe('a compiled schema', () => {
  const names = fc.constantFrom('a', 'b', 'toString', '__proto__')
  const scalar = fc.oneof(
    fc.constantFrom('', 'x', 'abc', 0, 1, 2.5, -1, true, false, null),
    fc.string({ maxLength: 3 }),
  )
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      scalar,
      fc.array(tie('value'), { maxLength: 3 }),
      fc.dictionary(names, tie('value'), { maxKeys: 3 }),
    ),
  }))
  const typeName = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null', 'file')
  const limit = fc.integer({ min: 0, max: 3 })
  const simple = {
    type: fc.oneof({ weight: 4, arbitrary: typeName }, { weight: 1, arbitrary: fc.array(typeName, { maxLength: 2 }) }),
    required: fc.array(names, { maxLength: 2 }),
    additionalProperties: fc.boolean(),
    enum: fc.array(scalar, { maxLength: 3 }),
    const: scalar,
    minimum: limit,
    maximum: limit,
    minLength: limit,
    minItems: limit,
  }
  /** A few keywords at a time: almost nothing fits many at once. */
  const keywords = (all: { readonly [keyword: string]: fc.Arbitrary<unknown> }): fc.Arbitrary<JsonObject> =>
    fc
      .subarray(Object.keys(all), { maxLength: 3 })
      .chain((chosen) =>
        fc.record(Object.fromEntries(chosen.map((name) => [name, all[name]!]))),
      ) as fc.Arbitrary<JsonObject>
  const { schema } = fc.letrec<{ schema: JsonObject }>((tie) => {
    const forms = fc.array(tie('schema'), { minLength: 1, maxLength: 2 })
    const properties = fc.dictionary(names, tie('schema'), { maxKeys: 3 })
    // `anyOf` and `oneOf` together had another meaning before.
    const deep = { ...simple, properties, items: tie('schema') }
    return {
      schema: fc.oneof(
        { maxDepth: 3 },
        keywords(simple),
        keywords({ ...deep, anyOf: forms }),
        keywords({ ...deep, oneOf: forms }),
      ),
    }
  })

  test('agrees with the interpreter for every keyword that both know', () => {
    let fitting = 0
    let wrong = 0
    fc.assert(
      fc.property(schema, value, (drawnSchema, input) => {
        const expected = interpretedProblems(drawnSchema, input)
        if (expected.length === 0) fitting++
        else wrong++
        expect(schemaProblems(drawnSchema, input)).toEqual(expected)
      }),
      { numRuns: 2_000 },
    )
    // Compares what both know.
    expect([fitting > 200, wrong > 200]).toEqual([true, true])
  })
})
