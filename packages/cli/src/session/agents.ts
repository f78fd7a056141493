import { type AgentDefinition, createAgentTool, generalAgent, hasAgents } from '@halting/agent'
import type { AnyTool, Model } from '@halting/core'
import type { Program } from '../program.ts'
import { placesOf } from './briefing-places.ts'
import type { Models } from './models.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import { surroundingsText } from './system-prompt.ts'
import { surroundingsOf } from './surroundings.ts'
import type { Toolbox } from './toolbox.ts'

/** The subagents of a session. */
export interface SessionAgents {
  /** Starts them. */
  readonly tool: AnyTool
  readonly names: readonly string[]
  /** What a person should know: files that are broken, and what does not count. */
  readonly warnings: readonly string[]
}

type AgentModels = Pick<Models, 'model' | 'fallbackModel' | 'modelNamed'>

/**
 * The agents that the model may start; undefined where it may start none.
 * @throws UsageError for `--agents` that cannot be read.
 */
export async function agentsOf(
  run: RunSettings,
  { cwd }: Pick<Program, 'cwd'>,
  toolbox: Toolbox,
  models: AgentModels,
  briefing?: Briefing,
): Promise<SessionAgents | undefined> {
  const { permissions, workspace, mayStartAgents } = toolbox
  if (!mayStartAgents || run.flags.maxSubagents === 0) return undefined
  const { all, warnings, asked } = await definitionsOf(run, cwd, toolbox, models)
  const { redact = (shown: string) => shown } = workspace
  const definitions = all.filter(({ name }) => !isDenied(name, toolbox))
  const tool = createAgentTool({
    definitions,
    mode: () => permissions.mode,
    surroundings: [surroundingsText(surroundingsOf(toolbox)), redact(briefing?.system ?? '')]
      .filter(Boolean)
      .join('\n\n'),
    models: asked,
  })
  return { tool, names: definitions.map(({ name }) => name), warnings }
}

interface Definitions {
  readonly all: readonly AgentDefinition[]
  readonly warnings: readonly string[]
  /** Models that may be asked, by the names that people gave them. */
  readonly asked: ReadonlyMap<string, Model>
}

/** Nothing is loaded where nobody described any. */
async function definitionsOf(
  run: RunSettings,
  cwd: string,
  toolbox: Toolbox,
  models: AgentModels,
): Promise<Definitions> {
  const { model, fallbackModel } = models
  const asked = new Map([model, ...(fallbackModel === undefined ? [] : [fallbackModel])].map((one) => [one.id, one]))
  if (run.flags.agents === undefined && !hasAgents(placesOf(run, cwd)))
    return { all: [generalAgent], warnings: [], asked }
  const { readAgents } = await import('./read-agents.ts')
  return readAgents(run, cwd, toolbox, { asked, modelNamed: models.modelNamed })
}

/** An agent that a rule denies is not shown. */
function isDenied(name: string, { permissions }: Toolbox): boolean {
  const call = { type: 'tool_use', id: 'agent', name: 'Agent', input: { subagent_type: name } } as const
  const tool = { name: 'Agent', description: '', inputSchema: {}, readOnly: false, execute: () => '' }
  return permissions.denies({ call, tool, readOnly: false }) !== undefined
}
