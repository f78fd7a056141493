import { ConfigurationError } from '../errors.ts'
import { deepFreeze, isJsonObject, type JsonObject } from '../json.ts'
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

/** The type of the input that a tool with this schema is given. */
export type InputOf<Schema extends InputSchema> = Schema extends StandardSchema
  ? StandardOutput<Schema>
  : FromJsonSchema<Schema>

/** What tools and agent tools have in common. `readOnly`, `concurrencySafe` and `onUnknownOutcome` are those of `Tool`. */
export type Described<Schema extends InputSchema> = ShownSchema<Schema> & {
  readonly name: string
  /** Says to the model what the tool is for. */
  readonly description: string
  /** The schema of the input; an object without known fields when absent. */
  readonly inputSchema?: Schema
  /** False when absent. */
  readonly readOnly?: boolean | ((input: InputOf<Schema>) => boolean)
  readonly concurrencySafe?: boolean
  readonly onUnknownOutcome?: 'rerun' | 'tell'
  /** Whether a person is asked before a call runs, as `Tool.needsApproval`: `true`, or a function of the input. */
  readonly needsApproval?: boolean | ((input: InputOf<Schema>) => boolean | Promise<boolean>)
  /** A further check of an input that fits the schema; may change it. Throwing counts as invalid. */
  readonly validate?: (input: InputOf<Schema>) => InputCheck<InputOf<Schema>>
}

type ShownSchema<Schema> = Schema extends StandardJsonSchema
  ? {
      /** Shown to the model in place of the JSON Schema that the schema gives. */
      readonly modelSchema?: JsonObject
    }
  : Schema extends StandardSchema
    ? {
        /** Shown to the model: this schema gives no JSON Schema. */
        readonly modelSchema: JsonObject
      }
    : {
        /** For a Standard Schema: a JSON Schema is `inputSchema` itself. */
        readonly modelSchema?: never
      }

/** What `tool()` takes. */
export type ToolOptions<Schema extends InputSchema> = Described<Schema> & {
  /** It may ask a model, as `Tool.asksModel`. */
  readonly asksModel?: boolean
  /** Its calls wait, as `Tool.waits`. */
  readonly waits?: boolean
  /** Its calls are to change files, as `Tool.editsFiles`. */
  readonly editsFiles?: boolean
  /** Whether a model is shown it, as `Tool.offeredTo`. */
  readonly offeredTo?: (model: Model) => boolean
  /** Why a call cannot succeed as things are now, as `Tool.precheck`: asked before a person is. */
  readonly precheck?: (
    input: InputOf<Schema>,
    context: PrecheckContext,
  ) => Promise<string | undefined> | string | undefined
  /** Does the work, as `Tool.execute`. */
  readonly execute: (input: InputOf<Schema>, context: ToolContext) => Promise<ToolOutput | string> | ToolOutput | string
}

/** The schema of a tool that gives none: an object without known fields. */
export type NoFields = { readonly type: 'object' }

/**
 * Makes a tool whose input type follows from its schema: `execute`, `readOnly` and `validate` are given what `inputSchema` describes, and a
 * parameter of another type does not compile. A call is checked against the JSON Schema, then by the Standard Schema itself, whose
 * output (with defaults and transformations) is the input. It must check at once: a schema that gives a promise makes every call invalid.
 *
 * @throws ConfigurationError for a Standard Schema that gives no JSON Schema, unless `modelSchema` does; for a schema that
 * is not of an object: services take no other; for a field that is absent, or not of its type.
 */
export function tool<const Schema extends InputSchema = NoFields>(options: ToolOptions<Schema>): Tool<InputOf<Schema>> {
  checkToolOptions('tool', 'execute', options)
  const { execute, asksModel, waits, editsFiles, offeredTo, precheck } = options
  return {
    ...described<Schema>(options),
    ...(asksModel !== undefined && { asksModel }),
    ...(waits !== undefined && { waits }),
    ...(editsFiles !== undefined && { editsFiles }),
    ...(offeredTo !== undefined && { offeredTo }),
    ...(precheck !== undefined && { precheck }),
    execute,
  }
}

/** What tools and agent tools have in common, of their options. */
export function described<Schema extends InputSchema>(
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
  const given = 'modelSchema' in options ? options.modelSchema : undefined
  return {
    name,
    description,
    inputSchema: shownSchema(name, input, given),
    readOnly,
    ...(concurrencySafe === undefined ? {} : { concurrencySafe }),
    ...(onUnknownOutcome === undefined ? {} : { onUnknownOutcome }),
    ...(needsApproval === undefined ? {} : { needsApproval }),
    ...checkOf<InputOf<Schema>>(input, options.validate),
  }
}

const noFields: JsonObject = deepFreeze({ type: 'object' })

function inputWords(name: string): Parameters<typeof jsonSchemaOf>[1] {
  return { what: `The input schema of ${name}`, given: 'as `modelSchema`' }
}

function shownSchema(name: string, input: InputSchema, given: unknown): JsonObject {
  const isWritten = given === undefined && !isStandardSchema(input)
  const schema = given ?? (isStandardSchema(input) ? jsonSchemaOf(input, inputWords(name)) : input)
  if (!isJsonObject(schema))
    throw new ConfigurationError(`The input of ${name} must be a Standard Schema or a JSON Schema, and it is neither.`)
  refuseObjectOfSchemas(`The input of ${name}`, schema)
  if (isWritten) checkWrittenSchema(`The input of ${name}`, schema)
  const { type } = schema
  if (type !== undefined && type !== 'object')
    throw new ConfigurationError(
      `The input of ${name} must be an object, but its schema says ${JSON.stringify(type)}. Put it into a field.`,
    )
  return schema
}

function checkOf<Input>(
  schema: InputSchema,
  validate: ((input: Input) => InputCheck<Input>) | undefined,
): Pick<Tool<Input>, 'validate'> {
  if (!isStandardSchema(schema)) {
    // The loop checks the JSON Schema first, and `Input` is what fits it.
    return validate === undefined ? {} : { validate: (input) => validate(input as Input) }
  }
  return {
    validate(input) {
      // The output of this schema is what `Input` is.
      const checked = checkStandard(schema as StandardSchema<unknown, Input>, input)
      return checked.valid && validate !== undefined ? validate(checked.input) : checked
    },
  }
}
