// Holds rules of docs/spec: R-OUT-6 to R-OUT-8.
import { describe, expect, expectTypeOf, test } from 'vitest'
import type { JsonObject, OutputSchema } from '@halting/core'
import { jsonSchemaOutput } from '@halting/agent/json-schema'

const fit = (schema: JsonObject, ...values: readonly unknown[]): readonly boolean[] => {
  const output = jsonSchemaOutput(schema)
  return values.map((value) => output.check(JSON.stringify(value)).fits)
}
const problem = (schema: JsonObject, value: unknown): unknown => {
  const checked = jsonSchemaOutput(schema).check(JSON.stringify(value))
  return checked.fits ? undefined : checked.message
}

test('the type of the answer follows from the schema', () => {
  const bugs = jsonSchemaOutput({ type: 'object', properties: { bugs: { type: 'integer' } }, required: ['bugs'] })
  expectTypeOf(bugs).toEqualTypeOf<OutputSchema<{ readonly bugs: number }>>()
  expect(bugs.check('{"bugs":1}')).toEqual({ fits: true, value: { bugs: 1 } })
  expect(bugs.instruction).toContain('"required":["bugs"]')
})

describe('draft 2020-12 (R-OUT-6)', () => {
  const even = { type: 'number', multipleOf: 2 }
  const tree = {
    $dynamicAnchor: 'node',
    type: 'object',
    properties: { children: { type: 'array', items: { $dynamicRef: '#node' } } },
    unevaluatedProperties: false,
  }
  test.each<[keyword: string, schema: JsonObject, taken: readonly unknown[], refused: readonly unknown[]]>([
    ['prefixItems', { prefixItems: [{ type: 'string' }], items: even }, [['a', 2]], [['a', 3], [1]]],
    ['contains', { contains: even, minContains: 2, maxContains: 2 }, [[2, 4, 1]], [[2], [2, 4, 6]]],
    [
      'unevaluatedProperties',
      { allOf: [{ properties: { a: {} } }], unevaluatedProperties: false },
      [{ a: 1 }],
      [{ b: 1 }],
    ],
    ['unevaluatedItems', { prefixItems: [{}], unevaluatedItems: false }, [[1]], [[1, 2]]],
    ['dependentRequired', { dependentRequired: { a: ['b'] } }, [{}, { a: 1, b: 1 }], [{ a: 1 }]],
    ['dependentSchemas', { dependentSchemas: { a: { required: ['b'] } } }, [{ a: 1, b: 1 }], [{ a: 1 }]],
    [
      'if, then, else',
      JSON.parse('{"if":{"type":"string"},"then":{"minLength":2},"else":{"multipleOf":2}}') as JsonObject,
      ['ab', 2],
      ['a', 3],
    ],
    ['not', { not: { type: 'null' } }, [0], [null]],
    ['oneOf', { oneOf: [even, { multipleOf: 3 }] }, [2, 3], [6, 5]],
    [
      'const and enum',
      { properties: { a: { const: { x: [1] } }, b: { enum: [1, null] } } },
      [{ a: { x: [1] }, b: null }],
      [{ a: { x: [2] } }, { b: 0 }],
    ],
    [
      'propertyNames and patternProperties',
      { propertyNames: { pattern: '^x' }, patternProperties: { n$: even } },
      [{ xn: 2 }],
      [{ y: 1 }, { xn: 3 }],
    ],
    ['$ref and $defs', { $defs: { even }, items: { $ref: '#/$defs/even' } }, [[2]], [[1]]],
    ['a schema that names itself', { type: 'array', items: { $ref: '#' } }, [[[], [[]]]], [[[1]]]],
    ['$anchor', { $defs: { e: { $anchor: 'even', ...even } }, items: { $ref: '#even' } }, [[2]], [[1]]],
    ['$dynamicRef', tree, [{ children: [{ children: [] }] }], [{ children: [{ daten: 1 }] }]],
    ['uniqueItems', { uniqueItems: true }, [[1, '1']], [[{ a: 1 }, { a: 1 }]]],
    ['format', { format: 'date-time' }, ['2026-11-23T04:00:00Z', 3], ['yesterday']],
    ['minLength in characters', { maxLength: 1 }, ['😀'], ['ab']],
    ['fields that every object inherits', { required: ['toString', '__proto__'] }, [], [{}]],
    ['multipleOf of what is no binary fraction', { multipleOf: 0.01 }, [19.99, 0, 12_345_678_901.23, -0.07], [19.995]],
    ['multipleOf of large numbers', { multipleOf: 3 }, [9_007_199_254_740_990], [9_007_199_254_740_991]],
    ['words that are not known, which say nothing', { 'x-own': 1, example: 'a', format: 'own' }, [1], []],
  ])('supports %s', (_keyword, schema, taken, refused) => {
    expect(fit(schema, ...taken, ...refused)).toEqual([...taken.map(() => true), ...refused.map(() => false)])
  })

  test('applies draft 7 if the schema says so', () => {
    const schema = { items: [{ type: 'string' }], additionalItems: false }
    const seven = { $schema: 'http://json-schema.org/draft-07/schema#', ...schema }
    expect(fit(seven, ['a'], ['a', 1], [1])).toEqual([true, false, false])
    expect(() => jsonSchemaOutput(schema)).toThrow('The JSON Schema cannot be used')
  })
})

test('errors name the place and what is right (R-OUT-7)', () => {
  const schema = {
    type: 'object',
    properties: { a: { enum: ['x', 'y'] }, 'b/c': { type: 'array', items: { type: 'integer' } } },
    required: ['a', 'd'],
    additionalProperties: false,
  }
  expect(problem(schema, { a: 'z', 'b/c': [1, 'two'], e: 1 })).toBe(
    'the value must have required property \'d\'; the value must NOT have additional properties ("e"); /a must be equal to one of the allowed values: ["x","y"]; /b~1c/1 must be integer',
  )
  expect(
    problem(
      { items: { type: 'string' } },
      Array.from({ length: 100 }, () => 1),
    ),
  ).toMatch(/; \/19 must be string; and 80 more$/)
})

describe('an invalid schema is rejected at once (R-OUT-8)', () => {
  test.each<[given: unknown, words: string]>([
    [
      { type: 'whatever' },
      'The JSON Schema cannot be used: schema is invalid: data/type must be equal to one of the allowed values',
    ],
    [{ pattern: '(' }, 'The JSON Schema cannot be used: Invalid regular expression: /(/u: Unterminated group'],
    [{ required: 'a' }, 'The JSON Schema cannot be used: schema is invalid: data/required must be array'],
    [{ $ref: '#/$defs/none' }, "can't resolve reference #/$defs/none"],
    [{ $ref: 'https://example.com/schema.json' }, "can't resolve reference https://example.com/schema.json"],
    [{ $async: true }, '$async is not part of JSON Schema'],
    [{ items: { $async: true, type: 'string' } }, 'async schema in sync schema'],
    [
      { $schema: 'http://json-schema.org/draft-04/schema#' },
      'uses an unsupported draft: "http://json-schema.org/draft-04/schema#". Use draft 2020-12 or 7',
    ],
    [{ $schema: 1 }, 'uses an unsupported draft: 1.'],
    [true, 'A JSON Schema must be an object'],
    [null, 'A JSON Schema must be an object'],
  ])('%j', (given, words) => {
    expect(() => jsonSchemaOutput(given as JsonObject)).toThrow(
      expect.objectContaining({ name: 'ConfigurationError', message: expect.stringContaining(words) }),
    )
  })

  test.each<[what: string, schema: JsonObject]>([
    ['itself', { $ref: '#' }],
    ['itself for objects', { anyOf: [{ not: { type: 'object' } }, { $ref: '#' }] }],
    ['another that refers to it', { $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } }, $ref: '#/$defs/a' }],
    ['itself by $dynamicRef', { $dynamicAnchor: 'own', $dynamicRef: '#own' }],
  ])('a schema that refers to %s without end is rejected: no answer would match', (_what, schema) => {
    expect(() => jsonSchemaOutput(schema)).toThrow(
      expect.objectContaining({
        name: 'ConfigurationError',
        message: expect.stringContaining('refers to itself endlessly'),
      }),
    )
  })

  test.each<[what: string, schema: JsonObject, value: unknown]>([
    ['a pattern that goes back without end', { pattern: '^(a+)+$' }, `${'a'.repeat(60)}b`],
    [
      'a list of many objects that must differ',
      { uniqueItems: true },
      Array.from({ length: 60_000 }, (_, n) => ({ n })),
    ],
  ])('an answer that takes too long to check does not match: %s (R-OUT-9)', (_what, schema, value) => {
    const output = jsonSchemaOutput(schema)
    expect(output.check(JSON.stringify(value))).toEqual({
      fits: false,
      message: 'it took longer than 2 s to check; use shorter strings and lists',
    })
    // The next one is checked as usual.
    expect([output.check('"aaa"').fits, output.check('[1,2]').fits]).toEqual([true, true])
  })

  test('rejects a number that JavaScript cannot represent', () => {
    expect(jsonSchemaOutput({ type: 'integer' }).check('1e999')).toEqual({
      fits: false,
      message: 'the value must be integer',
    })
  })

  test('rejects an answer deeper than can be checked', () => {
    const list = { type: 'array', items: { $ref: '#' } }
    const depth = 50_000
    expect(jsonSchemaOutput(list).check('['.repeat(depth) + ']'.repeat(depth))).toEqual({
      fits: false,
      message: 'it is nested too deeply to be checked',
    })
  })

  test('uses a schema as given: adds nothing to answers, and compares no two schemas', () => {
    const first = jsonSchemaOutput({ $id: 'https://example.com/a', properties: { a: { default: 1 } } })
    jsonSchemaOutput({ $id: 'https://example.com/a', type: 'string' })
    expect(first.check('{"__proto__":{"b":1}}')).toEqual({ fits: true, value: JSON.parse('{"__proto__":{"b":1}}') })
  })
})
