import { readFile } from 'node:fs/promises'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject, OutputSchema } from '@halting/core'
import { UsageError } from '../usage-error.ts'

/** A check of the answer, and what the model has to know about it. */
export interface AnswerSchema {
  readonly output: OutputSchema
  readonly instruction: string
}

/**
 * Reads `--json-schema`: the schema itself, or a file that holds it.
 * @throws UsageError when it is no JSON Schema that we can check.
 */
export async function readAnswerSchema(given: string): Promise<AnswerSchema> {
  const schema = parseSchema(given.trimStart().startsWith('{') ? given : await schemaFile(given))
  // Loaded when used: it is the largest thing in this program.
  const { fromJSONSchema, prettifyError } = await import('zod')
  const form = compiled(() => fromJSONSchema(schema))
  return {
    output: {
      check(answer) {
        const read = jsonIn(answer)
        if (read === undefined)
          return { fits: false, message: 'The answer is not JSON. Answer with the JSON value alone.' }
        const result = form.safeParse(read.value)
        if (result.success) return { fits: true, value: read.value }
        return {
          fits: false,
          message: `The answer does not fit the schema:\n${prettifyError(result.error)}\nAnswer with the whole JSON value again.`,
        }
      },
    },
    instruction: `When you are done, answer with one JSON value alone, without any text or code fence around it. It must fit this JSON Schema:\n${JSON.stringify(schema)}`,
  }
}

async function schemaFile(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (thrown) {
    throw new UsageError(
      `--json-schema takes a JSON Schema or a file that holds one; "${path}" cannot be read: ${messageOf(thrown)}.`,
    )
  }
}

function parseSchema(text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    throw new UsageError(`--json-schema is not valid JSON: ${messageOf(thrown)}.`)
  }
  if (!isJsonObject(value)) throw new UsageError('--json-schema must be a JSON object, such as {"type":"object"}.')
  return value
}

function compiled<Form>(compile: () => Form): Form {
  try {
    return compile()
  } catch (thrown) {
    throw new UsageError(`--json-schema cannot be checked: ${messageOf(thrown)}.`)
  }
}

/** The JSON value of an answer, within a code fence too. */
function jsonIn(answer: string): { readonly value: unknown } | undefined {
  const [, fenced = answer] = /^\s*```(?:json)?\s*\n([\s\S]*?)\n\s*```\s*$/.exec(answer) ?? []
  try {
    return { value: JSON.parse(fenced) as unknown }
  } catch {
    return undefined
  }
}
