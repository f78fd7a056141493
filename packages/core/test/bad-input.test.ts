// Tests R-LOOP-6 and R-LOOP-6a: invalid input is rejected before anything starts, with advice. Plain JavaScript has no compiler to reject it.
import { describe, expect, test } from 'vitest'
import * as compat from '../src/compat/index.ts'
import * as core from '../src/index.ts'
import { createFakeClock, scriptedModel } from '../src/testing/index.ts'
import { z } from 'zod'

/** The API without its types, as plain JavaScript sees it: each function is called with a type that it forbids. */
type Untyped = ((...given: unknown[]) => Untyped) & (new (...given: unknown[]) => Untyped) & Methods
type Methods = {
  readonly [
    name in 'base' | 'withCapability' | 'build' | 'execute' | 'submit' | 'followUp' | 'set' | 'setLimits'
  ]: Untyped
}
// Each export can be called or constructed.
const untypedApi = { ...core, ...compat } as unknown as {
  readonly [name in keyof typeof core | keyof typeof compat]: Untyped
}
const { AgentBuilder, CallableHook, QueryEngine, UseGuards, UseHook, UseModel, UseTools } = untypedApi
const {
  certificate,
  createMemorySteps,
  outputSchema,
  streamRun,
  query,
  startRun,
  tool,
  agentTool,
  all,
  any,
  finishReason,
} = untypedApi
const { noProgress, not, stepLimit, tokenLimit, costLimit, timeLimit } = untypedApi

const model = () => scriptedModel(['answer'])
const execute = () => 'x'
const description = 'Looks'
const look = tool({ name: 'Look', description, execute })
const run = (options: object, start: unknown = { prompt: 'go' }) =>
  streamRun(startRun(start), { model: model(), clock: createFakeClock(), ...options })
const engine = (options: object = {}) => new QueryEngine({ model: model(), clock: createFakeClock(), ...options })
const hooked = (options: object) => run({ hooks: [new CallableHook(() => {}, { id: 'a', ...options })] })
const handmade = (change: object) =>
  run({ tools: [{ name: 'Look', description, inputSchema: { type: 'object' }, readOnly: true, execute, ...change }] })

const cases: readonly (readonly [name: string, does: () => unknown, says: string])[] = [
  ['no options', () => streamRun(startRun({ prompt: 'go' })), 'The options must be an object with a model; received undefined.'],
  ['options that are a model id', () => streamRun(startRun({ prompt: 'go' }), 'claude'), 'The options must be an object with a model; received "claude".'],
  ['no model', () => run({ model: undefined }), 'The option model is missing. Pass { model };'],
  ['a model that is null', () => run({ model: null }), 'model must be an object with id, contextWindow, maxOutputTokens and call, but it is null.'],
  ['a model that is a name', () => run({ model: 'claude' }), 'model must be an object with id, contextWindow, maxOutputTokens and call, but it is "claude". Make it with a function of @halting/models, such as anthropic("claude-…").'],
  ['a function that makes models', () => run({ model }), 'model must be an object with id, contextWindow, maxOutputTokens and call, but it is a function. Make it with a function of @halting/models'],
  ['a model of the AI SDK', () => run({ model: { specificationVersion: 'v3', provider: 'x', modelId: 'y' } }), 'model is a model of the AI SDK. Adapt it: fromAiSdk(model), of @halting/models/ai-sdk.'],
  ['a model without call', () => run({ model: { id: 'x', contextWindow: 9, maxOutputTokens: 9 } }), 'model.call must be a function, but it is undefined.'],
  ['a model without an id', () => run({ model: { ...model(), id: undefined } }), 'model.id must be a text, but it is undefined.'],
  ['a model without an output limit', () => run({ model: { ...model(), maxOutputTokens: undefined } }), 'model.maxOutputTokens must be a number above 0, but it is undefined.'],
  ['a window that is not a number', () => run({ model: { ...model(), contextWindow: Number.NaN } }), 'model.contextWindow must be a number above 0, but it is NaN.'],
  ['an output limit of 0', () => run({ model: { ...model(), maxOutputTokens: 0 } }), 'model.maxOutputTokens must be a number above 0, but it is 0.'],
  ['a default output below 0', () => run({ model: { ...model(), defaultOutputTokens: -1 } }), 'model.defaultOutputTokens must be a number above 0, but it is -1.'],
  ['a fallback that is a name', () => run({ fallbackModel: 'x' }), 'fallbackModel must be an object with id,'],
  ['a single model for models', () => run({ models: model() }), 'models must be a list, but it is an object.'],
  ['models that are names', () => run({ models: ['x'] }), 'models[0] must be an object with id,'],
  ['a limit that is a text', () => run({ maxTurns: '5' }), 'maxTurns must be a number, but it is "5".'],
  ['tokens that are a text', () => run({ maxTotalTokens: '100' }), 'maxTotalTokens must be a number, but it is "100".'],
  ['a limit that is null', () => run({ maxTurns: null }), 'maxTurns must be a number, but it is null. Leave it out for the default.'],
  ['a time that is a text', () => run({ maxDurationMs: '10s' }), 'maxDurationMs must be a number, but it is "10s".'],
  ['a target that is a text', () => run({ tokenBudget: '1k' }), 'tokenBudget must be a number or null, but it is "1k".'],
  ['prices that are a table', () => run({ prices: { scripted: { input: 1, output: 1 } } }), 'prices.cost must be a function, but it is undefined.'],
  ['a guard that is a function', () => run({ stopWhen: () => true }), 'stopWhen must be a guard, such as stepLimit(10), but it is a function.'],
  ['a guard class without an instance', () => run({ stopWhen: stepLimit }), 'stopWhen must be a guard, such as stepLimit(10), but it is a function.'],
  ['a guard that is null', () => run({ stopWhen: null }), 'stopWhen must be a guard, such as stepLimit(10), but it is null.'],
  ['a guard that is an object', () => run({ stopWhen: {} }), 'stopWhen must be a guard, such as stepLimit(10), but it is an object without evaluate.'],
  ['a list with a function', () => run({ stopWhen: [() => true] }), 'stopWhen[0] must be a guard,'],
  ['wrapUp that is a text', () => run({ wrapUp: 'yes' }), 'wrapUp must be true or false, but it is "yes".'],
  ['a system prompt that is a list', () => run({ system: ['x'] }), 'system must be a text, but it is a list.'],
  ['a system prompt that is a number', () => run({ system: 5 }), 'system must be a text, but it is 5.'],
  ['tools by name', () => run({ tools: { look } }), 'tools must be a list, but it is an object.'],
  ['one tool', () => run({ tools: look }), 'tools must be a list, but it is an object.'],
  ['a tool that is null', () => run({ tools: [null] }), 'tools[0] must be a tool, as tool() makes it, but it is null.'],
  ['a tool that is a function', () => run({ tools: [execute] }), 'tools[0] must be a tool, as tool() makes it, but it is a function.'],
  ['a list in the list of tools', () => run({ tools: [[look]] }), 'tools[0] must be a tool, as tool() makes it, but it is a list.'],
  ['a tool without a name', () => handmade({ name: undefined }), 'tools[0].name must be a text that is not empty, but it is undefined.'],
  ['a tool without a schema', () => handmade({ inputSchema: undefined }), 'tools[0].inputSchema must be an object, but it is undefined.'],
  ['a tool without execute', () => handmade({ execute: undefined }), 'tools[0].execute must be a function, but it is undefined.'],
  ['a tool that reads only sometimes', () => handmade({ readOnly: 'yes' }), 'tools[0].readOnly must be true, false or a function, but it is "yes".'],
  ['nothing for tool', () => tool(), 'tool() must be given an object with name, description and execute, but it is undefined.'],
  ['tool without a name', () => tool({ description, execute }), 'The name of a tool must be a text that is not empty, but it is undefined.'],
  ['tool without a description', () => tool({ name: 'A', execute }), 'The description of A must be a text, but it is undefined.'],
  ['tool without execute', () => tool({ name: 'A', description }), 'The execute of A must be a function, but it is undefined.'],
  ['tool with a handler', () => tool({ name: 'A', description, handler: execute }), 'A tool has no handler: give it as execute.'],
  ['tool with parameters', () => tool({ name: 'A', description, parameters: { type: 'object' }, execute }), 'A tool has no parameters: give it as inputSchema.'],
  ['tool with the former name of its schema', () => tool({ name: 'A', description, input: { type: 'object' }, execute }), 'A tool has no input: give it as inputSchema.'],
  ['tool with a list of schemas', () => tool({ name: 'A', description, inputSchema: { path: 'string' }, execute }), 'The input of A is not a JSON Schema: it only contains path.'],
  ['tool with an invalid type', () => tool({ name: 'A', description, inputSchema: { type: 'object', properties: { a: { type: 'strnig' } } }, execute }), 'The input of A has an unknown JSON Schema type: "strnig".'],
  ['tool with unknown outcome', () => tool({ name: 'A', description, onUnknownOutcome: 'x', execute }), `The onUnknownOutcome of A must be 'rerun' or 'tell', but it is "x".`],
  ['agentTool with an invalid spawn', () => agentTool({ name: 'A', description, spawn: {} }), 'The spawn of A must be a function, but it is an object.'],
  ['agentTool with execute', () => agentTool({ name: 'A', description, execute }), 'An agent has no execute: give it as spawn, or leave it out and describe the agent with system and tools. (The agent is A.)'],
  ['agentTool with instructions', () => agentTool({ name: 'A', description, instructions: 'x' }), 'An agent has no instructions: give it as system. (The agent is A.)'],
  ['agentTool with spawn and a model', () => agentTool({ name: 'A', description, spawn: execute, model: model() }), 'The agent A has spawn, so model has no effect: return it from spawn, and name the model in models.'],
  ['agentTool with an invalid tool', () => agentTool({ name: 'A', description, tools: ['Look', 7] }), 'The tools of A[0] must be a tool, as tool() makes it, but it is 7.'],
  ['agentTool with two tools of one name', () => agentTool({ name: 'A', description, tools: [look, tool({ name: 'Look', description, execute })] }), 'Two tools are named Look. Rename one: the model calls them by name.'],
  ['agentTool with a limit of 0', () => agentTool({ name: 'A', description, maxBudgetUsd: 0 }), 'The maxBudgetUsd of A must be a number above 0, but it is 0.'],
  ['agentTool with an invalid model', () => agentTool({ name: 'A', description, model: {} }), 'The model of A.id must be a text, but it is undefined.'],
  ['agentTool with an invalid output', () => agentTool({ name: 'A', description, output: 'text' }), 'The output of A must be an output schema, a Standard Schema or a JSON Schema, but it is "text".'],
  ['agentTool with an empty output', () => agentTool({ name: 'A', description, output: { ok: 'boolean' } }), 'The output of A is not a JSON Schema: it only contains ok.'],
  ['an agent tool by hand with an invalid tool', () => handmade({ spawn: execute, tools: [{}] }), 'tools[0].tools[0].name must be a text that is not empty, but it is undefined.'],
  ['an agent tool by hand with an invalid output', () => handmade({ spawn: execute, output: {} }), 'tools[0].output must be built from the schema: outputSchema(z.object({ … })), or'],
  ['permissions that are a function', () => run({ permissions: () => true }), 'permissions must be an object with denies and decide, but it is a function.'],
  ['permissions without denies', () => run({ permissions: { decide: execute } }), 'permissions.denies must be a function, but it is undefined.'],
  ['an invalid onAsk', () => run({ onAsk: 'aks' }), `onAsk must be 'end' or 'wait', but it is "aks".`],
  ['one hook', () => run({ hooks: new CallableHook(() => {}, { triggers: ['onStop'] }) }), 'hooks must be a list, but it is an object.'],
  ['a hook that is a function', () => run({ hooks: [() => {}] }), 'hooks[0] must be a hook, such as a CallableHook, but it is a function.'],
  ['a hook without anything', () => run({ hooks: [{}] }), 'hooks[0].handle must be a function, but it is undefined.'],
  ['an invalid trigger', () => hooked({ triggers: ['PreToolUse'] }), 'There is no trigger "PreToolUse". There are beforeExecution, beforeAgent, afterExecution,'],
  ['triggers that are a text', () => hooked({ triggers: 'onStop' }), 'triggers must be a list of triggers, but it is "onStop".'],
  ['a hook without a function', () => new CallableHook(undefined, { triggers: ['onStop'] }), 'A CallableHook needs a function, but it is undefined.'],
  ['a stop hook that is a function', () => run({ stopHooks: [() => {}] }), 'stopHooks[0] must be an object with id and handle, but it is a function.'],
  ['a task that is a function', () => run({ postRun: [() => {}] }), 'postRun[0] must be an object with name and start, but it is a function.'],
  ['an invalid source', () => run({ cancellation: [{}] }), 'cancellation[0].cancellationSignal must be a function, but it is undefined.'],
  ['a controller for sources', () => run({ cancellation: new AbortController() }), 'cancellation must be a list, but it is an object.'],
  ['a controller for a signal', () => run({ signal: new AbortController() }), 'signal must be an AbortSignal, such as controller.signal, but it is an object.'],
  ['invalid steps', () => run({ steps: {} }), 'steps.run must be a function, but it is undefined.'],
  ['records for steps', () => run({ steps: [] }), 'steps must be a driver, such as createMemorySteps(), but it is a list.'],
  ['an invalid clock', () => run({ clock: {} }), 'clock.now must be a function, but it is undefined.'],
  ['an invalid token counter', () => run({ tokens: {} }), 'tokens.estimate must be a function, but it is undefined.'],
  ['an invalid context', () => run({ context: {} }), 'context.beforeRequest must be a function, but it is undefined.'],
  ['an output that is a schema', () => run({ output: { type: 'object' } }), 'output must be built from the schema: outputSchema(z.object({ … })), or jsonSchemaOutput(schema) of @halting/agent/json-schema for a JSON Schema, but it is an object.'],
  ['an output that is an object of schemas', () => run({ output: { city: z.string() } }), 'output must be built from the schema: outputSchema(z.object({ … })), or'],
  ['an object of schemas for outputSchema', () => outputSchema({ city: z.string() }), 'The output schema is an object of schemas. Give the schema of an object, such as z.object({ … }).'],
  ['a policy that is a name', () => run({ errorPolicy: 'tools' }), 'errorPolicy must be a function, but it is "tools".'],
  ['thinking that is true', () => run({ thinking: true }), "thinking must be { type: 'enabled', budgetTokens }, { type: 'adaptive' } or { type: 'disabled' }, but it is true."],
  ['thinking without a type', () => run({ thinking: { type: 'on' } }), "thinking must be { type: 'enabled', budgetTokens }, { type: 'adaptive' } or { type: 'disabled' }, but it is an object."],
  ['a listener that is a text', () => run({ onResult: 'x' }), 'onResult must be a function, but it is "x".'],
  ['context that is a text', () => run({ userContext: 'x' }), 'userContext must be an object, but it is "x".'],
  ['a limit by another name', () => run({ maxSteps: 5 }), 'Unknown option maxSteps. Use maxTurns.'],
  ['a listener by its former name', () => run({ onTerminal() {} }), 'Unknown option onTerminal. Use onResult.'],
  ['an option that is misspelt', () => run({ maxturn: 5 }), 'Unknown option maxturn. Use maxTurns.'],
  ['an unknown option', () => run({ topK: 1 }), 'Unknown option topK. Remove it.'],
  ['a prompt for a start', () => startRun('go'), 'startRun must be given an object, such as { prompt }, but it is "go".'],
  ['a prompt that is a number', () => run({}, { prompt: 5 }), 'prompt must be a text or a list of blocks, but it is 5.'],
  ['messages for a transcript', () => run({}, { prompt: 'x', transcript: [] }), 'transcript must be a Transcript, but it is a list. Create one with Transcript.of(entries).'],
  ['a session that is a number', () => run({}, { prompt: 'x', sessionId: 5 }), 'sessionId must be a text that is not empty, but it is 5.'],
  ['invalid counters', () => run({}, { prompt: 'x', carry: {} }), 'carry must be the `spent` of a state that a run ended in, but it is an object.'],
  ['a prompt for a state', () => streamRun('go', { model: model() }), 'The start of a run must be a state, such as startRun({ prompt }) makes, but it is "go".'],
  ['start options for a state', () => streamRun({ prompt: 'go' }, { model: model() }), 'The start of a run must be a state, such as startRun({ prompt }) makes, but it is an object.'],
  ['nothing for query', () => query(), 'query must be given { prompt, options }, but it is undefined.'],
  ['only a prompt for query', () => query('go'), 'query must be given { prompt, options }, but it is "go".'],
  ['query without options', () => query({ prompt: 'go' }), 'The options must be an object with a model; received undefined.'],
  ['query without a prompt', () => query({ options: { model: model() } }), 'prompt must be a text, a list of blocks, or an async iterable of these, but it is undefined.'],
  ['nothing for an engine', () => new QueryEngine(), 'The options must be an object with a model; received undefined.'],
  ['nothing to submit', () => engine().submit(), 'prompt must be a text or a list of blocks, but it is undefined.'],
  ['nothing to set', () => engine().set(null), 'A change must be an object, but it is null.'],
  ['an unknown setting', () => engine().set({ maxTurns: 5 }), 'Unknown setting maxTurns. Known: model, permissionMode, thinking, limits, tools and until.'],
  ['thinking that is a number', () => engine().set({ thinking: 5 }), 'thinking must be { type:'],
  ['a mode that is a number', () => engine().set({ permissionMode: 5 }), 'Unknown permission mode 5: these permissions have none.'],
  ['an unknown limit', () => engine().setLimits({ maxSteps: 5 }), 'Unknown limit maxSteps. Known: maxTurns, maxBudgetUsd, maxRunUsd, maxTotalTokens, maxDurationMs, maxToolCalls and maxGoalTries.'],
  ['a limit to set that is a text', () => engine().setLimits({ maxTurns: '5' }), 'maxTurns must be a number, but it is "5".'],
  ['limits that are a number', () => engine().setLimits(5), 'limits must be an object, but it is 5.'],
  ['a follow-up by a number', () => engine().followUp('a', 5), 'The id of a message must be a text that is not empty, but it is 5.'],
  ['one step engine for all runs', () => engine({ steps: createMemorySteps() }), 'An engine needs a step engine for each run. Pass stepsFor: (runId) => steps.'],
  ['nothing to say', () => startRun(), 'There is no input for the model. Pass a prompt.'],
  ['messages for the session', () => engine({ transcript: [] }), 'transcript must be a Transcript, but it is a list.'],
  ['a step engine for all runs', () => engine({ stepsFor: {} }), 'stepsFor must be a function, but it is an object.'],
  ['an invalid listener', () => engine({ onEvent: 'x' }), 'onEvent must be a function, but it is "x".'],
  ['a guard in the base', () => AgentBuilder.base({ stopWhen: stepLimit(1) }), 'A builder has no stopWhen. Register each guard: .withCapability(new UseHook(guard)).'],
  ['a tool for a capability', () => AgentBuilder.base().withCapability(look), 'A capability must have configure, as those of UseTools and UseHook do.'],
  ['a list of tools', () => AgentBuilder.base().withCapability(new UseModel(model())).withCapability(new UseTools([look])).build(), 'tools[0] must be a tool, as tool() makes it, but it is a list.'],
  ['an invalid hook', () => AgentBuilder.base().withCapability(new UseModel(model())).withCapability(new UseHook({})).build(), 'hooks[0].handle must be a function, but it is undefined.'],
  ['an unknown guard', () => new UseGuards({ maxTurns: 5 }), 'Unknown limit maxTurns. Known limits: maxSteps, maxTokens, maxExecutionTime, maxCostUsd and finishReasons.'],
  ['steps that are a text', () => new UseGuards({ maxSteps: '5' }), 'maxSteps must be above 0, but it is "5".'],
  ['no steps', () => stepLimit(), 'maxSteps must be above 0, but it is undefined.'],
  ['tokens below 0', () => tokenLimit(-1), 'maxTokens must be above 0, but it is -1.'],
  ['dollars that are a text', () => costLimit('1'), 'maxUsd must be above 0, but it is "1".'],
  ['a time with a unit', () => timeLimit('10s'), 'ms must be above 0, but it is "10s".'],
  ['a list of reasons', () => finishReason(['end_turn']), 'A finish reason must be a text, but it is a list.'],
  ['a number of repeats', () => noProgress(3), 'noProgress must be given an object, such as { repeats: 3 }, but it is 3.'],
  ['repeats that are a text', () => noProgress({ repeats: 'x' }), 'repeats must be a number, but it is "x".'],
  ['a list for any', () => any([stepLimit(1)]), 'any() must be given guards, such as stepLimit(10), but one is a list.'],
  ['a function for all', () => all(() => true), 'all() must be given guards, such as stepLimit(10), but one is a function.'],
  ['nothing for not', () => not(), 'not() must be given guards, such as stepLimit(10), but one is undefined.'],
  ['nothing to certify', () => certificate(), 'The options must be an object with a model; received undefined.'],
  ['no model to certify', () => certificate({}), 'The option model is missing.'],
  ['records for a step engine', () => createMemorySteps([]), 'createMemorySteps must be given an object, such as { onRecord }, but it is a list.'],
  ['an invalid record listener', () => createMemorySteps({ onRecord: 5 }), 'onRecord must be a function, but it is 5.'],
] // prettier-ignore

describe('plain JavaScript gets an error that names the problem, before anything starts', () => {
  test.each(cases)('%s', (_name, does, says) => {
    let thrown: unknown
    try {
      does()
    } catch (error) {
      thrown = error
    }
    expect(thrown).toBeInstanceOf(core.ConfigurationError)
    expect(String(thrown)).toContain(says)
  })
})

test('an agent rejects a value that is not a state', async () => {
  const agent = AgentBuilder.base({ model: model() }).build()
  await expect(agent.execute('go')).rejects.toThrow(
    'An agent executes an AgentState, but it is "go". Begin with AgentState.empty().withUserMessage(…).',
  )
})

test('uses the default for an option that is absent or undefined', async () => {
  const runOptions = {
    model: model(),
    clock: createFakeClock(),
    maxTurns: undefined,
    temperature: undefined,
    tokenBudget: null,
  }
  // The compiler rejects an option that is present but undefined; plain JavaScript code can have one.
  const options = runOptions as unknown as core.RunOptions
  expect((await core.streamRun(core.startRun({ prompt: 'go' }), options).result).reason).toBe('completed')
})

test('accepts options of an engine in certificate() and streamRun()', () => {
  const options = { model: model(), sessionId: 'a', onEvent: () => {}, includeHookEvents: true }
  expect(core.certificate(options).halts).toBe(true)
  expect(() => core.streamRun(core.startRun({ prompt: 'go' }), options)).not.toThrow()
})
