import { ConfigurationError } from '@halting/core'
import type { SessionPorts } from './ports.ts'
import type { AgentDefinition } from '../agents/definition.ts'
import { sessionAgents, type SessionAgents } from '../agents/session-agents.ts'
import { messageOf } from '@halting/core/adapters'
import { placesOf } from './briefing-places.ts'
import { checkModelName } from './model-names.ts'
import type { Models } from './models.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

type AgentModels = Pick<Models, 'model' | 'fallbackModel' | 'modelNamed'>

/**
 * The agents that the model may start; undefined where it may start none.
 * @throws ConfigurationError for `agents` that cannot be read.
 */
export async function agentsOf(
  run: RunSettings,
  ports: Pick<SessionPorts, 'cwd' | 'nameOf'>,
  toolbox: Toolbox,
  { model, fallbackModel, modelNamed }: AgentModels,
  briefing?: Briefing,
): Promise<SessionAgents | undefined> {
  const { choices, env } = run
  const { permissions, workspace, mayStartAgents } = toolbox
  if (!mayStartAgents || choices.maxSubagents === 0) return undefined
  return sessionAgents({
    places: placesOf(run, ports.cwd),
    workspace,
    permissions,
    trustedBy: run.trustedBy,
    given: choices.agents === undefined ? [] : await givenAgents(choices.agents, ports),
    models: [model, ...(fallbackModel === undefined ? [] : [fallbackModel])],
    modelNamed(name) {
      checkModelName(name, env)
      return modelNamed(name)
    },
    instructions: briefing?.system ?? '',
  })
}

async function givenAgents(
  json: string,
  { cwd, nameOf }: Pick<SessionPorts, 'cwd' | 'nameOf'>,
): Promise<readonly AgentDefinition[]> {
  const { agentsOfJson } = await import('../instructions/index.ts')
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new ConfigurationError(
      `What ${nameOf('agents')} gives ${messageOf(thrown)}. It takes JSON: {"name": {"description": "…", "prompt": "…"}}.`,
    )
  }
}
