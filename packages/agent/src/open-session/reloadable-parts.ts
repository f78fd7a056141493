import type { SessionPorts } from './ports.ts'
import type { SessionAgents } from '../agents/session-agents.ts'
import type { GuardCommand } from '../hooks/skill-command.ts'
import type { Plugins } from '../plugins/plugin.ts'
import { briefingOf } from './briefing.ts'
import { placesOf } from './briefing-places.ts'
import type { LateTools } from './late-tools.ts'
import { pluginsOf } from './plugins.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** The current instructions, agents and plugins of a session. */
export interface ReloadableParts {
  /** Undefined if there were no instructions. */
  briefing: Briefing | undefined
  /** Asks hooks about commands in prompt files; undefined if there are no hooks. */
  guardCommand?: GuardCommand
  readonly agents: SessionAgents | undefined
  plugins: Plugins
}

export interface ReloadContext {
  readonly run: RunSettings
  readonly ports: Pick<SessionPorts, 'cwd' | 'note' | 'wordNotice'>
  readonly toolbox: Toolbox
  /** Names of the skills to offer (default: all). */
  readonly skills: readonly string[] | undefined
  /** Names of the tools in the options of the session. */
  readonly tools: readonly string[]
  readonly more: LateTools
}

// Spec R-SKILL-2.
/** Reloads commands, skills and agents, including those of plugins. The next request uses them. */
export async function reloadParts(parts: ReloadableParts, reading: ReloadContext): Promise<void> {
  const { ports, toolbox, skills, tools, more } = reading
  const plugins = await pluginsOf(reading.run.choices, ports.cwd)
  const run = { ...reading.run, plugins }
  const places = placesOf(run, ports.cwd)
  const { briefing, agents } = parts
  const notes =
    briefing === undefined
      ? (parts.briefing = await briefingOf(run, ports, toolbox, skills))?.warnings
      : await briefing.prompts.read(places)
  parts.briefing?.prompts.guardCommands(parts.guardCommand)
  const ofAgents = await agents?.read(places)
  parts.plugins = plugins
  for (const notice of [
    ...plugins.problems.map((problem) => ({ kind: 'plugin_problem', problem }) as const),
    ...(notes ?? []).map((text) => ({ kind: 'instructions', text }) as const),
    ...(ofAgents ?? []).map((text) => ({ kind: 'agents', text }) as const),
  ])
    ports.note(ports.wordNotice(notice))
  const prompts = parts.briefing?.prompts
  const isNew = prompts !== undefined && prompts.skills.length > 0 && !tools.includes('Skill')
  more.show(isNew ? [prompts.tool] : [])
}
