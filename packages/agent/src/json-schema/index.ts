// `@halting/agent/json-schema`: answers that fit a JSON Schema. Loaded where there is one: the validator is large.
import { Ajv, type ErrorObject } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { ConfigurationError, type FromJsonSchema, type JsonObject, type OutputSchema } from '@halting/core'
import { isJsonObject, messageOf, outputThatFits } from '@halting/core/adapters'

/**
 * Answers that fit a JSON Schema of draft 2020-12, or of draft 7 where its `$schema` says so. Formats are checked.
 * @throws ConfigurationError for what is no such schema, or points to another document.
 */
export function jsonSchemaOutput<const Schema extends JsonObject>(
  schema: Schema,
): OutputSchema<FromJsonSchema<Schema>> {
  const fits = compiled(schema)
  return outputThatFits(schema, (value) => {
    if (fits(value)) {
      // What the schema takes is what this type says of it.
      return { fits: true, value: value as FromJsonSchema<Schema> }
    }
    return { fits: false, message: wordsOf(fits.errors ?? []) }
  })
}

function compiled(schema: JsonObject): ReturnType<Ajv['compile']> {
  // Plain JavaScript may give anything.
  if (!isJsonObject(schema)) throw new ConfigurationError('A JSON Schema must be an object, such as {"type":"object"}.')
  const validator = validatorFor(schema)
  try {
    const fits = validator.compile(schema)
    // A word of this validator's own, and no part of JSON Schema: it would answer with a promise, which fits always.
    if (!('$async' in fits)) return fits
  } catch (thrown) {
    throw new ConfigurationError(`The JSON Schema cannot be used: ${messageOf(thrown)}.`)
  }
  throw new ConfigurationError('The JSON Schema cannot be used: $async is no part of JSON Schema.')
}

/** @throws ConfigurationError for another draft. */
function validatorFor({ $schema: draft = newest }: JsonObject): Ajv {
  const name = typeof draft === 'string' ? draft.replace(/^https?:/, 'http:').replace(/#$/, '') : ''
  const Validator = validators.get(name)
  if (Validator === undefined)
    throw new ConfigurationError(
      `The JSON Schema is of a draft that is not supported: ${JSON.stringify(draft)}. Write it in draft 2020-12 or 7, or leave $schema out for 2020-12.`,
    )
  // Words that are not known say nothing, as the standard has it.
  const validator = new Validator({ strict: false, allErrors: true, logger: false })
  formats.default(validator, { keywords: false })
  return validator
}

const newest = 'https://json-schema.org/draft/2020-12/schema'

const validators: ReadonlyMap<string, new (options: ConstructorParameters<typeof Ajv>[0]) => Ajv> = new Map([
  ['http://json-schema.org/draft/2020-12/schema', Ajv2020],
  ['http://json-schema.org/draft-07/schema', Ajv],
])

/** Of so many the model is told; it corrects these first. */
const mostErrors = 20

function wordsOf(errors: readonly ErrorObject[]): string {
  const told = new Set(errors.slice(0, mostErrors).map(wordOf))
  const left = errors.length - Math.min(errors.length, mostErrors)
  return [...told, ...(left > 0 ? [`and ${left} more`] : [])].join('; ')
}

function wordOf({ instancePath, keyword, message = keyword, params }: ErrorObject): string {
  const place = instancePath === '' ? 'the value' : instancePath
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue, propertyName } = params as Params
  const stranger = additionalProperty ?? unevaluatedProperty ?? propertyName
  const which = stranger === undefined ? '' : ` (${JSON.stringify(stranger)})`
  const values = allowedValues ?? (allowedValue === undefined ? undefined : [allowedValue])
  const allowed = values === undefined ? '' : `: ${JSON.stringify(values)}`
  return `${place} ${message}${which}${allowed}`.slice(0, 300)
}

/** What the validator says of an error, by its keyword. */
interface Params {
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly propertyName?: string
  readonly allowedValues?: readonly unknown[]
  readonly allowedValue?: unknown
}
