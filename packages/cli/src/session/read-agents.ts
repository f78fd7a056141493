import { type AgentDefinition, generalAgent, modeOfAgent } from '@halting/agent'
import { agentsOfJson, briefingTrust, readAgentDefinitions } from '@halting/agent/instructions'
import type { Model } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { oneLine } from '../io/figures.ts'
import { UsageError } from '../usage-error.ts'
import { placesOf } from './briefing-places.ts'
import { checkModelName } from './model-names.ts'
import { type RunSettings, trustedBy } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

// Loaded where somebody described agents, and only there.

interface Asked {
  readonly asked: ReadonlyMap<string, Model>
  readonly modelNamed: (name: string) => Model
}

/** @throws UsageError for `--agents` that cannot be read. */
export async function readAgents(
  run: RunSettings,
  cwd: string,
  { permissions }: Toolbox,
  { asked, modelNamed }: Asked,
): Promise<{
  readonly all: readonly AgentDefinition[]
  readonly warnings: readonly string[]
  readonly asked: ReadonlyMap<string, Model>
}> {
  const { flags, env } = run
  const places = placesOf(run, cwd)
  const trust = briefingTrust({ cwd, home: places.home, env, once: trustedBy(flags, env) })
  const given = flags.agents === undefined ? [] : givenAgents(flags.agents, cwd)
  const found = await readAgentDefinitions({
    ...places,
    given,
    trust,
    mayRead: (path) => !permissions.deniesReading(path),
  })
  const warnings = [...found.notes]
  const models = new Map(asked)
  const all = found.all.map((definition) => {
    const { name, path = '--agents', permissionMode: mode } = definition
    if (mode !== undefined && mode !== permissions.mode && modeOfAgent(definition, permissions.mode) === undefined)
      warnings.push(
        `permissionMode: ${mode} of the agent ${name} (${path}) does not count in this session: it would be looser.`,
      )
    return withModel(definition, { models, modelNamed, env, warnings })
  })
  const hasGeneral = all.some(({ name }) => name === generalAgent.name)
  return {
    all: hasGeneral ? all : [generalAgent, ...all],
    warnings: warnings.map((line) => oneLine(line, 500)),
    asked: models,
  }
}

function givenAgents(json: string, cwd: string): readonly AgentDefinition[] {
  try {
    return agentsOfJson(json, cwd)
  } catch (thrown) {
    throw new UsageError(
      `What --agents gives ${messageOf(thrown)}. It takes JSON: {"name": {"description": "…", "prompt": "…"}}.`,
    )
  }
}

interface Naming {
  readonly models: Map<string, Model>
  readonly modelNamed: (name: string) => Model
  readonly env: RunSettings['env']
  readonly warnings: string[]
}

/** Of a model that cannot be asked here it is told, and the agent has that of its parent. */
function withModel(definition: AgentDefinition, { models, modelNamed, env, warnings }: Naming): AgentDefinition {
  const { model: name, ...others } = definition
  if (name === undefined || models.has(name)) return definition
  try {
    checkModelName(name, env)
    const made = modelNamed(name)
    // The same one under another name is asked as it is.
    models.set(name, [...models.values()].find(({ id }) => id === made.id) ?? made)
    return definition
  } catch (thrown) {
    const { path = '--agents' } = definition
    warnings.push(`model: ${name} of the agent ${definition.name} (${path}) does not count: ${messageOf(thrown)}`)
    return others
  }
}
