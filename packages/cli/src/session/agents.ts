import { type AgentDefinition, sessionAgents, type SessionAgents } from '@halting/agent'
import { messageOf } from '@halting/core/adapters'
import type { Program } from '../program.ts'
import { UsageError } from '../usage-error.ts'
import { placesOf } from './briefing-places.ts'
import { checkModelName } from './model-names.ts'
import type { Models } from './models.ts'
import type { Briefing } from './read-briefing.ts'
import { type RunSettings, trustedBy } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

type AgentModels = Pick<Models, 'model' | 'fallbackModel' | 'modelNamed'>

/**
 * The agents that the model may start; undefined where it may start none.
 * @throws UsageError for `--agents` that cannot be read.
 */
export async function agentsOf(
  run: RunSettings,
  { cwd }: Pick<Program, 'cwd'>,
  toolbox: Toolbox,
  { model, fallbackModel, modelNamed }: AgentModels,
  briefing?: Briefing,
): Promise<SessionAgents | undefined> {
  const { flags, env } = run
  const { permissions, workspace, mayStartAgents } = toolbox
  if (!mayStartAgents || flags.maxSubagents === 0) return undefined
  return sessionAgents({
    places: placesOf(run, cwd),
    workspace,
    permissions,
    trustedBy: trustedBy(flags, env),
    given: flags.agents === undefined ? [] : await givenAgents(flags.agents, cwd),
    models: [model, ...(fallbackModel === undefined ? [] : [fallbackModel])],
    modelNamed(name) {
      checkModelName(name, env)
      return modelNamed(name)
    },
    instructions: briefing?.system ?? '',
  })
}

async function givenAgents(json: string, cwd: string): Promise<readonly AgentDefinition[]> {
  const { agentsOfJson } = await import('@halting/agent/instructions')
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new UsageError(
      `What --agents gives ${messageOf(thrown)}. It takes JSON: {"name": {"description": "…", "prompt": "…"}}.`,
    )
  }
}
