import { ConfigurationError } from '../values/errors.ts'
import { disregard, after, type Eventually } from '../values/eventually.ts'
import type { Goal } from '../goals/goal.ts'
import { isGoals } from '../goals/run-goals.ts'
import { isForAgents, timeLimit } from '../limits/limit-guards.ts'
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
import { agentsTaken } from '../state/agent-figures.ts'
import { callsLeft } from '../run/limits-left.ts'
import { agentLimitReached, noAgentsAtDepth } from './call-texts.ts'

/** What a subagent is to do, and the context in which it does it. */
export interface Child {
  readonly run: ChildRun
  readonly context: RunContext
}

/**
 * Asks the tool what its subagent is to do. `share`: what it and those below it may use of what is counted for all.
 * @throws what the tool throws, TypeError for what is no subagent, ConfigurationError for a model that cannot be asked.
 */
export function childOf(
  { context, identity }: Pick<Run, 'context' | 'identity'>,
  tool: AnyAgentTool,
  input: unknown,
  share: AgentShare,
): Child {
  const { permissionMode } = context.settings
  // The input passed this tool's own check, so it is what `spawn` is written for.
  const given = tool.spawn(input as never, {
    depth: identity.depth,
    tools: context.toolDefinitions.map(({ name }) => name),
    permissionMode,
  })
  const child = childRunOf(given)
  return { run: child, context: contextOf(context, tool, child, share) }
}

/** Plain JavaScript may give anything back. @throws TypeError for what is no subagent. */
function childRunOf(given: unknown): ChildRun {
  disregard(given)
  // Read once, since what is read may be a getter; of what is no object, no field is.
  const fields: { readonly [field: string]: unknown } = Object(given)
  const { prompt, system, tools, model, permissionMode, permissionUpdates, agentType, description, note } = fields
  if (typeof prompt !== 'string' || prompt === '') throw new TypeError('A subagent needs a prompt: { prompt, … }.')
  const updates = permissionUpdates === undefined ? [] : permissionUpdatesOf(permissionUpdates)
  // A rule that is not understood would protect nothing.
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

/** Whether a model can be asked is known once it is compared with those of the run. */
function isModelOrId(given: unknown): given is string | Model {
  return typeof given === 'string' || (typeof given === 'object' && given !== null)
}

/** @throws ConfigurationError for what is no list of goals: it would be done without them. */
function goalsOf(given: unknown): readonly Goal[] {
  isGoals('until of a subagent', given)
  // Just looked at.
  return given as readonly Goal[]
}

/** Its own limits. @throws TypeError for what is none: it would be spent without one. */
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
  // A tool that was added while the run goes on may name models that the options do not.
  const prices = model.prices === undefined ? context.prices : pricesWith(context.prices, () => [model])
  checkBudgetable(model, prices, settings)
  return {
    ...context,
    model,
    prices,
    ...toolsOf({ ...context, model }, tool, child, settings),
    // It has what its parent had when it began, and of that what it may use.
    moreTools: null,
    guards: [...context.guards.filter(({ guard }) => isForAgents(guard)), ...guardsOfLimits(child)],
    postRun: [],
    goals: {
      ...context.goals,
      given: child.until ?? [],
      skipIfMet: false,
      stopWhenMet: false,
      withoutWork: 'send_back',
    },
    // Hooks on tools and requests hold in subagents as well; those on the run are the main loop's.
    hooks: hooksOf(context.hooks),
    limits: { maxTurns: settings.maxTurns, goalTries: 0, tokenTargetLaps: 0 },
    settings,
  }
}

/** Its time is looked at between its turns too: a timer knows nothing of the time before a resume. */
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
    maxTurns: within(child.maxTurns, settings.maxTurns),
    maxRunUsd: within(child.maxBudgetUsd, settings.maxRunUsd),
    maxTotalTokens: within(child.maxTotalTokens, settings.maxTotalTokens),
    maxDurationMs: within(child.maxDurationMs, settings.maxDurationMs),
    permissionMode,
    permissionUpdates: [...settings.permissionUpdates, ...permissionUpdates],
    toolChoice: null,
    sampling: settings.sampling === null ? null : samplingOf({ ...settings.sampling, stopSequences: [] }),
    tokenBudget: null,
    wrapUp: false,
    output,
    maxToolCalls: within(child.maxToolCalls, share.toolCalls),
    maxSubagents: share.agents,
    maxSubagentDepth: Math.max(0, settings.maxSubagentDepth - 1),
    querySource: child.agentType ?? 'agent',
  }
}

function within(own: number | undefined, limit: number): number {
  return Math.min(own ?? limit, limit)
}

/** @throws ConfigurationError for one that neither the tool nor the options name: the certificate would not know of it. */
function modelOf({ model, fallbackModel, models }: RunContext, tool: AnyAgentTool, child: ChildRun): Model {
  if (child.model === undefined) return model
  const all = [model, ...(tool.models ?? []), ...models, ...(fallbackModel === null ? [] : [fallbackModel])]
  const found = all.find((each) => each === child.model || each.id === child.model)
  if (found !== undefined) return found
  const known = [...new Set(all.map(({ id }) => id))].join(', ')
  if (typeof child.model === 'object')
    throw new ConfigurationError(
      `The model ${child.model.id} of a subagent is not one of the models of ${tool.name}. Add it there: models: [model].`,
    )
  throw new ConfigurationError(`There is no model ${child.model} for a subagent; there is ${known}.`)
}

/**
 * Its parent's tools and those of its agent tool, which replace those of the same name, also where another name leads to a tool of the parent. Tools that
 * start agents are shown where they may start any. Elsewhere a call of one is told why it may not.
 */
function toolsOf(
  context: RunContext,
  { tools: ofAgent = [] }: AnyAgentTool,
  child: ChildRun,
  { maxSubagents, maxSubagentDepth }: RunSettings,
): Pick<RunContext, 'tools' | 'toolDefinitions' | 'toolAliases'> {
  const allowed = child.tools === undefined ? undefined : new Set(child.tools)
  const own = toolsByName(ofAgent)
  const tools = new Map([...context.tools, ...own].filter(([name]) => allowed?.has(name) ?? true))
  const isShown = (tool: AnyTool): boolean => !isAgentTool(tool) || (maxSubagents > 0 && maxSubagentDepth > 0)
  return {
    tools,
    toolDefinitions: toolDefinitionsOf([...tools.values()].filter(isShown), context.model),
    toolAliases: new Map([...context.toolAliases].filter(([name]) => !own.has(name))),
  }
}

const ofTheRun: ReadonlySet<HookTrigger> = new Set(['beforeExecution', 'afterExecution', 'onStop'])

function hooksOf(hooks: HookRegistry): HookRegistry {
  return { all: hooks.all, for: (trigger, toolName) => (ofTheRun.has(trigger) ? [] : hooks.for(trigger, toolName)) }
}

// Spec R-SUB-3, R-CALLS-3.
/**
 * What each agent of this message may use: what is left after the calls of the message, in equal parts. It is the same whatever runs beside what, so a
 * replay agrees; and all levels together stay within the limits of the run.
 */
export function agentShare(run: Run, phase: ToolPhase): AgentShare {
  return (phase.agentShare ??= shareOf(run, phase))
}

/** Of one that works beside the run: what is left for later messages is not all taken. */
export function shareBeside({ agents, toolCalls }: AgentShare): AgentShare {
  return { agents: Math.floor(agents / 2), toolCalls: toolCalls === Infinity ? Infinity : Math.floor(toolCalls / 2) }
}

function shareOf(run: Run, { calls, allowedCalls }: ToolPhase): AgentShare {
  const { context, spent } = run
  const asked = calls.filter(({ name }) => {
    const tool = calledTool(name, context)
    return tool !== undefined && isAgentTool(tool)
  }).length
  const agents = context.settings.maxSubagents - agentsTaken(spent) - asked
  const toolCalls = callsLeft(run) - Math.min(calls.length, allowedCalls)
  const part = (left: number): number => (left === Infinity ? left : Math.max(0, Math.floor(left / Math.max(1, asked))))
  return { agents: asked === 0 ? 0 : part(agents), toolCalls: part(toolCalls) }
}

/**
 * Why a call that wants to start an agent may not; undefined when it may. In a subagent a no is on record, as a resume replays all its
 * turns: under other limits it is still a no there, and what was let start still starts.
 */
export function refuseAgent(
  run: Run,
  call: { readonly id: string; readonly index: number },
): Eventually<string | undefined> {
  const { depth } = run.identity
  if (depth === 0) return refusal(run)
  const name = `agent_limit:${run.spent.request}:${call.index}:${call.id}`
  const isRecorded = run.isRecorded(name)
  if (!isRecorded && run.turnEnd === 'passed') return undefined
  const message = refusal(run)
  if (!isRecorded && message === undefined) return undefined
  return after(
    run.step<string>(name, () => message ?? ''),
    ({ value }) => value,
  )
}

function refusal({ context, spent, identity }: Run): string | undefined {
  const { maxSubagents, maxSubagentDepth } = context.settings
  if (maxSubagentDepth === 0 && maxSubagents > 0) return noAgentsAtDepth(identity.depth)
  if (agentsTaken(spent) < maxSubagents) return undefined
  return agentLimitReached(maxSubagents, identity.depth === 0 ? 'run' : 'agent', spent.subagents < maxSubagents)
}
