import { ConfigurationError } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { AgentDefinition } from '../agents/definition.ts'
import { sessionAgents, type SessionAgents } from '../agents/session-agents.ts'
import { messageOf } from '@halting/core/adapters'
import { placesOf } from './briefing-places.ts'
import { goalOfAgent } from './goals.ts'
import type { Models } from './models.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

type AgentModels = Pick<Models, 'model' | 'fallbackModel' | 'modelNamed' | 'checkName'>

/**
 * Returns the agents that the model may start; undefined if there are none.
 * @throws ConfigurationError for invalid `agents`.
 */
export async function agentsOf(
  run: RunSettings,
  ports: Pick<SessionPorts, 'cwd' | 'wordNotice'>,
  toolbox: Toolbox,
  { model, fallbackModel, modelNamed, checkName }: AgentModels,
  briefing?: Briefing,
): Promise<SessionAgents | undefined> {
  const { choices } = run
  const { permissions, workspace, mayStartAgents } = toolbox
  if (!mayStartAgents || choices.maxSubagents === 0) return undefined
  return sessionAgents({
    places: placesOf(run, ports.cwd),
    workspace,
    permissions,
    trustedBy: run.trustedBy,
    programAgents: choices.agents === undefined ? [] : await givenAgents(choices.agents, ports),
    models: [model, ...(fallbackModel === undefined ? [] : [fallbackModel])],
    modelNamed(name) {
      checkName?.(name)
      return modelNamed(name)
    },
    instructions: briefing?.system ?? '',
    goalOf: (command) => goalOfAgent(command, run, workspace),
  })
}

async function givenAgents(
  json: string,
  { cwd, wordNotice }: Pick<SessionPorts, 'cwd' | 'wordNotice'>,
): Promise<readonly AgentDefinition[]> {
  const { agentsOfJson } = await import('../instructions/index.ts')
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new ConfigurationError(wordNotice({ kind: 'unreadable_agents', problem: messageOf(thrown) }))
  }
}
