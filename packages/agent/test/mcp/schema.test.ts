// Holds R-MCP-5 to R-MCP-5f of docs/spec: the input schema of a tool as a model is shown it.
import { Ajv } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Json, JsonObject } from '@halting/core'
import { isJsonObject, schemaProblems } from '@halting/core/adapters'
import { shownSchemaOf } from '../../src/mcp/schema/shown-schema.ts'
import { saying, tool } from './in-process-server.ts'
import { call, readyServers } from './support.ts'

/** CPU time of this process, without other work on the machine. */
function cpuMsSince(begun: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(begun)
  return (user + system) / 1_000
}

const text = { type: 'string' }
const shown = (properties: JsonObject, more: JsonObject = {}): JsonObject =>
  shownSchemaOf({ type: 'object', properties, ...more }).schema

describe('a part that services refuse is omitted, and the rest stays', () => {
  test.each<readonly [JsonObject, JsonObject]>([
    [{ type: 'string', uniqueItems: 'yes' }, text],
    [{ type: 'string', examples: 'one' }, text],
    [{ type: 'string', minLength: -1 }, text],
    [
      { type: 'array', maxItems: 1.5, items: text },
      { type: 'array', items: text },
    ],
    [{ type: 'number', multipleOf: 0 }, { type: 'number' }],
    [{ type: 'string', pattern: '(' }, text],
    [{ type: 'string', $anchor: 7, deprecated: 'soon', required: true }, text],
    [{ type: 'florp', description: 'x' }, { description: 'x' }],
    [{ type: ['string', 'string'] }, text],
    [{ type: ['string', 'florp'] }, {}],
    [{ required: ['a', 7, 'a'] }, { required: ['a'] }],
    [{ enum: [] }, {}],
    [{ anyOf: [] }, {}],
    [{ dependentRequired: { a: 'b', c: ['d'] } }, { dependentRequired: { c: ['d'] } }],
    [{ items: null }, {}],
    // A keyword about the other names would accept less.
    [{ properties: 7, additionalProperties: false }, {}],
    [{ patternProperties: { '(': {}, x: text }, additionalProperties: false }, { patternProperties: { x: text } }],
    [{ prefixItems: 7, items: false }, {}],
    // Accepting more within a `not` would exclude more.
    [{ not: { type: 'string', minLength: -1 } }, {}],
    [{ not: { $ref: '#/$defs/none' } }, {}],
    [{ $ref: '#/$defs/none', description: 'x' }, { description: 'x' }],
    // Forms of earlier drafts.
    [{ minimum: 3, exclusiveMinimum: true }, { exclusiveMinimum: 3 }],
    [{ maximum: 3, exclusiveMaximum: false }, { maximum: 3 }],
    [
      { items: [text, {}], additionalItems: false },
      { prefixItems: [text, {}], items: false },
    ],
    [{ const: { $ref: '#/none' } }, { const: { $ref: '#/none' } }],
  ])('%j', (given, expected) => {
    expect(shown({ a: given, b: text })).toEqual({ type: 'object', properties: { a: expected, b: text } })
  })

  test('reports the omitted part to users', async () => {
    const inputSchema = { type: 'object', properties: { a: { type: 'array', items: { type: 'florp', pattern: '(' } } } }
    const servers = await readyServers({ s: saying([tool('a', { inputSchema })]) })
    expect(servers.statuses[0]?.leftOut).toEqual([
      'its tool a is shown without a part of its input schema: properties.a.items.type is not valid, and 1 more',
    ])
  })

  test('if it is nested too deeply, or too long', () => {
    let deep: JsonObject = text
    for (let level = 0; level < 40; level++) deep = { properties: { a: deep } }
    expect(shown({ deep, b: text })).toMatchObject({ properties: { deep: { properties: { a: {} } }, b: text } })
    const long = {
      type: 'object',
      description: 'd'.repeat(30_000),
      properties: { x: { description: 'e'.repeat(30_000) } },
    }
    expect(shown({ long, b: { description: 'of b' } })).toEqual({
      type: 'object',
      properties: { long: { ...long, properties: { x: {} } }, b: { description: 'of b' } },
    })
    const { schema, problems } = shownSchemaOf({
      properties: { long: { ...long, enum: ['f'.repeat(40_000)] }, b: text },
    })
    expect(schema).toEqual({
      type: 'object',
      properties: { long: { type: 'object', description: 'd'.repeat(200) }, b: text },
    })
    expect(problems).toEqual(['it is longer than 32768 characters'])
  })
})

describe('names of fields', () => {
  test('nested in fields stay, and at the top become acceptable to services', async () => {
    const properties = {
      $meta: { type: 'object', properties: { $vector: text, 'a b': text }, description: 'Of it.' },
      _meta: text,
      ok: { $ref: '#/properties/$meta/properties/$vector' },
      ['x'.repeat(70)]: text,
    }
    const seen: unknown[] = []
    const result = (params: unknown) => {
      seen.push(params)
      return { content: [] }
    }
    const inputSchema = { type: 'object', properties, required: ['$meta', 'ok'], dependentRequired: { $meta: ['ok'] } }
    const servers = await readyServers({ s: saying([tool('a', { inputSchema })], result) })
    expect(servers.tool('mcp__s__a')?.inputSchema).toEqual({
      type: 'object',
      properties: {
        _meta_2: { ...properties.$meta, description: 'Of it. The server calls it "$meta".' },
        _meta: text,
        ok: { $ref: '#/properties/_meta_2/properties/$vector' },
        ['x'.repeat(60)]: { ...text, description: `The server calls it "${'x'.repeat(70)}".` },
      },
      required: ['_meta_2', 'ok'],
      dependentRequired: { _meta_2: ['ok'] },
    })
    await call(servers, 'mcp__s__a', { _meta_2: { $vector: 'v' }, _meta: 'm', other: 1 })
    expect(seen).toMatchObject([{ arguments: { $meta: { $vector: 'v' }, _meta: 'm', other: 1 } }])
  })
})

describe('alternatives at the top', () => {
  const number = { type: 'number' }
  test('become fields, with words for which of them belong together', async () => {
    const inputSchema = {
      type: 'object',
      properties: { id: text },
      required: ['id'],
      oneOf: [
        {
          title: 'By path',
          properties: { kind: { const: 'path' }, path: text, limit: number },
          required: ['kind', 'path'],
        },
        { properties: { kind: { const: 'url' }, url: text, limit: text }, required: ['kind', 'url'] },
      ],
    }
    const servers = await readyServers({ s: saying([tool('a', { inputSchema, description: 'Gets it.' })]) })
    const { description, inputSchema: schema } = servers.tool('mcp__s__a') ?? {}
    expect(schema).toEqual({
      type: 'object',
      properties: {
        id: text,
        kind: { enum: ['path', 'url'] },
        path: text,
        limit: { anyOf: [number, text] },
        url: text,
      },
      required: ['id', 'kind'],
    })
    expect(description).toBe(
      'Gets it. Use one of these combinations of fields: (1) By path: kind = "path", path, [limit]; (2) kind = "url", url, [limit].',
    )
  })

  const part = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({ type: 'object', properties, ...more })
  test.each<readonly [string, JsonObject, JsonObject]>([
    [
      'a reference',
      { $ref: '#/definitions/x', definitions: { x: part({ a: text }, { required: ['a'] }) } },
      { properties: { a: text }, required: ['a'] },
    ],
    [
      'all of several',
      { allOf: [part({ a: text }), part({ a: { description: 'x' }, b: text }, { required: ['b'] })] },
      { properties: { a: { ...text, description: 'x' }, b: text }, required: ['b'] },
    ],
    [
      'two that contradict',
      { allOf: [part({ a: { ...text, minLength: 1 } }), part({ a: { minLength: 2 } })] },
      { properties: { a: { allOf: [{ ...text, minLength: 1 }, { minLength: 2 }] } } },
    ],
    [
      'one that is not an object',
      { anyOf: [part({ a: text }, { required: ['a'] }), { type: 'null' }, false] },
      { properties: { a: text }, required: ['a'] },
    ],
    [
      'closed ones',
      {
        anyOf: [part({ a: text }, { additionalProperties: false }), part({ b: text }, { additionalProperties: false })],
      },
      { properties: { a: text, b: text }, additionalProperties: false },
    ],
    [
      'closed and open ones',
      { anyOf: [part({ a: text }, { additionalProperties: false }), part({ b: text })] },
      { properties: { a: text, b: text } },
    ],
    [
      'one within another',
      { anyOf: [{ allOf: [part({ a: text }), { oneOf: [part({ b: text }), part({ c: text })] }] }, part({ a: text })] },
      { properties: { a: text, b: text, c: text } },
    ],
    ['itself', { anyOf: [{ $ref: '#' }, part({ a: text })] }, { properties: { a: text } }],
    ['nothing', { anyOf: 7, allOf: {}, $ref: '#/none', properties: { a: text } }, { properties: { a: text } }],
  ])('%s', (_, given, expected) => {
    const { definitions: _definitions, ...schema } = shownSchemaOf(given).schema
    expect(schema).toEqual({ type: 'object', ...expected })
  })

  test('that refer to each other are followed a bounded number of times', () => {
    const all = Array.from({ length: 60 }, (_, index) => ({ $ref: `#/$defs/d${index}` }))
    const $defs = Object.fromEntries(
      all.map((_, index) => [`d${index}`, { anyOf: all, properties: { [`p${index}`]: text } }]),
    )
    const begun = process.cpuUsage()
    shownSchemaOf({ anyOf: all, $defs })
    expect(cpuMsSince(begun)).toBeLessThan(2_000)
  })

  const many = <T>(length: number, of: (index: number) => T): readonly T[] => Array.from({ length }, (_, at) => of(at))
  const fields = (count: number, prefix: string): JsonObject =>
    Object.fromEntries(many(count, (index) => [`${prefix}${index}`, text]))
  test.each<readonly [string, JsonObject]>([
    [
      'many references to a large part',
      { $defs: { A: { properties: fields(4_000, 'f') } }, allOf: many(2_000, () => ({ $ref: '#/$defs/A' })) },
    ],
    [
      'the same in many alternatives',
      { $defs: { A: { properties: fields(4_000, 'f') } }, anyOf: many(2_000, () => ({ $ref: '#/$defs/A' })) },
    ],
    [
      'many alternatives with fields of their own',
      { anyOf: many(1_000, (at) => ({ properties: fields(8, `n${at}_`) })) },
    ],
    ['many values', { anyOf: many(2_000, (at) => ({ properties: { kind: { const: `k${at}` } } })) }],
    ['many names that become the same', { properties: Object.fromEntries(many(2_500, (at) => [String.fromCodePoint(0x4e00 + at), {}])) }], // prettier-ignore
  ])('are read quickly if there are many: %s', (_what, schema) => {
    const begun = process.cpuUsage()
    shownSchemaOf({ type: 'object', ...schema })
    // A server that does this with each of its tools would block the program for minutes.
    expect(cpuMsSince(begun)).toBeLessThan(1_500)
  })

  test('that refer to the same part many times are merged once', () => {
    const { schema } = shownSchemaOf({
      $defs: { A: { properties: { a: text }, required: ['a'] } },
      allOf: many(300, () => ({ $ref: '#/$defs/A' })),
    })
    expect(schema).toMatchObject({ properties: { a: text }, required: ['a'] })
  })

  test('have texts of a bounded total length', () => {
    const { note = '' } = shownSchemaOf({
      type: 'object',
      allOf: many(300, (at) => ({ anyOf: [{ required: [`a${at}`] }, { required: [`b${at}`] }] })),
    })
    expect(note).toMatch(/^Use one of these combinations of fields: /)
    expect(note.length).toBeLessThan(1_600)
  })
})

describe('for any input schema of a server', () => {
  const names = fc.constantFrom('a', 'b', '$c', 'd e')
  const scalar = fc.constantFrom<Json>('', 'a', 0, 1, 2.5, true, null)
  const { value } = fc.letrec<{ value: Json }>((tie) => ({
    value: fc.oneof({ depthSize: 'small' }, scalar, fc.array(tie('value'), { maxLength: 2 }), fc.dictionary(names, tie('value'), { maxKeys: 3 })), // prettier-ignore
  }))
  const limit = fc.integer({ min: 0, max: 3 })
  /** Now and then a keyword has an invalid value. */
  const mostly = (arbitrary: fc.Arbitrary<unknown>, odd: number): fc.Arbitrary<unknown> =>
    fc.oneof({ weight: 20, arbitrary }, { weight: odd, arbitrary: value })
  const schemas = (
    odd: number,
    references = ['#', '#/$defs/x', '#/properties/$c', '#/nowhere'],
  ): fc.Arbitrary<JsonObject> => {
    const { schema } = fc.letrec<{ schema: Json }>((tie) => {
      const each = tie('schema')
      const several = fc.array(each, { minLength: 1, maxLength: 2 })
      const named = fc.dictionary(names, each, { maxKeys: 3 })
      const simple = {
        type: fc.constantFrom('object', 'array', 'string', 'number', 'integer', 'boolean', 'null'),
        enum: fc.uniqueArray(value, { minLength: 1, maxLength: 3, selector: (one) => JSON.stringify(one) }),
        const: value,
        minimum: limit,
        minLength: limit,
        maxItems: limit,
        pattern: fc.constantFrom('^a', '.'),
        ...(references.length > 0 && { $ref: fc.constantFrom(...references) }),
      }
      const keywords: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
        ...simple,
        properties: named,
        required: fc.uniqueArray(names, { maxLength: 2 }),
        additionalProperties: each,
        patternProperties: fc.dictionary(fc.constantFrom('^a', '.'), each, { maxKeys: 1 }),
        items: each,
        prefixItems: several,
        anyOf: several,
        oneOf: several,
        allOf: several,
        not: each,
      }
      const some = fc
        .subarray(Object.keys(keywords), { maxLength: 3 })
        .chain((chosen) =>
          fc.record(Object.fromEntries(chosen.map((name) => [name, mostly(keywords[name] ?? value, odd)]))),
        )
      // A record of these is JSON.
      return { schema: fc.oneof({ maxDepth: 3 }, fc.boolean(), some as fc.Arbitrary<JsonObject>) }
    })
    return fc
      .record({ properties: fc.dictionary(names, schema, { maxKeys: 3 }), more: schema })
      .map(({ properties, more }) => ({
        ...(isJsonObject(more) ? more : {}),
        type: 'object',
        properties,
        $defs: { x: { type: 'string' } },
      }))
  }

  test('the shown schema is one that services accept', () => {
    const validator = new Ajv2020({ strict: false, validateFormats: false })
    fc.assert(
      fc.property(schemas(4), (given) => {
        const { schema } = shownSchemaOf(given)
        expect([validator.validateSchema(schema), validator.errors ?? []]).toEqual([true, []])
        expect(Object.keys(schema)).not.toEqual(
          expect.arrayContaining([expect.stringMatching(/^(?:anyOf|oneOf|allOf|not)$/)]),
        )
        expect(schema['type']).toBe('object')
        for (const name of Object.keys(schema['properties'] ?? {})) expect(name).toMatch(/^[\w.-]{1,64}$/)
      }),
      { numRuns: 60 },
    )
  })

  const options = { strict: false, validateSchema: false, validateFormats: false } as const
  test.each([
    ['2020-12', () => new Ajv2020(options), {}, undefined],
    // This validator applies keywords next to a reference, which draft 7 ignores.
    ['7', () => new Ajv(options), { $schema: 'http://json-schema.org/draft-07/schema#' }, []],
  ])('it accepts each input that the server accepts: draft %s', (_, validator, draft, references) => {
    let accepted = 0
    const inputs = fc.array(fc.dictionary(names, value, { maxKeys: 4 }), { minLength: 5, maxLength: 10 })
    fc.assert(
      fc.property(schemas(0, references), inputs, (raw, all) => {
        // An alternative that allows any field is read as if it had those of the others: here each has only its own.
        const given: JsonObject = { ...raw, ...draft, anyOf: closed(raw['anyOf']), oneOf: closed(raw['oneOf']) }
        const { schema, ownNames } = shownSchemaOf(given)
        const { $ref: dead, ...rest } = given
        let fits
        try {
          fits = validator().compile(dead === '#/nowhere' || dead === '#' ? rest : given)
        } catch {
          // It refers to something missing.
          return
        }
        const shownNames = new Map([...ownNames].map(([name, own]) => [own, name]))
        for (const input of all) {
          if (!tryFits(fits, input)) continue
          accepted++
          const renamed = Object.fromEntries(
            Object.entries(input).map(([name, one]) => [shownNames.get(name) ?? name, one]),
          )
          expect(schemaProblems(schema, renamed)).toEqual([])
        }
      }),
      { numRuns: 60 },
    )
    expect(accepted).toBeGreaterThan(30)
  })

  function closed(forms: Json | undefined): Json | undefined {
    if (!Array.isArray(forms)) return undefined
    return forms.map((form: Json) => {
      const { properties = {}, required = [] } = isJsonObject(form) ? form : {}
      return { properties, required, additionalProperties: false }
    })
  }

  function tryFits(fits: (input: unknown) => unknown, input: unknown): boolean {
    try {
      return fits(input) === true
    } catch {
      // A schema that refers to itself without end.
      return false
    }
  }
})
