// Types only: `npm run types` checks this file, and nothing runs it.
import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { expectTypeOf } from 'vitest'
import { z } from 'zod'
import { outputSchema, query, QueryEngine, type Model, type OutputSchema, type SdkResult } from '../../src/index.ts'

declare const model: Model

// The type of the answer follows from the schema, to the result.
const report = outputSchema(z.object({ bugs: z.number(), at: z.string().default('') }))
expectTypeOf(report).toEqualTypeOf<OutputSchema<{ bugs: number; at: string }>>()
expectTypeOf(outputSchema(type({ bugs: 'number' }))).toEqualTypeOf<OutputSchema<{ bugs: number }>>()
expectTypeOf(outputSchema(toStandardJsonSchema(v.object({ bugs: v.number() })))).toEqualTypeOf<
  OutputSchema<{ bugs: number }>
>()

for await (const message of query({ prompt: 'go', options: { model, output: report } }))
  if (message.type === 'result')
    expectTypeOf(message.structured_output).toEqualTypeOf<{ bugs: number; at: string } | undefined>()
expectTypeOf(new QueryEngine({ model, output: report })).toEqualTypeOf<QueryEngine<{ bugs: number; at: string }>>()

// Without a schema its type is unknown.
for await (const message of query({ prompt: 'go', options: { model } }))
  if (message.type === 'result') expectTypeOf(message).toEqualTypeOf<SdkResult>()

// A schema without its own JSON Schema needs a separate one.
// @ts-expect-error it is not given
outputSchema(v.object({ bugs: v.number() }))
expectTypeOf(outputSchema(v.object({ bugs: v.number() }), { jsonSchema: {} })).toEqualTypeOf<
  OutputSchema<{ bugs: number }>
>()
