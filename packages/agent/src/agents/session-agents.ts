import type { AnyTool, Model } from '@halting/core'
import { surroundingsOf } from '../coding-agent/surroundings.ts'
import { surroundingsText } from '../coding-agent/system-prompt.ts'
import { type BriefingPlaces, hasAgents } from '../instructions/places.ts'
import type { RulePermissions } from '@halting/policy'
import { createAgentTool } from './agent-tool.ts'
import { type AgentDefinition, generalAgent } from './definition.ts'
import type { Definitions, SessionAgentsOptions } from './read-agents.ts'

/** The subagents of a session. */
export interface SessionAgents {
  /** The tool that starts them. */
  readonly tool: AnyTool
  /** Names of the subagent types. */
  readonly names: readonly string[]
  /** Descriptions for users; includes the model name if the agent sets a model. */
  readonly descriptions: readonly (Pick<AgentDefinition, 'name' | 'description' | 'level'> & {
    /** Name of its model. */
    readonly model?: string
  })[]
  /** Notes for the user: broken files and ignored fields. */
  readonly warnings: readonly string[]
  /** Reads the definitions again and returns notes for the user. */
  read(places: BriefingPlaces): Promise<readonly string[]>
}

/** The agents that the model may start. Loads nothing if no agents are defined. */
export async function sessionAgents(options: SessionAgentsOptions): Promise<SessionAgents> {
  const { workspace, permissions } = options
  const { redact = (shown: string) => shown } = workspace
  const redacted = (all: readonly AgentDefinition[]): readonly AgentDefinition[] =>
    all
      .filter(({ name }) => !isDenied(name, permissions))
      // Redacts agent definitions like any file that a model receives.
      .map((one) => ({ ...one, description: redact(one.description), prompt: redact(one.prompt) }))
  const { all, warnings, modelsByName } = await definitionsOf(options)
  let definitions = redacted(all)
  const tool = createAgentTool({
    definitions: () => definitions,
    mode: () => permissions.mode,
    surroundings: [surroundingsText(surroundingsOf(workspace)), redact(options.instructions)]
      .filter(Boolean)
      .join('\n\n'),
    models: modelsByName,
    ...(options.goalOf !== undefined && { goalOf: options.goalOf }),
  })
  return {
    tool,
    get names() {
      return definitions.map(({ name }) => name)
    },
    get descriptions() {
      return definitions.map(({ name, description, level, model }) => ({
        name,
        description,
        level,
        ...(model !== undefined && { model }),
      }))
    },
    warnings,
    async read(places) {
      const now = await definitionsOf({ ...options, places, modelNamed: refuseNewModel }, modelsByName)
      definitions = redacted(now.all)
      return now.warnings
    },
  }
}

/** A run's maximum cost is fixed when it starts, from the models that it may use. */
function refuseNewModel(): never {
  throw new Error('no agent used it when the session started')
}

async function definitionsOf(
  options: SessionAgentsOptions,
  modelsByName: ReadonlyMap<string, Model> = new Map(options.models.map((one) => [one.id, one])),
): Promise<Definitions> {
  if (options.programAgents.length === 0 && !hasAgents(options.places))
    return { all: [generalAgent], warnings: [], modelsByName }
  const { readAgents } = await import('./read-agents.ts')
  return readAgents(options, modelsByName)
}

/** Agents that a rule denies are not offered. */
function isDenied(name: string, permissions: RulePermissions): boolean {
  const call = { type: 'tool_use', id: 'agent', name: 'Agent', input: { subagent_type: name } } as const
  const tool = { name: 'Agent', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  return permissions.denies({ call, tool, readOnly: false }) !== undefined
}
