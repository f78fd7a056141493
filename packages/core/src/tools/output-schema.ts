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

/** A system prompt with what the model is told of the schema. */
export function systemWithOutput(system: string | undefined, output: OutputSchema | null | undefined): string {
  return [system, output?.instruction].filter(Boolean).join('\n\n')
}

/** A system prompt of `systemWithOutput` without what the model is told of the schema. */
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
 * Answers that a Standard Schema takes: of zod, valibot, arktype or any other. `structured_output` is what the schema makes of them, with
 * defaults and transformations. It must check at once: one that gives a promise ends the run as `error`, and
 * so does one of zod that throws.
 * @throws ConfigurationError for a schema that gives no JSON Schema, unless `jsonSchema` does: the model has to be told one.
 */
export function outputSchema<Schema extends StandardSchema>(
  schema: Schema,
  ...[options]: ShownSchema<Schema>
): OutputSchema<StandardOutput<Schema>> {
  // Plain JavaScript may give anything.
  const given: unknown = schema
  if (!isStandardSchema(given)) {
    if (isJsonObject(given)) refuseObjectOfSchemas('The output schema', given)
    throw new ConfigurationError(
      isJsonObject(given)
        ? 'The output schema is no Standard Schema. Make a JSON Schema one with jsonSchemaOutput of @halting/agent/json-schema.'
        : 'The output schema must be a Standard Schema, such as z.object({ … }), and it is none.',
    )
  }
  const shown =
    options?.jsonSchema ??
    jsonSchemaOf(schema, { what: 'The output schema', given: 'beside it: outputSchema(schema, { jsonSchema })' })
  return outputThatFits(shown, (value) => {
    const checked = checkedBy<StandardOutput<Schema>>(schema, value)
    if (checked.valid) return { fits: true, value: checked.input }
    if (checked.isAsync === true) throw new ConfigurationError(`The output schema ${returnedPromise}.`)
    return { fits: false, message: checked.message }
  })
}

/** A transformation may throw for what it cannot read, such as an address: then the value does not fit, as the input of a tool would not. */
function checkedBy<Output>(schema: StandardSchema, value: unknown): ReturnType<typeof checkStandard<Output>> {
  try {
    // The output of this schema is what `Output` is.
    return checkStandard(schema as StandardSchema<unknown, Output>, value)
  } catch (thrown) {
    if (thrown instanceof RangeError) throw thrown
    return { valid: false, message: checkFailed(messageOf(thrown)) }
  }
}

/** Answers that are JSON and fit, whoever checks them: what a schema library is put behind. */
export function outputThatFits<Output>(
  jsonSchema: JsonObject,
  check: (value: unknown) => OutputCheck<Output>,
): OutputSchema<Output> {
  return {
    instruction: outputInstruction(JSON.stringify(jsonSchema)),
    check(answer) {
      const read = jsonIn(answer)
      if ('problem' in read) return { fits: false, message: outputNotJson(headOf(read.problem, 200)) }
      return checkedAt(check, read.value)
    },
  }
}

function checkedAt<Output>(check: (value: unknown) => OutputCheck<Output>, value: unknown): OutputCheck<Output> {
  try {
    return check(value)
  } catch (thrown) {
    // A schema that names itself goes as deep as the answer does.
    if (thrown instanceof RangeError) return { fits: false, message: outputTooDeep }
    throw thrown
  }
}

/** The JSON value of an answer, within one code fence too. */
function jsonIn(answer: string): { readonly value: unknown } | { readonly problem: string } {
  // `trim` takes a byte order mark too, which JSON.parse refuses.
  const text = answer.trim()
  try {
    return { value: JSON.parse(withinFence(text) ?? text) as unknown }
  } catch (thrown) {
    return { problem: messageOf(thrown) }
  }
}

const fence = '```'

/** What stands in a code fence; undefined where the text is none. Without an expression: one would try every line end of a long answer with every other. */
function withinFence(text: string): string | undefined {
  if (!text.startsWith(fence) || !text.endsWith(fence)) return undefined
  const opened = text.indexOf('\n')
  const closed = text.length - fence.length
  // The rest of the first line names the language.
  return opened === -1 || opened > closed ? undefined : text.slice(opened, closed)
}
