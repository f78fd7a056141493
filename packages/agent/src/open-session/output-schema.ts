import { ConfigurationError, type JsonObject, type OutputSchema } from '@halting/core'
import { isJsonObject, messageOf } from '@halting/core/adapters'
import { givenFile } from './given-file.ts'
import type { SessionPorts } from './ports.ts'

/**
 * Reads the schema of answers: the schema itself, or a file that holds it.
 * @throws ConfigurationError when it is no JSON Schema that answers can be checked against.
 */
export async function readAnswerSchema(
  given: string,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<OutputSchema> {
  const isSchema = given.trimStart().startsWith('{')
  const name = nameOf('jsonSchema')
  const takes = `${name} takes a JSON Schema or a file that contains one`
  const schema = parseSchema(isSchema ? given : await givenFile(given, cwd, takes), name)
  // Loaded when used: it is the largest thing in this program.
  const { jsonSchemaOutput } = await import('../json-schema/index.ts')
  try {
    return jsonSchemaOutput(schema)
  } catch (thrown) {
    throw new ConfigurationError(`${name}: ${messageOf(thrown)}`)
  }
}

function parseSchema(text: string, name: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (thrown) {
    throw new ConfigurationError(`${name} is not valid JSON: ${messageOf(thrown)}.`)
  }
  if (!isJsonObject(value)) throw new ConfigurationError(`${name} must be a JSON object, such as {"type":"object"}.`)
  return value
}
