import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject, OutputSchema } from '@halting/core'
import { givenFile } from '../io/given-file.ts'
import { UsageError } from '../usage-error.ts'

/**
 * Reads `--json-schema`: the schema itself, or a file that holds it.
 * @throws UsageError when it is no JSON Schema that answers can be checked against.
 */
export async function readAnswerSchema(given: string, cwd: string): Promise<OutputSchema> {
  const isSchema = given.trimStart().startsWith('{')
  const takes = '--json-schema takes a JSON Schema or a file that holds one'
  const schema = parseSchema(isSchema ? given : await givenFile(given, cwd, takes))
  // Loaded when used: it is the largest thing in this program.
  const { jsonSchemaOutput } = await import('@halting/agent/json-schema')
  try {
    return jsonSchemaOutput(schema)
  } catch (thrown) {
    throw new UsageError(`--json-schema: ${messageOf(thrown)}`)
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
