import { headOf, type PermissionUpdate, type SpawnContext } from '@halting/core/adapters'
import { ConfigurationError, type AgentTool, type ChildRun, type Goal, type Model } from '@halting/core'
import type { PermissionMode } from '@halting/policy'
import { patchToolName } from '@halting/policy/files'
import { matchedNames, matches } from '../hooks/matcher.ts'
import { filledText, flag, inputForm, optional, text } from '../tools/input.ts'
import * as texts from './agent-texts.ts'
import { type AgentDefinition, generalAgent } from './definition.ts'
import { modeOfAgent } from './mode-of-agent.ts'

/** Input of the Agent tool. */
export interface AgentInput {
  /** Short description of the task, shown to the user. */
  readonly description?: string
  /** The task, with everything that the subagent needs to know. */
  readonly prompt: string
  /** Name of the subagent type. */
  readonly subagent_type?: string
  /** Name of a model (default: the model of the definition). */
  readonly model?: string
  /** Start in the background, without waiting for the result. */
  readonly run_in_background?: boolean
}

/** Options of `createAgentTool`. */
export interface AgentToolOptions {
  /** Agents in addition to the general agent. A definition with the name of the general agent replaces it. */
  readonly definitions?: readonly AgentDefinition[] | (() => readonly AgentDefinition[])
  /** The permission mode for agents whose parent has no mode of its own. */
  readonly mode: () => PermissionMode
  /** Appended to the prompt of each agent: its working environment and rules. */
  readonly surroundings?: string
  /** Models that agents may request by name, in addition to the model of their parent. */
  readonly models?: ReadonlyMap<string, Model>
  /** Converts a command of `until` into a goal. Without this function, agents that have goals cannot start. */
  readonly goalOf?: (command: string) => Goal
}

/** Maximum characters of the list of agents, and of one description. */
const listCharacters = 8_000
const descriptionCharacters = 500

// Spec R-AGENT-1.
/** Runs a task in a subagent. The last answer of its run is the result. */
export function createAgentTool(options: AgentToolOptions): AgentTool<AgentInput> {
  const { surroundings = '', models = new Map<string, Model>() } = options
  const { definitions: described = [] } = options
  const definitions = (): readonly AgentDefinition[] =>
    withGeneral(typeof described === 'function' ? described() : described)
  const names = [...models.keys()]
  const form = inputForm<AgentInput>('Agent', {
    description: optional(text('The task in 3 to 5 words')),
    prompt: filledText('The complete task: it does not see this conversation'),
    subagent_type: optional(text(`Default: ${generalAgent.name}`)),
    model: optional(text(names.length < 2 ? 'Omit' : `Use another model: ${names.join(', ')}`)),
    run_in_background: optional(flag('Return at once; the answer follows when it ends')),
  })
  return {
    name: 'Agent',
    get description() {
      return (
        'Runs a task in a subagent and returns its final answer, which only you see. Use it for work that would fill this conversation with files ' +
        'and output, and for independent tasks: agents of one message run in parallel. ' +
        `Its answer is a claim: verify what matters. Agents:\n${listOf(definitions())}`
      )
    },
    inputSchema: form.schema,
    validate: (input) => form.validate(input),
    readOnly: false,
    concurrencySafe: true,
    models: [...new Set(models.values())],
    spawn(input, context) {
      const definition = definitionNamed(definitions(), input.subagent_type)
      const model = modelFor(input.model, definition, models)
      const mode = modeOfAgent(definition, (context.permissionMode as PermissionMode | null) ?? options.mode())
      const rules = rulesOf(definition, definitions())
      const tools = toolsOf(definition, context)
      const rulesOfAll = texts.subagentRules((name) => tools.includes(name))
      const { description, prompt, run_in_background: isBackground = definition.background } = input
      return {
        prompt,
        system: [definition.prompt, rulesOfAll, surroundings].filter((part) => part !== '').join('\n\n'),
        tools,
        agentType: definition.name,
        ...(description !== undefined && description !== '' && { description }),
        ...(model !== undefined && { model }),
        ...(mode !== undefined && { permissionMode: mode }),
        ...(rules.length > 0 && { permissionUpdates: rules }),
        ...limitsOf(definition),
        ...goalsOf(definition, options.goalOf),
        ...(isBackground === true && { background: true, note: backgroundNote(context) }),
      } satisfies ChildRun
    },
  }
}

/** @throws Error if the goals cannot be checked; the agent must not run without them. */
function goalsOf({ name, until = [] }: AgentDefinition, goalOf: AgentToolOptions['goalOf']): Pick<ChildRun, 'until'> {
  if (until.length === 0) return {}
  if (goalOf === undefined) throw new Error(texts.uncheckableGoals(name))
  return { until: until.map(goalOf) }
}

function backgroundNote({ tools }: SpawnContext): string {
  return texts.backgroundControls({
    hasTaskOutput: tools.includes('TaskOutput'),
    hasTaskStop: tools.includes('TaskStop'),
  })
}

function withGeneral(described: readonly AgentDefinition[]): readonly AgentDefinition[] {
  return described.some(({ name }) => name === generalAgent.name) ? described : [generalAgent, ...described]
}

/**
 * Lists an agent without its description if there is no room for the description: the agent can still be started. The
 * list of names is also bounded, since a folder may contain any number of agents and every request includes the list.
 */
function listOf(definitions: readonly AgentDefinition[]): string {
  let left = listCharacters
  let leftForNames = listCharacters
  const lines = definitions.flatMap(({ name, description, tools }) => {
    const short = headOf(description.replaceAll(/\s+/g, ' '), descriptionCharacters)
    const line = texts.agentLine(name, short, tools)
    left -= line.length
    if (left > 0) return line
    leftForNames -= name.length + 3
    return leftForNames > 0 ? `- ${name}` : []
  })
  if (lines.length < definitions.length) lines.push(texts.moreAgents(definitions.length - lines.length))
  return lines.join('\n')
}

/** @throws Error if no agent has this name; the error becomes the result of the call. */
function definitionNamed(definitions: readonly AgentDefinition[], wantedName: string | undefined): AgentDefinition {
  const name = wantedName === undefined || wantedName === '' ? generalAgent.name : wantedName
  const found = definitions.find((definition) => definition.name === name)
  if (found !== undefined) return found
  const known = headOf(definitions.map((definition) => definition.name).join(', '), listCharacters)
  throw new Error(texts.unknownAgent(name, known))
}

/** @throws Error for a model that the user did not allow. */
function modelFor(
  requestedName: string | undefined,
  definition: AgentDefinition,
  models: ReadonlyMap<string, Model>,
): string | undefined {
  const name = requestedName === undefined || requestedName === '' ? definition.model : requestedName
  if (name === undefined || name === 'inherit') return undefined
  const found = models.get(name)
  if (found !== undefined) return found.id
  throw new Error(texts.unknownModel(name, [...models.keys()]))
}

/** Tools that ask the user, change the session, or find tools. Only the main loop may use them. */
const ofTheSession: ReadonlySet<string> = new Set(['AskUserQuestion', 'EnterPlanMode', 'ExitPlanMode', 'ToolSearch'])

/**
 * @throws ConfigurationError for the former name of a limit. In plain JavaScript the agent would otherwise run without
 * that limit.
 */
function limitsOf(definition: AgentDefinition): Partial<ChildRun> {
  if ('maxTokens' in definition)
    throw new ConfigurationError(`maxTokens of the agent ${definition.name} is called maxTotalTokens.`)
  const { maxTurns, maxBudgetUsd, maxTotalTokens, maxDurationMs, maxToolCalls } = definition
  return {
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTotalTokens !== undefined && { maxTotalTokens }),
    ...(maxDurationMs !== undefined && { maxDurationMs }),
    ...(maxToolCalls !== undefined && { maxToolCalls }),
  }
}

/**
 * Selects the tools of an agent from those of its parent.
 * @throws Error if no tools remain, or for a name that differs only in case.
 */
function toolsOf(
  { name, tools, disallowedTools, guards = [] }: AgentDefinition,
  { tools: all }: SpawnContext,
): readonly string[] {
  for (const [field, entries = []] of Object.entries({ tools, disallowedTools })) {
    for (const entry of entries) {
      const sameLetters = all.find((tool) => tool !== entry && tool.toLowerCase() === entry.toLowerCase())
      if (sameLetters !== undefined && !all.includes(entry))
        throw new Error(texts.misspelledTool(field, name, entry, sameLetters))
    }
  }
  const has = all.filter(
    (tool) =>
      !ofTheSession.has(tool) &&
      (tools === undefined ||
        tools.some((entry) => isNamed(entry, tool) || isPatchBy(entry, tool) || isListBy(entry, tool, all))) &&
      !disallowedTools.some((entry) => isNamed(entry, tool) || (entry === 'Edit' && isPatchBy(entry, tool))),
  )
  const left = has.filter((tool) => !guards.some((guard) => matchedNames(tool).some((known) => matches(guard, known))))
  if (left.length === 0 && has.length > 0) throw new Error(texts.allToolsGuarded(name, has))
  if (has.length === 0 && tools !== undefined && tools.length > 0) throw new Error(texts.noToolAvailable(name, tools))
  return left
}

/** Whether the tool applies patches, and so replaces Edit and Write in sessions that offer it. */
function isPatchBy(entry: string, tool: string): boolean {
  return tool === patchToolName && (entry === 'Edit' || entry === 'Write')
}

const taskTools: readonly string[] = ['TaskCreate', 'TaskUpdate', 'TaskList', 'TaskGet']

// Spec R-TODO-5b.
/** Whether the tool writes the task list in place of a named tool that this session does not offer. */
function isListBy(entry: string, tool: string, all: readonly string[]): boolean {
  if (all.includes(entry)) return false
  return entry === 'TodoWrite' ? taskTools.includes(tool) : tool === 'TodoWrite' && taskTools.includes(entry)
}

/** Matches `Name`, `*`, `mcp__server` and `mcp__server__*`. */
function isNamed(entry: string, tool: string): boolean {
  if (entry === tool || entry === '*') return true
  if (!entry.startsWith('mcp__')) return false
  return entry.endsWith('*') ? tool.startsWith(entry.slice(0, -1)) : tool.startsWith(`${entry}__`)
}

/** Deny rules with parentheses, such as `Bash(git push:*)`, and agents that it may not start. */
function rulesOf(
  { disallowedTools, startsOnly }: AgentDefinition,
  all: readonly AgentDefinition[],
): readonly PermissionUpdate[] {
  const others = startsOnly === undefined ? [] : all.filter(({ name }) => !startsOnly.includes(name))
  const rules = disallowedTools.flatMap((entry) => {
    const [, toolName, ruleContent] = /^([^(]+)\((.*)\)$/s.exec(entry) ?? []
    return toolName === undefined || ruleContent === undefined ? [] : [{ toolName, ruleContent }]
  })
  rules.push(...others.map(({ name }) => ({ toolName: 'Agent', ruleContent: name })))
  return rules.length === 0 ? [] : [{ type: 'addRules', rules, behavior: 'deny', destination: 'session' }]
}
