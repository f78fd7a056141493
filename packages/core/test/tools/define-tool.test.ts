// Tests R-TOOL-11 to R-TOOL-13. Code that must not compile is in test/types/tool.ts.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agentTool, ConfigurationError, tool, type AnyTool, type StandardSchema } from '../../src/index.ts'
import { calls, resultTexts, run } from '../support/harness.ts'
import { doesNotMatch, schemaReturnedPromise } from '../../src/tools/schema-texts.ts'

const named = { name: 'Read', description: 'Reads a file' } as const
const path = { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] } as const

/** The errors that the model gets for calls with these inputs, without the appended schema. */
async function answers(definedTool: AnyTool, ...inputs: readonly unknown[]): Promise<readonly string[]> {
  const asked = calls(...inputs.map((input) => ({ name: definedTool.name, input })))
  const texts = resultTexts(await run([asked, 'done'], { tools: [definedTool] }))
  return texts.map((text) => String(text).replace(/ Nothing was run\..*/, ''))
}

describe('a tool made by tool()', () => {
  test('writes unless it declares otherwise, and has no undeclared properties', () => {
    const execute = () => 'done'
    expect(tool({ ...named, execute })).toEqual({ ...named, inputSchema: { type: 'object' }, readOnly: false, execute })
    const more = { readOnly: true, concurrencySafe: false, onUnknownOutcome: 'tell' } as const
    expect(tool({ ...named, ...more, inputSchema: path, execute })).toEqual({
      ...named,
      ...more,
      inputSchema: path,
      execute,
    })
  })

  test('with a JSON Schema receives what fits it, and checks it further', async () => {
    const read = tool({
      ...named,
      inputSchema: path,
      validate: (input) =>
        input.path.startsWith('/')
          ? { valid: true, input: { path: input.path.slice(1) } }
          : { valid: false, message: 'path must begin with /' },
      execute: (input) => `read ${input.path}`,
    })
    expect(await answers(read, { path: '/a' }, { path: 'a' }, {})).toEqual([
      'read a',
      'Invalid input for Read: path must begin with /.',
      'Invalid input for Read: path is missing. Its fields are path.',
    ])
  })

  test('may do its work in a subagent', async () => {
    const agent = agentTool({ ...named, inputSchema: path, readOnly: true, spawn: (input) => ({ prompt: input.path }) })
    const { model, state } = await run([calls({ name: 'Read', input: { path: 'sub' } }), 'found', 'done'], {
      tools: [agent],
    })
    expect([model.requests[1]?.messages, resultTexts({ state })]).toEqual([
      [{ role: 'user', content: 'sub' }],
      ['found'],
    ])
  })
})

describe.each([
  [
    'zod',
    z.object({ path: z.string(), limit: z.number().default(3), tags: z.array(z.string()).optional() }),
    'limit: Invalid input: expected number, received string',
  ],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({ path: v.string(), limit: v.optional(v.number(), 3), tags: v.optional(v.array(v.string())) }),
    ),
    'limit: Invalid type: Expected number but received "many"',
  ],
  [
    'arktype',
    type({ path: 'string', limit: 'number = 3', 'tags?': 'string[]' }),
    'limit must be a number (was a string)',
  ],
] as const)('a schema of %s', (_library, input, ofTheLibrary) => {
  test('shows the model its JSON Schema, and passes on its own output', async () => {
    const seen: unknown[] = []
    const read = tool({
      ...named,
      inputSchema: input,
      execute: (input) => {
        seen.push(input)
        return input.path.repeat(input.limit)
      },
    })
    expect(read.inputSchema).toMatchObject({
      type: 'object',
      properties: { path: { type: 'string' }, limit: { type: 'number' }, tags: { type: 'array' } },
      required: ['path'],
    })
    expect(read.inputSchema).not.toHaveProperty('$schema')
    expect([await answers(read, { path: 'a' }, { path: 'b', limit: 1 }), seen]).toEqual([
      ['aaa', 'b'],
      [
        { path: 'a', limit: 3 },
        { path: 'b', limit: 1 },
      ],
    ])
  })

  test('is enforced: the JSON Schema first, then the schema itself', async () => {
    const read = tool({ ...named, inputSchema: input, execute: () => 'done' })
    expect(await answers(read, { path: {} }, { path: 'a', tags: ['x', {}] })).toEqual([
      'Invalid input for Read: path must be string, not object. Its fields are path, limit?, tags?.',
      'Invalid input for Read: tags[1] must be string, not object. Its fields are path, limit?, tags?.',
    ])
    expect(read.validate?.({ path: 'a', limit: 'many' })).toEqual({ valid: false, message: ofTheLibrary })
  })
})

describe('a Standard Schema', () => {
  test('reports the path of each problem, at most twenty of them', async () => {
    const input = z.object({
      files: z.array(z.object({ at: z.string().refine((at) => at !== 'x', 'must not be x') })),
    })
    const read = tool({ ...named, inputSchema: input, execute: () => 'done' })
    const [answer] = await answers(read, { files: Array.from({ length: 30 }, () => ({ at: 'x' })) })
    const places = Array.from({ length: 20 }, (_, index) => `files[${index}].at: must not be x`)
    expect(answer).toBe(`Invalid input for Read: ${[...places, 'and 10 more'].join('; ')}.`)
  })

  test('with long messages is reported in part (R-TOOL-12)', async () => {
    const issues = Array.from({ length: 100 }, () => ({ message: 'x'.repeat(100_000) }))
    const wordy = { ...custom, validate: () => ({ issues }) }
    const [answer] = await answers(
      tool({ ...named, inputSchema: { '~standard': wordy }, modelSchema: path, execute: () => 'done' }),
      { path: 'a' },
    )
    expect(answer).toBe(`Invalid input for Read: ${'x'.repeat(4_000)}.`)
  })

  test('that checks asynchronously makes a call invalid and reports why', async () => {
    const input = z.object({ path: z.string().refine(async (at) => at !== '/') })
    const rejecting = { ...custom, validate: () => Promise.reject(new Error('unheard')) }
    for (const read of [
      tool({ ...named, inputSchema: input, execute: () => 'done' }),
      tool({ ...named, inputSchema: { '~standard': rejecting }, modelSchema: path, execute: () => 'done' }),
    ]) {
      expect(await answers(read, { path: 'a' })).toEqual([`Invalid input for Read: ${schemaReturnedPromise}.`])
    }
  })

  test('that throws, or returns nothing readable, makes a call invalid', async () => {
    const thrown = { ...custom, validate: () => { throw new Error('broken') } } // prettier-ignore
    const silent = { ...custom, validate: () => ({ issues: [] }) }
    const of = (standard: StandardSchema['~standard']) =>
      tool({ ...named, inputSchema: { '~standard': standard }, modelSchema: path, execute: () => 'done' })
    expect([await answers(of(thrown), { path: 'a' }), await answers(of(silent), { path: 'a' })]).toEqual([
      ['Invalid input for Read: broken.'],
      [`Invalid input for Read: ${doesNotMatch}.`],
    ])
  })

  test('without its own JSON Schema gets one', async () => {
    const read = tool({
      ...named,
      inputSchema: v.object({ path: v.pipe(v.string(), v.startsWith('/', 'must begin with /')) }),
      modelSchema: path,
      execute: (input) => input.path,
    })
    expect([read.inputSchema, await answers(read, { path: '/a' }, { path: 'a' })]).toEqual([
      path,
      ['/a', 'Invalid input for Read: path: must begin with /.'],
    ])
  })

  test('is asked for the next draft when it does not know the first', () => {
    const jsonSchema = {
      input: ({ target }: { readonly target: string }) => {
        if (target !== 'draft-07') throw new Error(`cannot say ${target}`)
        return { $schema: target, type: 'object', title: 'seven' }
      },
    }
    const input = { '~standard': { ...custom, jsonSchema } }
    expect(tool({ ...named, inputSchema: input, execute: () => 'done' }).inputSchema).toEqual({
      type: 'object',
      title: 'seven',
    })
  })

  const custom: StandardSchema['~standard'] = { version: 1, vendor: 'own', validate: (value) => ({ value }) }
})

describe('tool() rejects', () => {
  const execute = () => 'done'
  test.each([
    [
      'a schema that has no JSON Schema',
      v.object({}),
      'The input schema of Read (valibot) does not provide its JSON Schema. Give the JSON Schema that the model is shown as `modelSchema`.',
    ],
    [
      'a schema that JSON Schema cannot express',
      z.object({ at: z.date() }),
      'The input schema of Read (zod) cannot be converted to JSON Schema: Date cannot be represented in JSON Schema. Give the JSON Schema that the model is shown as `modelSchema`.',
    ],
    [
      'an input that is not an object',
      z.string(),
      'The input of Read must be an object, but its schema says "string". Put it into a field.',
    ],
    [
      'an input that may be something else',
      { type: ['object', 'null'] },
      'The input of Read must be an object, but its schema says ["object","null"]. Put it into a field.',
    ],
    [
      'an object of schemas',
      { path: z.string() },
      'The input of Read is an object of schemas. Give the schema of an object, such as z.object({ … }).',
    ],
    ['an invalid schema', 'string', 'The input of Read must be a Standard Schema or a JSON Schema, and it is neither.'],
  ])('%s', (_what, input, message) => {
    // As a program without types passes it.
    const options = { ...named, inputSchema: input, execute } as unknown as Parameters<typeof tool>[0]
    expect(() => tool(options)).toThrow(new ConfigurationError(message))
  })
})
