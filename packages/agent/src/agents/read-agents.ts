import type { Goal, Model } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { briefingTrust, readAgentDefinitions } from '../instructions/index.ts'
import type { BriefingPlaces } from '../instructions/places.ts'
import type { RulePermissions } from '@halting/policy'
import type { Workspace } from '../tools/workspace.ts'
import { type AgentDefinition, generalAgent } from './definition.ts'
import { modeOfAgent } from './mode-of-agent.ts'

// Loaded where somebody described agents, and only there.

/** Options of `sessionAgents`. */
export interface SessionAgentsOptions {
  /** Where agents are described. */
  readonly places: BriefingPlaces
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The rules of the session, which bound those of agents. */
  readonly permissions: RulePermissions
  /** What trusts the folder for this session; the records decide when absent. */
  readonly trustedBy: string | false | undefined
  /** Before those of files. */
  readonly given: readonly AgentDefinition[]
  /** Models that may be asked. */
  readonly models: readonly Model[]
  /** Another one, by a name that people know. It throws for one that cannot be asked. */
  readonly modelNamed: (name: string) => Model
  /** What people wrote for all agents. */
  readonly instructions: string
  /** Makes a goal of a command that an agent's `until` has. */
  readonly goalOf?: (command: string) => Goal
}

export interface Definitions {
  readonly all: readonly AgentDefinition[]
  readonly warnings: readonly string[]
  /** Models that may be asked, by the names that people gave them. */
  readonly asked: ReadonlyMap<string, Model>
}

export async function readAgents(
  { places, permissions, trustedBy, given, modelNamed }: SessionAgentsOptions,
  asked: ReadonlyMap<string, Model>,
): Promise<Definitions> {
  const { cwd, env, home } = places
  const trust = briefingTrust({ cwd, home, env, once: trustedBy })
  const found = await readAgentDefinitions({
    ...places,
    given,
    trust,
    mayRead: (path) => !permissions.deniesReading(path),
  })
  const ofFlag = given.flatMap(({ name, notes = [] }) => notes.map((note) => `The agent ${name} (--agents): ${note}`))
  const warnings = [...ofFlag, ...found.notes]
  const models = new Map(asked)
  const all = found.all.map((definition) => {
    const { name, path = '--agents', permissionMode: mode } = definition
    if (mode !== undefined && mode !== permissions.mode && modeOfAgent(definition, permissions.mode) === undefined)
      warnings.push(
        `permissionMode: ${mode} of the agent ${name} (${path}) does not count in this session: it would be looser.`,
      )
    return withModel(definition, { models, modelNamed, warnings })
  })
  const hasGeneral = all.some(({ name }) => name === generalAgent.name)
  return { all: hasGeneral ? all : [generalAgent, ...all], warnings, asked: models }
}

interface Naming {
  readonly models: Map<string, Model>
  readonly modelNamed: (name: string) => Model
  readonly warnings: string[]
}

/** Of a model that cannot be asked here it is told, and the agent has that of its parent. */
function withModel(definition: AgentDefinition, { models, modelNamed, warnings }: Naming): AgentDefinition {
  const { model: name, ...others } = definition
  if (name === undefined || models.has(name)) return definition
  try {
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
