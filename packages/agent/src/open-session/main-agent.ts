import { ConfigurationError } from '@halting/core'
import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { AgentDefinition } from '../agents/definition.ts'
import { limitNames } from '../agents/agent-limits.ts'
import { agentsOfJson, readAgentDefinitions } from '../agents/read-definitions.ts'
import { briefingTrust } from '../instructions/briefing-trust.ts'
import { messageOf } from '@halting/core/adapters'
import { nearest } from '../nearest.ts'
import type { LimitSources } from './chosen-limits.ts'
import { placesOf } from './briefing-places.ts'
import type { RunSettings } from './run-settings.ts'

// Loaded only if a session runs as an agent.

type AgentPorts = Pick<SessionPorts, 'cwd' | 'nameOf' | 'wordNotice'>

/**
 * Returns the settings of a session that runs as an agent: its prompt, tools, model and limits apply unless choices
 * replace them.
 * @throws ConfigurationError if the agent does not exist.
 */
export async function asAgent<Choices extends SessionChoices>(
  run: RunSettings<Choices>,
  name: string,
  ports: AgentPorts,
): Promise<RunSettings<Choices>> {
  const { choices } = run
  const { cwd } = ports
  const places = placesOf(run, cwd)
  const { all, notes } = await readAgentDefinitions({
    ...places,
    flagAgents: choices.agents === undefined ? [] : agentsFromJson(choices.agents, ports),
    trust: briefingTrust({ ...places, once: run.trustedBy }),
    mayRead: () => true,
  })
  const agent = all.find((one) => one.name === name)
  if (agent === undefined) throw noAgent(name, all, ports)
  const { choices: chosen, limitSources } = withAgent(run, agent)
  const ofAgent = notes.filter((note) => agent.path !== undefined && note.includes(agent.path))
  return { ...run, choices: chosen, limitSources, warnings: [...run.warnings, ...ofAgent] }
}

function withAgent<Choices extends SessionChoices>(
  { choices, limitSources: sources = {} }: RunSettings<Choices>,
  agent: AgentDefinition,
): { readonly choices: Choices; readonly limitSources: LimitSources } {
  const { prompt, tools, disallowedTools, model, until } = agent
  const { systemPrompt = '', ...others } = choices
  // SDKs send an empty prompt if the program sets none.
  const hasPrompt = systemPrompt !== '' || choices.systemPromptFile !== undefined
  const own: SessionChoices = {
    ...(hasPrompt ? systemPrompt !== '' && { systemPrompt } : { systemPrompt: prompt }),
    ...(tools !== undefined && !tools.includes('*') && { tools: toolsOf(tools) }),
    ...(model !== undefined && { model }),
    ...(until !== undefined && { until }),
  }
  const denied = [...(choices.disallowedTools ?? []), ...disallowedTools]
  const limits = limitsWithin(choices, sources, agent)
  return {
    // Type assertion: every choice is optional, and only choices are added.
    choices: { ...own, ...others, ...limits, ...(denied.length > 0 && { disallowedTools: denied }) } as Choices,
    limitSources: { ...sources, ...Object.fromEntries(Object.keys(limits).map((name) => [name, 'agent'])) },
  }
}

/**
 * Returns the agent's limits, unless another limit was chosen. The agent's limits may lower limits of settings, but
 * never raise them.
 */
function limitsWithin(
  choices: SessionChoices,
  sources: LimitSources,
  { maxTurns, maxBudgetUsd, maxTotalTokens: maxTokens, maxDurationMs: maxDuration, maxToolCalls }: AgentDefinition,
): SessionChoices {
  const own = { maxTurns, maxBudgetUsd, maxTokens, maxDuration, maxToolCalls } as const
  return Object.fromEntries(
    limitNames.flatMap((name) => {
      const [limit, { [name]: set = Infinity }] = [own[name], choices]
      return limit === undefined || sources[name] === 'choice' || limit >= set ? [] : [[name, limit]]
    }),
  )
}

/** Tools of servers are added with the servers. */
function toolsOf(tools: readonly string[]): readonly string[] {
  const own = tools.filter((tool) => !tool.startsWith('mcp__'))
  return own.length === 0 ? ['none'] : own
}

function agentsFromJson(json: string, { cwd, nameOf }: AgentPorts): readonly AgentDefinition[] {
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new ConfigurationError(`The value of ${nameOf('agents')} ${messageOf(thrown)}.`)
  }
}

function noAgent(
  name: string,
  all: readonly AgentDefinition[],
  { wordNotice }: Pick<SessionPorts, 'wordNotice'>,
): ConfigurationError {
  const known = all.map((one) => one.name)
  return new ConfigurationError(wordNotice({ kind: 'unknown_agent', name, nearest: nearest(name, known), known }))
}
