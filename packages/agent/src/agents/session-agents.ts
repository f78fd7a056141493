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
  /** Starts them. */
  readonly tool: AnyTool
  /** Names of the kinds of subagents. */
  readonly names: readonly string[]
  /** What people are told of each; a name of a model where it asks one of its own. */
  readonly told: readonly (Pick<AgentDefinition, 'name' | 'description' | 'level'> & {
    /** Name of its own model. */
    readonly model?: string
  })[]
  /** What a person should know: files that are broken, and what does not count. */
  readonly warnings: readonly string[]
  /** Reads what is there now; gives what a person should know. */
  read(places: BriefingPlaces): Promise<readonly string[]>
}

/** The agents that the model may start. Nothing is loaded where nobody described any. */
export async function sessionAgents(options: SessionAgentsOptions): Promise<SessionAgents> {
  const { workspace, permissions } = options
  const { redact = (shown: string) => shown } = workspace
  const shown = (all: readonly AgentDefinition[]): readonly AgentDefinition[] =>
    all
      .filter(({ name }) => !isDenied(name, permissions))
      // What people wrote for agents is shown to a model like any file.
      .map((one) => ({ ...one, description: redact(one.description), prompt: redact(one.prompt) }))
  const { all, warnings, asked } = await definitionsOf(options)
  let definitions = shown(all)
  const tool = createAgentTool({
    definitions: () => definitions,
    mode: () => permissions.mode,
    surroundings: [surroundingsText(surroundingsOf(workspace)), redact(options.instructions)]
      .filter(Boolean)
      .join('\n\n'),
    models: asked,
    ...(options.goalOf !== undefined && { goalOf: options.goalOf }),
  })
  return {
    tool,
    get names() {
      return definitions.map(({ name }) => name)
    },
    get told() {
      return definitions.map(({ name, description, level, model }) => ({
        name,
        description,
        level,
        ...(model !== undefined && { model }),
      }))
    },
    warnings,
    async read(places) {
      const now = await definitionsOf({ ...options, places, modelNamed: notThen }, asked)
      definitions = shown(now.all)
      return now.warnings
    },
  }
}

/** What a run may cost is known when it begins, by the models that it may ask. */
function notThen(): never {
  throw new Error('no agent used it when the session started')
}

async function definitionsOf(
  options: SessionAgentsOptions,
  asked: ReadonlyMap<string, Model> = new Map(options.models.map((one) => [one.id, one])),
): Promise<Definitions> {
  if (options.given.length === 0 && !hasAgents(options.places)) return { all: [generalAgent], warnings: [], asked }
  const { readAgents } = await import('./read-agents.ts')
  return readAgents(options, asked)
}

/** An agent that a rule denies is not shown. */
function isDenied(name: string, permissions: RulePermissions): boolean {
  const call = { type: 'tool_use', id: 'agent', name: 'Agent', input: { subagent_type: name } } as const
  const tool = { name: 'Agent', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  return permissions.denies({ call, tool, readOnly: false }) !== undefined
}
