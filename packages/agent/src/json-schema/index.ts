// `@halting/agent/json-schema`: answers that match a JSON Schema. Loaded on demand: the validator is large.
import { createContext, Script } from 'node:vm'
import { Ajv, type ErrorObject, type FuncKeywordDefinition, str } from 'ajv'
import { Ajv2020 } from 'ajv/dist/2020.js'
import formats from 'ajv-formats'
import { ConfigurationError, type FromJsonSchema, type JsonObject, type OutputSchema } from '@halting/core'
import { headOf, isJsonObject, messageOf, outputSchemaFromCheck } from '@halting/core/adapters'

/**
 * Answers that match a JSON Schema of draft 2020-12, or of draft 7 if its `$schema` says so. Formats are checked.
 * @throws ConfigurationError for an invalid schema, or one that refers to another document.
 */
export function jsonSchemaOutput<const Schema extends JsonObject>(
  schema: Schema,
): OutputSchema<FromJsonSchema<Schema>> {
  const fits = compiled(schema)
  return outputSchemaFromCheck(schema, (value) => {
    const isFit = inTime(() => fits(value))
    if (isFit === undefined)
      return {
        fits: false,
        message: `it took longer than ${maxMs / 1000} s to check; use shorter strings and lists`,
      }
    if (isFit) {
      // A valid value has this type.
      return { fits: true, value: value as FromJsonSchema<Schema> }
    }
    return { fits: false, message: wordsOf(fits.errors ?? []) }
  })
}

/**
 * Time limit of validation: patterns may backtrack without end on some texts, and lists may be compared item by item.
 * An answer must not block the program.
 */
const maxMs = 2_000
const context: { work: () => unknown } = Object.assign(createContext({}), { work: () => false })
const call = new Script('work()')

/** Returns the result of the work; undefined at the time limit. Only a separate script can be interrupted. */
function inTime(work: () => unknown): boolean | undefined {
  context.work = work
  try {
    return call.runInContext(context, { timeout: maxMs }) === true
  } catch (thrown) {
    if (isJsonObject(thrown) && thrown['code'] === 'ERR_SCRIPT_EXECUTION_TIMEOUT') return undefined
    throw thrown
  } finally {
    context.work = () => false
  }
}

function compiled(schema: JsonObject): ReturnType<Ajv['compile']> {
  // Plain JavaScript may pass anything.
  if (!isJsonObject(schema)) throw new ConfigurationError('A JSON Schema must be an object, such as {"type":"object"}.')
  const validator = validatorFor(schema)
  try {
    const fits = validator.compile(schema)
    // `$async` is an extension of this validator: validation would return a promise, which always counts as valid.
    if (!('$async' in fits)) {
      // These values have no depth, so a schema that recurses on one of them refers to itself without end.
      for (const value of [null, true, 1, '', [], {}]) inTime(() => fits(value))
      return fits
    }
  } catch (thrown) {
    const why =
      thrown instanceof RangeError ? 'it is nested too deeply, or refers to itself endlessly' : messageOf(thrown)
    throw new ConfigurationError(`The JSON Schema cannot be used: ${headOf(why, maxProblem)}.`)
  }
  throw new ConfigurationError('The JSON Schema cannot be used: $async is not part of JSON Schema.')
}

/** @throws ConfigurationError for another draft. */
function validatorFor({ $schema: draft = newest }: JsonObject): Ajv {
  const name = typeof draft === 'string' ? draft.replace(/^https?:/, 'http:').replace(/#$/, '') : ''
  const Validator = validators.get(name)
  if (Validator === undefined)
    throw new ConfigurationError(
      `The JSON Schema uses an unsupported draft: ${JSON.stringify(draft)}. Use draft 2020-12 or 7, or remove $schema to use 2020-12.`,
    )
  const validator = new Validator({
    // Unknown keywords have no effect, as the standard says.
    strict: false,
    // JSON cannot represent 1e999.
    strictNumbers: true,
    // Inherited properties of JavaScript objects are not fields of an answer.
    ownProperties: true,
    allErrors: true,
    logger: false,
  })
  validator.removeKeyword('multipleOf')
  validator.addKeyword(multipleOf)
  formats.default(validator, { keywords: false })
  return validator
}

/**
 * Checks `multipleOf` on decimal digits: 19.99 is a multiple of 0.01, although their floating-point values are not.
 */
const multipleOf: FuncKeywordDefinition = {
  keyword: 'multipleOf',
  type: 'number',
  schemaType: 'number',
  metaSchema: { type: 'number', exclusiveMinimum: 0 },
  error: { message: ({ schemaCode }) => str`must be multiple of ${schemaCode}` },
  compile: (divisor: number) => (value: number) => {
    if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0
    const quotient = value / divisor
    return Math.abs(Math.round(quotient) - quotient) <= Math.abs(quotient) * 4 * Number.EPSILON
  },
}

/** Maximum characters of a schema error. */
const maxProblem = 1_000

const newest = 'https://json-schema.org/draft/2020-12/schema'

const validators: ReadonlyMap<string, new (options: ConstructorParameters<typeof Ajv>[0]) => Ajv> = new Map([
  ['http://json-schema.org/draft/2020-12/schema', Ajv2020],
  ['http://json-schema.org/draft-07/schema', Ajv],
])

/** Number of errors reported to the model, which corrects these first. */
const maxErrors = 20

function wordsOf(errors: readonly ErrorObject[]): string {
  const problems = new Set(errors.slice(0, maxErrors).map(wordOf))
  const left = errors.length - Math.min(errors.length, maxErrors)
  return [...problems, ...(left > 0 ? [`and ${left} more`] : [])].join('; ')
}

function wordOf({ instancePath, keyword, message = keyword, params }: ErrorObject): string {
  const place = instancePath === '' ? 'the value' : instancePath
  const { additionalProperty, unevaluatedProperty, allowedValues, allowedValue, propertyName } = params as Params
  const stranger = additionalProperty ?? unevaluatedProperty ?? propertyName
  const which = stranger === undefined ? '' : ` (${JSON.stringify(stranger)})`
  const values = allowedValues ?? (allowedValue === undefined ? undefined : [allowedValue])
  const allowed = values === undefined ? '' : `: ${JSON.stringify(values)}`
  return headOf(`${headOf(place, 200)} ${message}${which}${allowed}`, 300)
}

/** What the validator reports about an error, by its keyword. */
interface Params {
  readonly additionalProperty?: string
  readonly unevaluatedProperty?: string
  readonly propertyName?: string
  readonly allowedValues?: readonly unknown[]
  readonly allowedValue?: unknown
}
