import { plainTextOf } from '../model/content.ts'
import { ConfigurationError, messageOf } from '../values/errors.ts'
import { ignoreRejection } from '../values/maybe-promise.ts'
import { fieldsOf } from '../values/validators.ts'
import { deepFreeze, isJsonObject, type JsonObject } from '../values/json.ts'
import type { InputCheck } from './tool.ts'
import { doesNotMatch, moreCount, schemaReturnedPromise } from './schema-texts.ts'

// The interfaces of https://standardschema.dev, declared here so that no library is needed for them.

/** A schema of a library that implements `~standard`: zod 4, valibot, arktype and others. */
export interface StandardSchema<Input = unknown, Output = Input> {
  /** The interface that all schema libraries implement. */
  readonly '~standard': {
    readonly version: 1
    /** Name of the library. */
    readonly vendor: string
    /** Checks a value. */
    readonly validate: (value: unknown) => StandardResult<Output> | Promise<StandardResult<Output>>
    /** Only for types: undefined at run time. */
    readonly types?:
      | {
          /** Type of the value to check. */
          readonly input: Input
          /** Type of the checked value. */
          readonly output: Output
        }
      | undefined
  }
}

type StandardResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** A Standard Schema that provides its JSON Schema: those of zod 4.2 and arktype 2.2 do, those of valibot through `toStandardJsonSchema`. */
export interface StandardJsonSchema<Input = unknown, Output = Input> extends StandardSchema<Input, Output> {
  readonly '~standard': StandardSchema<Input, Output>['~standard'] & {
    readonly jsonSchema: {
      readonly input: (options: { readonly target: string }) => { readonly [key: string]: unknown }
    }
  }
}

/** The output type of a Standard Schema; `unknown` if it has no types. */
export type StandardOutput<Schema extends StandardSchema> = Schema['~standard'] extends {
  readonly types?: { readonly output: infer Output } | undefined
}
  ? Output
  : unknown

export function isStandardSchema(value: unknown): value is StandardSchema {
  // A schema may be an object or, as in arktype, a function.
  const mayBe = (typeof value === 'object' && value !== null) || typeof value === 'function'
  return mayBe && '~standard' in value && hasFunction(value['~standard'], 'validate')
}

/** Rejects an object of schemas without `z.object` around it: `{ city: z.string() }`. @throws ConfigurationError */
export function refuseObjectOfSchemas(what: string, candidate: object): void {
  if (Object.values(candidate).some(isStandardSchema))
    throw new ConfigurationError(
      `${what} is an object of schemas. Give the schema of an object, such as z.object({ … }).`,
    )
}

function offersJsonSchema(schema: StandardSchema): schema is StandardJsonSchema {
  const standard = schema['~standard']
  return 'jsonSchema' in standard && hasFunction(standard.jsonSchema, 'input')
}

function hasFunction(value: unknown, name: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, name) === 'function'
}

/** The drafts to request, preferred one first: the services accept both. */
const targets = ['draft-2020-12', 'draft-07'] as const

/** Texts for an unusable schema: its name, and how to provide a JSON Schema instead. */
interface SchemaNames {
  readonly schemaName: string
  readonly givenBy: string
}

/** The JSON Schema of the input of a Standard Schema. @throws ConfigurationError when it provides none. */
export function jsonSchemaOf(schema: StandardSchema, names: SchemaNames): JsonObject {
  const schemaName = `${names.schemaName} (${schema['~standard'].vendor})`
  const instead = `Give the JSON Schema that the model is shown ${names.givenBy}.`
  if (!offersJsonSchema(schema))
    throw new ConfigurationError(`${schemaName} does not provide its JSON Schema. ${instead}`)
  let problem = ''
  for (const target of targets) {
    try {
      const { $schema: _, ...jsonSchema } = schema['~standard'].jsonSchema.input({ target })
      // A plain JSON copy, so that later changes to the original have no effect.
      const copy: unknown = JSON.parse(JSON.stringify(jsonSchema))
      if (isJsonObject(copy)) return deepFreeze(copy)
    } catch (error) {
      problem ||= messageOf(error)
    }
  }
  throw new ConfigurationError(`${schemaName} cannot be converted to JSON Schema: ${problem}. ${instead}`)
}

/** Maximum number of issues reported to the model; it corrects these first. */
const maxIssues = 20

/** The result of checking an input with a Standard Schema. */
type StandardCheck<Output> = InputCheck<Output> & {
  /** The schema returned a promise. */
  readonly isAsync?: true
}

/**
 * Checks an input with a Standard Schema: returns its output, or the problems as a text for a model.
 * @throws what the schema throws, and TypeError if it returns no result.
 */
export function checkStandard<Output>(schema: StandardSchema<unknown, Output>, input: unknown): StandardCheck<Output> {
  // JavaScript code may return anything.
  const result: unknown = schema['~standard'].validate(input)
  const { vendor } = schema['~standard']
  if (typeof result !== 'object' || result === null)
    throw new TypeError(`The schema (${vendor}) returned no result: expected { value } or { issues }.`)
  if ('then' in result) {
    ignoreRejection(result)
    return {
      valid: false,
      isAsync: true,
      message: schemaReturnedPromise,
    }
  }
  const issues = 'issues' in result ? (result.issues ?? undefined) : undefined
  // Without issues, `value` has the output type of the schema.
  if (issues === undefined) return { valid: true, input: (result as { readonly value: Output }).value }
  const all: readonly unknown[] = Array.isArray(issues) ? issues : [issues]
  const messages = all.slice(0, maxIssues).map(issueText)
  const remaining = all.length - messages.length
  return {
    valid: false,
    message:
      [...messages, ...(remaining > 0 ? [moreCount(remaining)] : [])].filter((names) => names !== '').join('; ') ||
      doesNotMatch,
  }
}

function issueText(issue: unknown): string {
  const { message, path } = fieldsOf(issue) ?? {}
  const names = plainTextOf(message)
  const parts: readonly unknown[] = Array.isArray(path) ? path : []
  const place = parts
    .map((part) => pathText(fieldsOf(part)?.['key'] ?? part))
    .join('')
    .replace(/^\./, '')
  // Some libraries include the position in the message.
  return place === '' || names.startsWith(place) ? names : `${place}: ${names}`
}

function pathText(key: unknown): string {
  return typeof key === 'number' ? `[${key}]` : `.${String(key)}`
}
