import type { Goal, Model } from '@halting/core'
import { messageOf } from '@halting/core/adapters'
import { briefingTrust, readAgentDefinitions } from '../instructions/index.ts'
import type { BriefingPlaces } from '../instructions/places.ts'
import type { RulePermissions } from '@halting/policy'
import type { Workspace } from '../tools/workspace.ts'
import { type AgentDefinition, generalAgent } from './definition.ts'
import { modeOfAgent } from './mode-of-agent.ts'

// Loaded only if agents are defined.

/** Options of `sessionAgents`. */
export interface SessionAgentsOptions {
  /** The folders with agent definitions. */
  readonly places: BriefingPlaces
  /** The workspace of the session. */
  readonly workspace: Workspace
  /** The permission rules of the session, which bound those of agents. */
  readonly permissions: RulePermissions
  /** The reason why the folder is trusted in this session. Default: the stored trust decisions apply. */
  readonly trustedBy: string | false | undefined
  /** Agents that precede those of files. */
  readonly programAgents: readonly AgentDefinition[]
  /** Models that agents may use. */
  readonly models: readonly Model[]
  /** Resolves another model by name. Throws if it cannot be used. */
  readonly modelNamed: (name: string) => Model
  /** Instructions of the user for all agents. */
  readonly instructions: string
  /** Turns a command of an agent's `until` into a goal. */
  readonly goalOf?: (command: string) => Goal
}

export interface Definitions {
  readonly all: readonly AgentDefinition[]
  readonly warnings: readonly string[]
  /** Models that agents may use, by the names that the definitions use. */
  readonly modelsByName: ReadonlyMap<string, Model>
}

export async function readAgents(
  { places, permissions, trustedBy, programAgents, modelNamed }: SessionAgentsOptions,
  asked: ReadonlyMap<string, Model>,
): Promise<Definitions> {
  const { cwd, env, home } = places
  const trust = briefingTrust({ cwd, home, env, once: trustedBy })
  const found = await readAgentDefinitions({
    ...places,
    flagAgents: programAgents,
    trust,
    mayRead: (path) => !permissions.deniesReading(path),
  })
  const ofFlag = programAgents.flatMap(({ name, notes = [] }) =>
    notes.map((note) => `The agent ${name} (--agents): ${note}`),
  )
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
  return { all: hasGeneral ? all : [generalAgent, ...all], warnings, modelsByName: models }
}

interface Naming {
  readonly models: Map<string, Model>
  readonly modelNamed: (name: string) => Model
  readonly warnings: string[]
}

/**
 * Resolves the model of a definition. If the model cannot be used, adds a warning, and the agent uses the model of its
 * parent.
 */
function withModel(definition: AgentDefinition, { models, modelNamed, warnings }: Naming): AgentDefinition {
  const { model: name, ...others } = definition
  if (name === undefined || models.has(name)) return definition
  try {
    const made = modelNamed(name)
    // A second name for the same model shares the instance.
    models.set(name, [...models.values()].find(({ id }) => id === made.id) ?? made)
    return definition
  } catch (thrown) {
    const { path = '--agents' } = definition
    warnings.push(`model: ${name} of the agent ${definition.name} (${path}) does not count: ${messageOf(thrown)}`)
    return others
  }
}
