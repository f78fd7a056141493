import { readFile } from 'node:fs/promises'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import type { JsonObject, OutputSchema } from '@halting/core'
import { UsageError } from '../usage-error.ts'

/**
 * Reads `--json-schema`: the schema itself, or a file that holds it.
 * @throws UsageError when it is no JSON Schema that answers can be checked against.
 */
export async function readAnswerSchema(given: string): Promise<OutputSchema> {
  const schema = parseSchema(given.trimStart().startsWith('{') ? given : await schemaFile(given))
  // Loaded when used: it is the largest thing in this program.
  const { jsonSchemaOutput } = await import('@halting/agent/json-schema')
  try {
    return jsonSchemaOutput(schema)
  } catch (thrown) {
    throw new UsageError(`--json-schema: ${messageOf(thrown)}`)
  }
}

async function schemaFile(path: string): Promise<string> {
  try {
    return (await readFile(path, 'utf8')).replace(/^\uFEFF/, '')
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
