import { ConfigurationError } from '../values/errors.ts'
import { ignoreRejection, andThen, type MaybePromise } from '../values/maybe-promise.ts'
import type { Goal } from '../goals/goal.ts'
import { isGoals } from '../goals/run-goals.ts'
import { appliesToAgents, timeLimit } from '../limits/limit-guards.ts'
import type { RegisteredGuard } from '../limits/guard.ts'
import type { HookTrigger } from '../hooks/hook-outcome.ts'
import type { HookRegistry } from '../hooks/hook.ts'
import type { Model } from '../model/model.ts'
import { samplingOf } from '../model/sampling.ts'
import { pricesWith } from '../run/model-prices.ts'
import { systemWithOutput, systemWithoutOutput } from '../tools/output-schema.ts'
import type { RunContext, RunSettings } from '../run/run-context.ts'
import { checkBudgetable } from '../run/check-settings.ts'
import { toolDefinitionsOf, toolsByName, calledTool } from '../tools/definitions.ts'
import { permissionUpdatesOf } from '../permissions/permission-update.ts'
import { isAgentTool, type AnyAgentTool, type AnyTool, type ChildRun } from '../tools/tool.ts'
import type { Run } from '../run/run.ts'
import type { AgentShare, ToolPhase } from '../run/tool-phase.ts'
import { agentsStarted } from '../state/agent-figures.ts'
import { callsLeft } from '../run/limit-use.ts'
import { agentLimitReached, noAgentsAtDepth } from './call-texts.ts'

/** The task of a subagent, and the context in which it runs. */
export interface Child {
  readonly run: ChildRun
  readonly context: RunContext
}

/**
 * Asks the tool for its child run. `share`: its part of the limits that apply to all agents together, including its
 * descendants.
 * @throws what the tool throws, TypeError for an invalid child run, ConfigurationError for an unknown model.
 */
export function childOf(
  { context, identity }: Pick<Run, 'context' | 'identity'>,
  tool: AnyAgentTool,
  input: unknown,
  share: AgentShare,
): Child {
  const { permissionMode } = context.settings
  // The input passed this tool's own check, so it has the type that `spawn` accepts.
  const candidate = tool.spawn(input as never, {
    depth: identity.depth,
    tools: context.toolDefinitions.map(({ name }) => name),
    permissionMode,
  })
  const child = childRunOf(candidate)
  return { run: child, context: contextOf(context, tool, child, share) }
}

/** JavaScript code may return anything. @throws TypeError for an invalid child run. */
function childRunOf(candidate: unknown): ChildRun {
  ignoreRejection(candidate)
  // Each field is read once, because it may be a getter. A value that is not an object has no fields.
  const fields: { readonly [field: string]: unknown } = Object(candidate)
  const { prompt, system, tools, model, permissionMode, permissionUpdates, agentType, description, note } = fields
  if (typeof prompt !== 'string' || prompt === '') throw new TypeError('A subagent needs a prompt: { prompt, … }.')
  const updates = permissionUpdates === undefined ? [] : permissionUpdatesOf(permissionUpdates)
  // An invalid rule would protect nothing, so it is refused.
  if (typeof updates === 'string') throw new TypeError(`permissionUpdates of a subagent: ${updates}.`)
  return {
    prompt,
    ...(typeof system === 'string' && { system }),
    ...(Array.isArray(tools) && { tools: tools.map(String) }),
    ...(isModelOrId(model) && { model }),
    ...(typeof permissionMode === 'string' && { permissionMode }),
    ...(updates.length > 0 && { permissionUpdates: updates }),
    ...limitsOf(fields),
    ...(fields['until'] !== undefined && { until: goalsOf(fields['until']) }),
    ...(fields['background'] === true && { background: true }),
    ...(typeof agentType === 'string' && { agentType }),
    ...(typeof description === 'string' && { description }),
    ...(typeof note === 'string' && { note }),
  }
}

/** Whether the model is available is checked later against those of the run. */
function isModelOrId(candidate: unknown): candidate is string | Model {
  return typeof candidate === 'string' || (typeof candidate === 'object' && candidate !== null)
}

/** @throws ConfigurationError for an invalid list of goals: the agent would run without them. */
function goalsOf(candidate: unknown): readonly Goal[] {
  isGoals('until of a subagent', candidate)
  // Checked above.
  return candidate as readonly Goal[]
}

/** The child's own limits. @throws TypeError for an invalid limit: the agent would run without it. */
function limitsOf(fields: { readonly [field: string]: unknown }): Partial<ChildRun> {
  const limits: { [limit: string]: number } = {}
  for (const name of ['maxTurns', 'maxToolCalls']) {
    const limit = fields[name]
    if (typeof limit === 'number' && limit >= 1) limits[name] = Math.floor(limit)
  }
  if ('maxTokens' in fields) throw new TypeError('maxTokens of a subagent is called maxTotalTokens.')
  for (const name of ['maxBudgetUsd', 'maxTotalTokens', 'maxDurationMs']) {
    const limit = fields[name]
    if (limit === undefined) continue
    if (typeof limit !== 'number' || !(limit > 0)) throw new TypeError(`${name} of a subagent must be above 0.`)
    limits[name] = limit
  }
  return limits
}

function contextOf(context: RunContext, tool: AnyAgentTool, child: ChildRun, share: AgentShare): RunContext {
  const settings = settingsOf(context, tool, child, share)
  const model = modelOf(context, tool, child)
  // A tool that was added during the run may name models that the options do not name.
  const prices = model.prices === undefined ? context.prices : pricesWith(context.prices, () => [model])
  checkBudgetable(model, prices, settings)
  return {
    ...context,
    model,
    prices,
    ...toolsOf({ ...context, model }, tool, child, settings),
    // The child has the tools that its parent had when it began, restricted to those that the child may use.
    moreTools: null,
    guards: [...context.guards.filter(({ guard }) => appliesToAgents(guard)), ...guardsOfLimits(child)],
    postRun: [],
    goals: {
      ...context.goals,
      configured: child.until ?? [],
      skipIfMet: false,
      stopWhenMet: false,
      withoutWork: 'send_back',
    },
    // Hooks on tools and requests apply to subagents too; hooks on the run apply to the main loop only.
    hooks: hooksOf(context.hooks),
    limits: { maxTurns: settings.maxTurns, goalTries: 0, tokenTargetIterations: 0 },
    settings,
  }
}

/** The guards of the child's limits. They check the time between turns too, since a timer does not cover the time before a resume. */
function guardsOfLimits({ maxDurationMs }: ChildRun): readonly RegisteredGuard[] {
  if (maxDurationMs === undefined) return []
  return [{ id: 'limit:agent_duration', guard: timeLimit(maxDurationMs) }]
}

function settingsOf({ settings }: RunContext, tool: AnyAgentTool, child: ChildRun, share: AgentShare): RunSettings {
  const { permissionMode = settings.permissionMode, permissionUpdates = [] } = child
  const output = tool.output ?? null
  const system = child.system ?? systemWithoutOutput(settings.system, settings.output)
  return {
    ...settings,
    system: systemWithOutput(system, output),
    maxTurns: withinLimit(child.maxTurns, settings.maxTurns),
    maxRunUsd: withinLimit(child.maxBudgetUsd, settings.maxRunUsd),
    maxTotalTokens: withinLimit(child.maxTotalTokens, settings.maxTotalTokens),
    maxDurationMs: withinLimit(child.maxDurationMs, settings.maxDurationMs),
    permissionMode,
    permissionUpdates: [...settings.permissionUpdates, ...permissionUpdates],
    toolChoice: null,
    sampling: settings.sampling === null ? null : samplingOf({ ...settings.sampling, stopSequences: [] }),
    tokenBudget: null,
    wrapUp: false,
    output,
    maxToolCalls: withinLimit(child.maxToolCalls, share.toolCalls),
    maxSubagents: share.agents,
    maxSubagentDepth: Math.max(0, settings.maxSubagentDepth - 1),
    querySource: child.agentType ?? 'agent',
  }
}

function withinLimit(agentTools: number | undefined, limit: number): number {
  return Math.min(agentTools ?? limit, limit)
}

/** @throws ConfigurationError for a model that neither the tool nor the options name: the certificate would not cover it. */
function modelOf({ model, fallbackModel, models }: RunContext, tool: AnyAgentTool, child: ChildRun): Model {
  if (child.model === undefined) return model
  const all = [model, ...(tool.models ?? []), ...models, ...(fallbackModel === null ? [] : [fallbackModel])]
  const found = all.find((each) => each === child.model || each.id === child.model)
  if (found !== undefined) return found
  const knownModels = [...new Set(all.map(({ id }) => id))].join(', ')
  if (typeof child.model === 'object')
    throw new ConfigurationError(
      `The model ${child.model.id} of a subagent is not one of the models of ${tool.name}. Add it there: models: [model].`,
    )
  throw new ConfigurationError(`There is no model ${child.model} for a subagent; there is ${knownModels}.`)
}

/**
 * The tools of its parent and of its agent tool. The latter replace tools of the parent with the same name or alias.
 * Tools that start agents are offered if the child may start any; otherwise calls of them are refused with the reason.
 */
function toolsOf(
  context: RunContext,
  { tools: ofAgent = [] }: AnyAgentTool,
  child: ChildRun,
  { maxSubagents, maxSubagentDepth }: RunSettings,
): Pick<RunContext, 'tools' | 'toolDefinitions' | 'toolAliases'> {
  const allowed = child.tools === undefined ? undefined : new Set(child.tools)
  const agentTools = toolsByName(ofAgent)
  const tools = new Map([...context.tools, ...agentTools].filter(([name]) => allowed?.has(name) ?? true))
  const isShown = (tool: AnyTool): boolean => !isAgentTool(tool) || (maxSubagents > 0 && maxSubagentDepth > 0)
  return {
    tools,
    toolDefinitions: toolDefinitionsOf([...tools.values()].filter(isShown), context.model),
    toolAliases: new Map([...context.toolAliases].filter(([name]) => !agentTools.has(name))),
  }
}

const runLevelTriggers: ReadonlySet<HookTrigger> = new Set(['beforeExecution', 'afterExecution', 'onStop'])

function hooksOf(hooks: HookRegistry): HookRegistry {
  return {
    all: hooks.all,
    for: (trigger, toolName) => (runLevelTriggers.has(trigger) ? [] : hooks.for(trigger, toolName)),
  }
}

// Spec R-SUB-3, R-CALLS-3.
/**
 * The share of each agent of this message: what remains after the calls of the message, in equal parts. It does not
 * depend on what runs in parallel, so a replay computes the same share. All levels together stay within the limits of
 * the run.
 */
export function agentShare(run: Run, phase: ToolPhase): AgentShare {
  return (phase.agentShare ??= equalShare(run, phase))
}

/** The share of a background agent. Part of the remaining amount is reserved for later messages. */
export function backgroundShare({ agents, toolCalls }: AgentShare): AgentShare {
  return { agents: Math.floor(agents / 2), toolCalls: toolCalls === Infinity ? Infinity : Math.floor(toolCalls / 2) }
}

function equalShare(run: Run, { calls, allowedCalls }: ToolPhase): AgentShare {
  const { context, spent } = run
  const agentCallCount = calls.filter(({ name }) => {
    const tool = calledTool(name, context)
    return tool !== undefined && isAgentTool(tool)
  }).length
  const agents = context.settings.maxSubagents - agentsStarted(spent) - agentCallCount
  const toolCalls = callsLeft(run) - Math.min(calls.length, allowedCalls)
  const part = (left: number): number =>
    left === Infinity ? left : Math.max(0, Math.floor(left / Math.max(1, agentCallCount)))
  return { agents: agentCallCount === 0 ? 0 : part(agents), toolCalls: part(toolCalls) }
}

/**
 * Why a call may not start an agent; undefined if it may. In a subagent a refusal is recorded, because a resume replays
 * all of its turns. Even under other limits, a recorded refusal remains, and an agent that was allowed is still allowed.
 */
export function refuseAgent(
  run: Run,
  call: { readonly id: string; readonly index: number },
): MaybePromise<string | undefined> {
  const { depth } = run.identity
  if (depth === 0) return refusal(run)
  const name = `agent_limit:${run.spent.request}:${call.index}:${call.id}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && run.turnEnd === 'passed') return undefined
  const message = refusal(run)
  if (!isRecorded && message === undefined) return undefined
  return andThen(
    run.step<string>(name, () => message ?? ''),
    ({ value }) => value,
  )
}

function refusal({ context, spent, identity }: Run): string | undefined {
  const { maxSubagents, maxSubagentDepth } = context.settings
  if (maxSubagentDepth === 0 && maxSubagents > 0) return noAgentsAtDepth(identity.depth)
  if (agentsStarted(spent) < maxSubagents) return undefined
  return agentLimitReached(maxSubagents, identity.depth === 0 ? 'run' : 'agent', spent.subagents < maxSubagents)
}
