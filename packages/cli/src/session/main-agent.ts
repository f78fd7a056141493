import type { AgentDefinition } from '@halting/agent'
import { agentsOfJson, briefingTrust, readAgentDefinitions } from '@halting/agent/instructions'
import { messageOf } from '@halting/core/adapters'
import type { Flags } from '../flags/flags.ts'
import { nearest } from '../flags/nearest.ts'
import { oneLine } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { placesOf } from './briefing-places.ts'
import { type RunSettings, trustedBy } from './run-settings.ts'

// Loaded with --agent, and only then.

/**
 * The settings of a session that is an agent: its prompt, tools, model and limits stand where flags say nothing.
 * @throws UsageError where there is none of this name.
 */
export async function asAgent(run: RunSettings, name: string, { cwd }: Pick<Program, 'cwd'>): Promise<RunSettings> {
  const { flags, env } = run
  const places = placesOf(run, cwd)
  const { all, notes } = await readAgentDefinitions({
    ...places,
    given: flags.agents === undefined ? [] : given(flags.agents, cwd),
    trust: briefingTrust({ ...places, once: trustedBy(flags, env) }),
    mayRead: () => true,
  })
  const agent = all.find((one) => one.name === name)
  if (agent === undefined) throw noAgent(name, all)
  const ofAgent = notes.filter((note) => agent.path !== undefined && note.includes(agent.path))
  return { ...run, flags: withAgent(flags, agent), warnings: [...run.warnings, ...ofAgent] }
}

function withAgent(flags: Flags, agent: AgentDefinition): Flags {
  const { prompt, tools, disallowedTools, model, maxTurns, maxBudgetUsd, maxTokens, maxDurationMs } = agent
  const { systemPrompt = '', ...others } = flags
  // An empty one is what the SDKs say where nobody said anything.
  const hasPrompt = systemPrompt !== '' || flags.systemPromptFile !== undefined
  const own: Flags = {
    ...(hasPrompt ? systemPrompt !== '' && { systemPrompt } : { systemPrompt: prompt }),
    ...(tools !== undefined && !tools.includes('*') && { tools: toolsOf(tools) }),
    ...(model !== undefined && { model }),
    ...(maxTurns !== undefined && { maxTurns }),
    ...(maxBudgetUsd !== undefined && { maxBudgetUsd }),
    ...(maxTokens !== undefined && { maxTokens }),
    ...(maxDurationMs !== undefined && { maxDuration: maxDurationMs }),
  }
  const denied = [...(flags.disallowedTools ?? []), ...disallowedTools]
  return { ...own, ...others, ...(denied.length > 0 && { disallowedTools: denied }) }
}

/** Tools of servers come with the servers. */
function toolsOf(tools: readonly string[]): readonly string[] {
  const own = tools.filter((tool) => !tool.startsWith('mcp__'))
  return own.length === 0 ? ['none'] : own
}

function given(json: string, cwd: string): readonly AgentDefinition[] {
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new UsageError(`What --agents gives ${messageOf(thrown)}.`)
  }
}

function noAgent(name: string, all: readonly AgentDefinition[]): UsageError {
  const names = all.map((one) => one.name)
  const meant = nearest(name, names)
  const known = names.length === 0 ? 'There is none here.' : `There are ${names.slice(0, 20).join(', ')}.`
  return new UsageError(
    `--agent: there is no agent ${oneLine(name, 100)}.${meant === undefined ? '' : ` Did you mean ${meant}?`} ${known}`,
  )
}
