// Holds R-SCHEMA-2 of docs/spec: what an independent validator accepts, the check of tool inputs accepts.
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { schemaProblems } from '@halting/core/adapters'
import type { Json, JsonObject } from '@halting/core'

const names = fc.constantFrom('a', 'b', 'c')
const scalar = fc.constantFrom<Json>('', 'a', 'ab', '😀', 0, 1, 2.5, -1, true, false, null)
const { value } = fc.letrec<{ value: Json }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'small' },
    scalar,
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(names, tie('value'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))
const limit = fc.integer({ min: 0, max: 3 })
const typeName = fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null')
const pattern = fc.constantFrom('^a', 'b$', '.')

const { schema } = fc.letrec<{ schema: Json }>((tie) => {
  const part = tie('schema')
  const parts = fc.array(part, { minLength: 1, maxLength: 2 })
  const named = fc.dictionary(names, part, { maxKeys: 2, noNullPrototype: true })
  const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
    type: typeName,
    enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) }),
    const: value,
    properties: named,
    required: fc.uniqueArray(names, { maxLength: 2 }),
    additionalProperties: part,
    items: part,
    minItems: limit,
    maxItems: limit,
    uniqueItems: fc.boolean(),
    minimum: limit,
    exclusiveMaximum: limit,
    multipleOf: fc.constantFrom(1, 2, 0.5),
    minLength: limit,
    maxLength: limit,
    anyOf: parts,
    oneOf: parts,
    allOf: parts,
    not: part,
    $ref: fc.constantFrom('#/$defs/a', '#/$defs/b'),
    // Not checked here.
    pattern,
    patternProperties: fc.dictionary(pattern, part, { maxKeys: 1, noNullPrototype: true }),
    contains: part,
    minProperties: limit,
    maxProperties: limit,
    propertyNames: part,
    description: fc.constant('words'),
  }
  const some = fc
    .subarray(Object.keys(keywords), { minLength: 1, maxLength: 3 })
    .chain((chosen) => fc.record(Object.fromEntries(chosen.map((name) => [name, keywords[name] ?? fc.constant(1)]))))
  // A record of these is JSON.
  return { schema: fc.oneof({ maxDepth: 4 }, fc.boolean(), some as fc.Arbitrary<JsonObject>) }
})

const options = { strict: false, validateSchema: false, validateFormats: false } as const
// No inline `$defs` may form a cycle: what they name has no reference in it.
const plain = fc.constantFrom<JsonObject>({ type: 'string' }, { pattern: 'a' }, { enum: [[1], {}] }, { minItems: 1 })

test.each([
  ['2020-12', () => new Ajv2020(options)],
  ['7', () => new Ajv(options)],
])('accepts what ajv accepts: draft %s', (draft, validator) => {
  let accepted = 0
  let rejected = 0
  fc.assert(
    fc.property(schema, plain, plain, fc.array(value, { minLength: 5, maxLength: 10 }), (given, a, b, inputs) => {
      const whole: JsonObject = {
        ...(draft === '7' && { $schema: 'http://json-schema.org/draft-07/schema#' }),
        allOf: [given],
        $defs: { a, b },
      }
      const fits = validator().compile(whole)
      for (const input of inputs) {
        const problems = schemaProblems(whole, input)
        if (problems.length > 0) rejected++
        if (!fits(input)) continue
        accepted++
        expect(problems).toEqual([])
      }
    }),
    { numRuns: 150 },
  )
  // The comparison is about both.
  expect([accepted > 200, rejected > 200]).toEqual([true, true])
})
