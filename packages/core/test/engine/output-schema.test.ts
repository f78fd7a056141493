// Tests R-OUT-1 to R-OUT-5.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { outputSchemaFromCheck } from '../../src/entries/adapters.ts'
import {
  streamRun,
  outputSchema,
  query,
  startRun,
  type RunOptions,
  type OutputSchema,
  type SdkResult,
  type StandardSchema,
} from '../../src/index.ts'
import { scriptedModel } from '../../src/testing/index.ts'
import { run, type Script } from '../support/harness.ts'
import { doesNotMatch, returnedPromise } from '../../src/tools/schema-texts.ts'

const report = z.object({ bugs: z.int(), where: z.string().default('nowhere') })

async function asked<Output>(script: Script, output: OutputSchema<Output>) {
  const model = scriptedModel(script)
  let result: SdkResult<Output> | undefined
  for await (const message of query({ prompt: 'go', options: { model, output, system: 'You look.' } }))
    if (message.type === 'result') result = message
  return { model, result }
}

describe('an answer that fits the schema (R-OUT-1)', () => {
  const shownSchema = { type: 'object', properties: { bugs: { type: 'integer' } }, required: ['bugs'] }
  const bugs = v.object({ bugs: v.pipe(v.number(), v.integer()) })
  test.each([
    ['zod', outputSchema(z.object({ bugs: z.int() }))],
    ['valibot with its own JSON Schema', outputSchema(toStandardJsonSchema(bugs))],
    ['valibot with a separate JSON Schema', outputSchema(bugs, { jsonSchema: shownSchema })],
    ['arktype', outputSchema(type({ bugs: 'number.integer' }))],
  ] as const)('of %s is the structured output', async (_name, output) => {
    const { model, result } = await asked(['{"bugs":"none"}', '```json\n{"bugs":2}\n```'], output)
    expect([result?.subtype, result?.structured_output]).toEqual(['success', { bugs: 2 }])
    const correction = JSON.stringify(model.requests[1]?.messages.at(-1))
    expect(correction).toContain('Your answer does not match the required schema: bugs')
  })

  test('is the result of the schema, with defaults and transformations', async () => {
    const output = outputSchema(report.transform(({ bugs, where }) => `${bugs} ${where}`))
    const { result } = await asked(['{"bugs":1}'], output)
    expect(result).toMatchObject({ result: '{"bugs":1}', structured_output: '1 nowhere' })
  })

  test('is requested after the system prompt, with the JSON Schema of the input (R-OUT-2)', async () => {
    const { model } = await asked(['{"bugs":1}'], outputSchema(report))
    const [own, schemaPart] = (model.requests[0]?.system ?? '').split('\n\n')
    expect(own).toBe('You look.')
    expect(JSON.parse(schemaPart?.slice(schemaPart.indexOf('\n')) ?? '')).toEqual({
      type: 'object',
      properties: {
        bugs: { type: 'integer', minimum: expect.any(Number), maximum: expect.any(Number) },
        where: { type: 'string', default: 'nowhere' },
      },
      required: ['bugs'],
    })
  })
})

describe('an answer that does not fit', () => {
  test('gets a list of everything that is wrong (R-OUT-3)', () => {
    const output = outputSchema(z.object({ bugs: z.int(), files: z.array(z.string()) }))
    expect([output.check('none'), output.check('{"bugs":1.5,"files":["a",2]}')]).toEqual([
      { fits: false, message: expect.stringMatching(/^it is not JSON \(Unexpected token .+\)$/) },
      { fits: false, message: expect.stringMatching(/^bugs: .+; files\[1\]: /) },
    ])
  })

  test('gets at most 4,000 characters of problems', async () => {
    const long = { check: () => ({ fits: false as const, message: 'x'.repeat(1_000_000) }) }
    const { terminal, model } = await run(() => 'no', { output: long })
    expect(terminal.reason).toBe('structured_output_retry_exhausted')
    expect(JSON.stringify(model.requests.at(-1)?.messages).length).toBeLessThan(5 * 4_300)
  })

  test.each([
    ['in one code fence, of any language', '```JSON\r\n{"bugs":1}\r\n```\n', true],
    ['in a fence that ends immediately', '```\n{"bugs":1}```', true],
    ['with a fence within', '```json\n{"bugs":1,"where":"```\\n```"}\n```', true],
    ['with a byte order mark', '\uFEFF{"bugs":1}', true],
    ['in two fences', '```\n{"bugs":1}\n```\n```\n{"bugs":2}\n```', false],
    ['in a fence that is cut', '```json\n{"bugs":1}', false],
    ['with text before it', 'Here:\n```json\n{"bugs":1}\n```', false],
    ['that is only a fence', '```', false],
  ])('or does: one %s', (_what, answer, fits) => {
    expect(outputSchema(report).check(answer).fits).toBe(fits)
  })

  // Quadratic time would exceed the time limit of the test.
  test.each([
    ['line ends in a fence', `\`\`\`json\n${'\n'.repeat(1_000_000)}`],
    ['lines of white space in a fence', `\`\`\`json\n${'\n '.repeat(1_000_000)}x`],
    ['white space', ' '.repeat(1_000_000)],
  ])('with a million of %s is read at once', (_what, answer) => {
    expect(outputSchema(report).check(answer)).toMatchObject({ fits: false })
  })

  test('because it is too deep to check is sent back, and the run continues', async () => {
    const deeper = (value: unknown): number => (Array.isArray(value) ? 1 + deeper(value[0]) : 0)
    const output = outputSchemaFromCheck({}, (value) => ({ fits: true, value: deeper(value) }))
    const depth = 100_000
    const { result } = await asked(['['.repeat(depth) + ']'.repeat(depth), '[[]]'], output)
    expect(result?.structured_output).toBe(2)
  })
})

describe('a schema that returns values of the wrong type (R-OUT-5a)', () => {
  const saying = (validate: () => unknown) =>
    outputSchema({ '~standard': { version: 1, vendor: 'own', validate } } as unknown as StandardSchema, {
      jsonSchema: {},
    }).check('{}')

  test.each<[what: string, validate: () => unknown, message: string]>([
    ['throws', () => new URL('nowhere'), 'its check failed: Invalid URL'],
    [
      'gives nothing',
      () => undefined,
      'its check failed: The schema (own) returned no result: expected { value } or { issues }',
    ],
    ['returns issues that are not a list', () => ({ issues: { message: 'too small' } }), 'too small'],
    ['returns an issue without a message', () => ({ issues: [{}, null] }), doesNotMatch],
    ['returns an invalid path', () => ({ issues: [{ message: 'too small', path: null }] }), 'too small'],
    [
      'returns a path of any values',
      () => ({ issues: [{ message: 'no', path: ['a', { key: 1 }, Symbol('b'), null] }] }),
      'a[1].Symbol(b).null: no',
    ],
  ])('reports that the answer does not fit when it %s', (_what, validate, message) => {
    expect(saying(validate)).toEqual({ fits: false, message: expect.stringContaining(message) })
  })

  test('accepts the answer when its issues are null', () => {
    expect(saying(() => ({ value: 7, issues: null }))).toEqual({ fits: true, value: 7 })
  })

  test('costs an answer and not the run when a transformation throws', async () => {
    const host = v.pipe(
      v.string(),
      v.transform((at) => new URL(at).host),
    )
    const output = outputSchema(v.object({ at: host }), { jsonSchema: { type: 'object' } })
    const { result } = await asked(['{"at":"here"}', '{"at":"https://example.com/"}'], output)
    expect([result?.terminal_reason, result?.structured_output]).toEqual(['completed', { at: 'example.com' }])
  })

  test('of zod that returns a promise then ends the run and names the possible cause', async () => {
    const output = outputSchema(z.object({ at: z.string().transform((at) => new URL(at).host) }))
    const { terminal } = await run(['{"at":"here"}'], { output })
    expect([terminal.reason, terminal.signal.message]).toEqual(['error', expect.stringContaining(returnedPromise)])
  })
})

describe('a schema that cannot check answers', () => {
  test.each([
    [
      'one without a JSON Schema',
      () => outputSchema(v.object({}) as unknown as typeof report),
      'The output schema (valibot) does not provide its JSON Schema. Give the JSON Schema that the model is shown beside it: outputSchema(schema, { jsonSchema }).',
    ],
    [
      'one that JSON Schema cannot express',
      () => outputSchema(z.date()),
      'The output schema (zod) cannot be converted to JSON Schema: Date cannot be represented in JSON Schema. Give the JSON Schema that the model is shown beside it: outputSchema(schema, { jsonSchema }).',
    ],
    [
      'a JSON Schema',
      () => outputSchema({ type: 'object' } as unknown as typeof report),
      'The output schema is not a Standard Schema. Convert a JSON Schema with jsonSchemaOutput of @halting/agent/json-schema.',
    ],
    [
      'nothing',
      () => outputSchema(undefined as unknown as typeof report),
      'The output schema must be a Standard Schema, such as z.object({ … }).',
    ],
  ])('is rejected at once: %s (R-OUT-4)', (_name, make, message) => {
    expect(make).toThrow(expect.objectContaining({ name: 'ConfigurationError', message }))
  })

  test('is rejected when it is passed as a check: a zod schema has a method of that name', () => {
    const model = scriptedModel(['x'])
    for (const schema of [report, type({ bugs: 'number' })]) {
      const options: RunOptions = { model, output: schema as unknown as OutputSchema }
      expect(() => streamRun(startRun({ prompt: 'go' }), options)).toThrow(
        'output must be built from the schema: outputSchema(schema)',
      )
    }
  })

  test('ends the run at the first answer when it checks asynchronously, since no other would fit (R-OUT-5)', async () => {
    const output = outputSchema(z.object({ bugs: z.int().refine(async (count) => count >= 0) }))
    const { terminal, model } = await run(['{"bugs":1}', '{"bugs":1}'], { output })
    expect([terminal.reason, model.requests.length]).toEqual(['error', 1])
    expect(terminal.signal.message).toContain(`The output schema ${returnedPromise}`)
  })

  test('leaves a result even when its second check differs from the first', async () => {
    let checks = 0
    const fickle: StandardSchema['~standard'] = {
      version: 1,
      vendor: 'own',
      validate: (value) => {
        if (checks++ > 0) throw new Error('no more')
        return { value }
      },
    }
    const { result } = await asked(['{}'], outputSchema({ '~standard': fickle }, { jsonSchema: {} }))
    expect(result).toMatchObject({ subtype: 'success', result: '{}' })
    expect(result).not.toHaveProperty('structured_output')
  })
})
