import { ConfigurationError } from '../values/errors.ts'
import { deepFreeze, isJsonObject, type JsonObject } from '../values/json.ts'
import { checkToolOptions, checkWrittenSchema } from './check-tool.ts'
import type { FromJsonSchema } from './json-schema-type.ts'
import {
  checkStandard,
  isStandardSchema,
  jsonSchemaOf,
  refuseObjectOfSchemas,
  type StandardJsonSchema,
  type StandardOutput,
  type StandardSchema,
} from './standard-schema.ts'
import type { Model } from '../model/model.ts'
import type { InputCheck, PrecheckContext, Tool, ToolContext, ToolOutput } from './tool.ts'

/** A schema of a tool's input: of zod 4, valibot, arktype or any other Standard Schema, or a JSON Schema. */
export type InputSchema = StandardSchema | JsonObject

/** The type of the input that a tool with this schema receives. */
export type InputOf<Schema extends InputSchema> = Schema extends StandardSchema
  ? StandardOutput<Schema>
  : FromJsonSchema<Schema>

/** Common options of tools and agent tools. `readOnly`, `concurrencySafe` and `onUnknownOutcome` work as in `Tool`. */
export type Described<Schema extends InputSchema> = ShownSchema<Schema> & {
  readonly name: string
  /** Explains to the model what the tool is for. */
  readonly description: string
  /** The schema of the input. Default: an object without known fields. */
  readonly inputSchema?: Schema
  /** Whether a call changes nothing, as `Tool.readOnly` (default: false). */
  readonly readOnly?: boolean | ((input: InputOf<Schema>) => boolean)
  readonly concurrencySafe?: boolean
  readonly onUnknownOutcome?: 'rerun' | 'tell'
  /** Whether a person must approve a call before it runs, as `Tool.needsApproval`: `true`, or a function of the input. */
  readonly needsApproval?: boolean | ((input: InputOf<Schema>) => boolean | Promise<boolean>)
  /** A further check of an input that fits the schema; it may change the input. A throw counts as invalid. */
  readonly validate?: (input: InputOf<Schema>) => InputCheck<InputOf<Schema>>
}

type ShownSchema<Schema> = Schema extends StandardJsonSchema
  ? {
      /** The JSON Schema that is sent to the model instead of the one that the schema provides. */
      readonly modelSchema?: JsonObject
    }
  : Schema extends StandardSchema
    ? {
        /** The JSON Schema that is sent to the model. Required, because this schema provides none. */
        readonly modelSchema: JsonObject
      }
    : {
        /** Only for a Standard Schema: a JSON Schema is passed as `inputSchema` itself. */
        readonly modelSchema?: never
      }

/** The options of `tool()`. */
export type ToolOptions<Schema extends InputSchema> = Described<Schema> & {
  /** Whether it may ask a model, as `Tool.asksModel`. */
  readonly asksModel?: boolean
  /** Whether its calls wait, as `Tool.waits`. */
  readonly waits?: boolean
  /** Whether its calls are meant to change files, as `Tool.editsFiles`. */
  readonly editsFiles?: boolean
  /** Whether the tool is offered to a model, as `Tool.offeredTo`. */
  readonly offeredTo?: (model: Model) => boolean
  /** Why a call cannot succeed in the current state, as `Tool.precheck`: called before a person is asked. */
  readonly precheck?: (
    input: InputOf<Schema>,
    context: PrecheckContext,
  ) => Promise<string | undefined> | string | undefined
  /** Does the work, as `Tool.execute`. */
  readonly execute: (input: InputOf<Schema>, context: ToolContext) => Promise<ToolOutput | string> | ToolOutput | string
}

/** The schema of a tool without one: an object without known fields. */
export type NoFields = { readonly type: 'object' }

/**
 * Creates a tool whose input type follows from its schema. `execute`, `readOnly` and `validate` receive the type that
 * `inputSchema` describes; a parameter of another type does not compile. A call is checked against the JSON Schema, then
 * by the Standard Schema itself. The output of the Standard Schema (with defaults and transformations) becomes the input
 * of the tool. It must validate synchronously: a schema that returns a promise makes every call invalid.
 * @throws ConfigurationError for a Standard Schema without a JSON Schema, unless `modelSchema` provides it; for a schema
 * that is not of an object, which services require; for a missing field, or one of the wrong type.
 */
export function tool<const Schema extends InputSchema = NoFields>(options: ToolOptions<Schema>): Tool<InputOf<Schema>> {
  checkToolOptions('tool', 'execute', options)
  const { execute, asksModel, waits, editsFiles, offeredTo, precheck } = options
  return {
    ...commonFields<Schema>(options),
    ...(asksModel !== undefined && { asksModel }),
    ...(waits !== undefined && { waits }),
    ...(editsFiles !== undefined && { editsFiles }),
    ...(offeredTo !== undefined && { offeredTo }),
    ...(precheck !== undefined && { precheck }),
    execute,
  }
}

/** The common fields of tools and agent tools, from their options. */
export function commonFields<Schema extends InputSchema>(
  options: Described<Schema>,
): Omit<Tool<InputOf<Schema>>, 'execute'> {
  const {
    name,
    description,
    inputSchema: input = noFields,
    readOnly = false,
    concurrencySafe,
    onUnknownOutcome,
    needsApproval,
  } = options
  const modelSchema = 'modelSchema' in options ? options.modelSchema : undefined
  return {
    name,
    description,
    inputSchema: schemaForModel(name, input, modelSchema),
    readOnly,
    ...(concurrencySafe === undefined ? {} : { concurrencySafe }),
    ...(onUnknownOutcome === undefined ? {} : { onUnknownOutcome }),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...validateOption<InputOf<Schema>>(input, options.validate),
  }
}

const noFields: JsonObject = deepFreeze({ type: 'object' })

function inputSchemaNames(name: string): Parameters<typeof jsonSchemaOf>[1] {
  return { schemaName: `The input schema of ${name}`, givenBy: 'as `modelSchema`' }
}

function schemaForModel(name: string, input: InputSchema, modelSchema: unknown): JsonObject {
  const isOwnSchema = modelSchema === undefined && !isStandardSchema(input)
  const schema = modelSchema ?? (isStandardSchema(input) ? jsonSchemaOf(input, inputSchemaNames(name)) : input)
  if (!isJsonObject(schema))
    throw new ConfigurationError(`The input of ${name} must be a Standard Schema or a JSON Schema, and it is neither.`)
  refuseObjectOfSchemas(`The input of ${name}`, schema)
  if (isOwnSchema) checkWrittenSchema(`The input of ${name}`, schema)
  const { type } = schema
  if (type !== undefined && type !== 'object')
    throw new ConfigurationError(
      `The input of ${name} must be an object, but its schema says ${JSON.stringify(type)}. Put it into a field.`,
    )
  return schema
}

function validateOption<Input>(
  schema: InputSchema,
  validate: ((input: Input) => InputCheck<Input>) | undefined,
): Pick<Tool<Input>, 'validate'> {
  if (!isStandardSchema(schema)) {
    // The loop checks the JSON Schema first, and a valid input has the type `Input`.
    return validate === undefined ? {} : { validate: (input) => validate(input as Input) }
  }
  return {
    validate(input) {
      // The output of this schema has the type `Input`.
      const checked = checkStandard(schema as StandardSchema<unknown, Input>, input)
      return checked.valid && validate !== undefined ? validate(checked.input) : checked
    },
  }
}
