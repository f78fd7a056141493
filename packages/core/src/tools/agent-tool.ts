import { isModel } from './check-options.ts'
import { ConfigurationError } from '../values/errors.ts'
import {
  fieldsOf,
  isFunction,
  isPositive,
  isText,
  optional,
  throwInvalidOption,
  type Fields,
  type Validator,
} from '../values/validators.ts'
import { isGoals } from '../goals/run-goals.ts'
import { jsonOf, type JsonObject } from '../values/json.ts'
import type { Model } from '../model/model.ts'
import { outputSchema, outputSchemaFromCheck, type OutputSchema } from './output-schema.ts'
import { missingTools } from './result-texts.ts'
import { checkToolOptions, checkWrittenSchema, isTools } from './check-tool.ts'
import { commonFields, type Described, type InputOf, type InputSchema, type NoFields } from './define-tool.ts'
import { schemaProblems } from './schema.ts'
import { isStandardSchema, refuseObjectOfSchemas, type StandardJsonSchema } from './standard-schema.ts'
import type { AgentTool, AnyTool, ChildRun, SpawnContext } from './tool.ts'

/**
 * The schema for the answer of a subagent: a Standard Schema that provides its JSON Schema, any `OutputSchema`, or a
 * JSON Schema. A JSON Schema is checked like one of tool inputs, so formats and patterns are not checked.
 */
export type AgentOutput = OutputSchema | StandardJsonSchema | JsonObject

/** An agent with a fixed description: its own tools, model and output. */
type DescribedAgent<Schema extends InputSchema> = Described<Schema> &
  Pick<
    ChildRun,
    'system' | 'maxTurns' | 'maxBudgetUsd' | 'maxTotalTokens' | 'maxDurationMs' | 'maxToolCalls' | 'until' | 'agentType'
  > & {
    /**
     * All tools of the agent: its own tools, which replace tools of the run with the same name, and names of tools of
     * the run. Without this option it has no tools.
     */
    readonly tools?: readonly (AnyTool | string)[]
    /** The model of the agent, or the id of a model of the run. Default: the run's model. */
    readonly model?: Model | string
    /** The schema for the answer. The result of a call is then the parsed value as JSON. */
    readonly output?: AgentOutput
    /** Builds the prompt from an input. Default: the text if the input has a single text field, otherwise the input as JSON. */
    readonly prompt?: (input: InputOf<Schema>) => string
    readonly spawn?: never
    readonly models?: never
  }

/** An agent whose child run is decided for each call. */
type SpawnedAgent<Schema extends InputSchema> = Described<Schema> & {
  /** Returns the child run, like `AgentTool.spawn`. */
  readonly spawn: (input: InputOf<Schema>, context: SpawnContext) => ChildRun
  /** Models that its subagents may use in addition to those of the run. */
  readonly models?: readonly Model[]
  /** Tools that its subagents may have in addition to those of the run, like `AgentTool.tools`. */
  readonly tools?: readonly AnyTool[]
  /** The schema for the answer. The result of a call is then the parsed value as JSON. */
  readonly output?: AgentOutput
}

/** The options of `agentTool()`: a description of the agent, or `spawn`, which decides for each call. */
export type AgentToolOptions<Schema extends InputSchema> = DescribedAgent<Schema> | SpawnedAgent<Schema>

/**
 * Creates a tool whose work is done by a subagent: a separate run under the budget, permissions, hooks and guards of the
 * calling run. Its calls in one message run in parallel, at most 10 at once (`toolConcurrency`). `concurrencySafe:
 * false` runs them one at a time. Without `inputSchema` and `spawn` the input is `{ prompt }`.
 * @throws ConfigurationError in the same cases as `tool`, and for an invalid tool, model, limit or output schema.
 */
export function agentTool<const Schema extends InputSchema = NoFields>(
  options: AgentToolOptions<Schema>,
): AgentTool<InputOf<Schema>> {
  const isSpawned = fieldsOf(options)?.['spawn'] !== undefined
  checkToolOptions('agentTool', isSpawned ? 'spawn' : undefined, options)
  checkAgent(options)
  const { name } = options
  const output = outputOf(name, options.output)
  const parts = output === undefined ? {} : { output }
  if (options.spawn !== undefined) {
    const { models, tools, spawn } = options
    return {
      ...commonFields<Schema>(options),
      ...(models !== undefined && { models }),
      ...(tools !== undefined && { tools }),
      ...parts,
      spawn,
    }
  }
  const { model, tools = [], inputSchema } = options
  const ownTools = tools.filter((tool) => typeof tool !== 'string')
  // The schema of `{ prompt }` accepts the input type that `InputOf` has without a schema: any object.
  const schemaOptions =
    inputSchema === undefined ? { ...options, inputSchema: promptOnlySchema as unknown as Schema } : options
  return {
    ...commonFields<Schema>(schemaOptions),
    ...(typeof model === 'object' && { models: [model] }),
    ...(ownTools.length > 0 && { tools: ownTools }),
    ...parts,
    spawn: spawnOf(options),
  }
}

const promptOnlySchema = {
  type: 'object',
  properties: {
    prompt: { type: 'string', description: 'The complete task: the agent does not see this conversation' },
  },
  required: ['prompt'],
} as const

function spawnOf<Schema extends InputSchema>(
  options: DescribedAgent<Schema>,
): (input: InputOf<Schema>, context: SpawnContext) => ChildRun {
  const { name, system, model, tools = [], maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs } = options
  const { maxToolCalls, until, agentType, prompt = promptIn } = options
  const ofRun = tools.filter((tool) => typeof tool === 'string')
  const names = tools.map((tool) => (typeof tool === 'string' ? tool : tool.name))
  const child = {
    tools: names,
    ...(system !== undefined && { system }),
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTotalTokens !== undefined && { maxTotalTokens }),
    ...(maxDurationMs !== undefined && { maxDurationMs }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
    ...(until !== undefined && { until }),
    ...(agentType !== undefined && { agentType }),
  }
  return (input, context) => {
    const missing = ofRun.filter((each) => !context.tools.includes(each))
    if (missing.length > 0) throw new Error(missingTools(name, missing))
    return { ...child, prompt: prompt(input) }
  }
}

function promptIn(input: unknown): string {
  const values = Object.values(fieldsOf(input) ?? {})
  const [only] = values
  return values.length === 1 && typeof only === 'string' ? only : JSON.stringify(jsonOf(input), null, 2)
}

/** @throws ConfigurationError for a schema that cannot be sent to the model. */
function outputOf(name: string, output: unknown): OutputSchema | undefined {
  if (output === undefined) return undefined
  const what = `The output of ${name}`
  // `outputSchema` refuses a Standard Schema without a JSON Schema, and explains how to provide one.
  if (isStandardSchema(output)) return outputSchema(output as StandardJsonSchema)
  const fields =
    fieldsOf(output) ?? throwInvalidOption(what, 'an output schema, a Standard Schema or a JSON Schema', output)
  if (typeof fields['check'] === 'function') return output as OutputSchema
  refuseObjectOfSchemas(what, fields)
  checkWrittenSchema(what, fields)
  // Treated as JSON, as far as its keywords are concerned.
  const schema = fields as JsonObject
  return outputSchemaFromCheck(schema, (value) => {
    const problems = schemaProblems(schema, value)
    return problems.length === 0 ? { fits: true, value } : { fits: false, message: problems.join('; ') }
  })
}

/** Names of agent options in other libraries, with our names. */
const otherNames: ReadonlyMap<string, string> = new Map([
  ['execute', 'spawn, or leave it out and describe the agent with system and tools'],
  ['instructions', 'system'],
  ['systemPrompt', 'system'],
  ['outputType', 'output'],
  ['outputSchema', 'output'],
  ['maxSteps', 'maxTurns'],
  ['maxTokens', 'maxTotalTokens'],
])

const checkLimits = ['maxTurns', 'maxBudgetUsd', 'maxTotalTokens', 'maxDurationMs', 'maxToolCalls'] as const
const ofDescribed: readonly (readonly [field: string, check: Validator])[] = [
  ['system', isText],
  ['agentType', isText],
  ['prompt', isFunction],
  ['until', isGoals],
  ...checkLimits.map((limit) => [limit, isPositive] as const),
]

function checkAgent(options: object): void {
  const optionFields = options as Fields
  const name = String(optionFields['name'])
  for (const [otherName, ourName] of otherNames)
    if (otherName in optionFields)
      throw new ConfigurationError(`An agent has no ${otherName}: give it as ${ourName}. (The agent is ${name}.)`)
  const { tools = [], model, spawn } = optionFields
  if (!Array.isArray(tools)) throwInvalidOption(`The tools of ${name}`, 'a list', tools)
  if (spawn !== undefined) {
    const misplaced = [...ofDescribed.map(([field]) => field), 'model'].find(
      (field) => optionFields[field] !== undefined,
    )
    if (misplaced !== undefined)
      throw new ConfigurationError(
        `The agent ${name} has spawn, so ${misplaced} has no effect: return it from spawn${misplaced === 'model' ? ', and name the model in models' : ''}.`,
      )
    return isTools(`The tools of ${name}`, tools)
  }
  isTools(
    `The tools of ${name}`,
    tools.filter((tool) => typeof tool !== 'string'),
  )
  for (const [field, check] of ofDescribed) optional(check)(`The ${field} of ${name}`, optionFields[field])
  if (model !== undefined && typeof model !== 'string') isModel(`The model of ${name}`, model)
}
