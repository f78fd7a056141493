import { ConfigurationError, messageOf } from '../values/errors.ts'
import { isJsonObject, type JsonObject } from '../values/json.ts'
import { headOf } from '../values/text.ts'
import {
  checkStandard,
  isStandardSchema,
  jsonSchemaOf,
  refuseObjectOfSchemas,
  type StandardJsonSchema,
  type StandardOutput,
  type StandardSchema,
} from './standard-schema.ts'
import type { OutputCheck, OutputSchema } from './structured-output.ts'
import { checkFailed, outputInstruction, outputNotJson, outputTooDeep, returnedPromise } from './schema-texts.ts'

export type { OutputCheck, OutputSchema }

/** A system prompt with the instruction of the schema. */
export function systemWithOutput(system: string | undefined, output: OutputSchema | null | undefined): string {
  return [system, output?.instruction].filter(Boolean).join('\n\n')
}

/** A system prompt of `systemWithOutput` without the instruction of the schema. */
export function systemWithoutOutput(system: string, output: OutputSchema | null): string {
  const instruction = output?.instruction ?? ''
  return instruction !== '' && system.endsWith(instruction)
    ? system.slice(0, -instruction.length).replace(/\n\n$/, '')
    : system
}

type ShownSchema<Schema extends StandardSchema> = Schema extends StandardJsonSchema
  ? readonly [options?: { readonly jsonSchema?: JsonObject }]
  : readonly [options: { readonly jsonSchema: JsonObject }]

/**
 * Answers that match a Standard Schema of zod, valibot, arktype or any other library. `structured_output` is its output,
 * with defaults and transformations. It must validate synchronously: a schema that returns a promise ends the run as
 * `error`, and so does a zod schema that throws.
 * @throws ConfigurationError for a schema without a JSON Schema, unless `jsonSchema` provides it, because the model
 * needs one.
 */
export function outputSchema<Schema extends StandardSchema>(
  schema: Schema,
  ...[options]: ShownSchema<Schema>
): OutputSchema<StandardOutput<Schema>> {
  // JavaScript code may pass anything.
  const unchecked: unknown = schema
  if (!isStandardSchema(unchecked)) {
    if (isJsonObject(unchecked)) refuseObjectOfSchemas('The output schema', unchecked)
    throw new ConfigurationError(
      isJsonObject(unchecked)
        ? 'The output schema is not a Standard Schema. Convert a JSON Schema with jsonSchemaOutput of @halting/agent/json-schema.'
        : 'The output schema must be a Standard Schema, such as z.object({ … }).',
    )
  }
  const instructionSchema =
    options?.jsonSchema ??
    jsonSchemaOf(schema, {
      schemaName: 'The output schema',
      givenBy: 'beside it: outputSchema(schema, { jsonSchema })',
    })
  return outputSchemaFromCheck(instructionSchema, (value) => {
    const checked = checkedBy<StandardOutput<Schema>>(schema, value)
    if (checked.valid) return { fits: true, value: checked.input }
    if (checked.isAsync === true) throw new ConfigurationError(`The output schema ${returnedPromise}.`)
    return { fits: false, message: checked.message }
  })
}

/** A transformation may throw for a value that it cannot read, such as an address. The value then counts as invalid, as for a tool input. */
function checkedBy<Output>(schema: StandardSchema, value: unknown): ReturnType<typeof checkStandard<Output>> {
  try {
    // The output of this schema has the type `Output`.
    return checkStandard(schema as StandardSchema<unknown, Output>, value)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw thrown
    return { valid: false, message: checkFailed(messageOf(thrown)) }
  }
}

/** Answers that are JSON and pass a check. Use it to integrate a schema library. */
export function outputSchemaFromCheck<Output>(
  jsonSchema: JsonObject,
  check: (value: unknown) => OutputCheck<Output>,
): OutputSchema<Output> {
  return {
    instruction: outputInstruction(JSON.stringify(jsonSchema)),
    check(answer) {
      const parsed = jsonInAnswer(answer)
      if ('problem' in parsed) return { fits: false, message: outputNotJson(headOf(parsed.problem, 200)) }
      return checkedAt(check, parsed.value)
    },
  }
}

function checkedAt<Output>(check: (value: unknown) => OutputCheck<Output>, value: unknown): OutputCheck<Output> {
  try {
    return check(value)
  } catch (thrown) {
    // The check of a recursive schema recurses as deep as the answer.
    if (thrown instanceof RangeError) return { fits: false, message: outputTooDeep }
    throw thrown
  }
}

/** The JSON value of an answer; it may be in one code fence. */
function jsonInAnswer(answer: string): { readonly value: unknown } | { readonly problem: string } {
  // `trim` also removes a byte order mark, which `JSON.parse` refuses.
  const text = answer.trim()
  try {
    return { value: JSON.parse(textInFence(text) ?? text) as unknown }
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
}

const fence = '```'

/** The text in a code fence; undefined without a fence. Uses no regular expression, which would try all pairs of line ends of a long answer. */
function textInFence(text: string): string | undefined {
  if (!text.startsWith(fence) || !text.endsWith(fence)) return undefined
  const opened = text.indexOf('\n')
  const fenceEnd = text.length - fence.length
  // The rest of the first line is the language.
  return opened === -1 || opened > fenceEnd ? undefined : text.slice(opened, fenceEnd)
}
