import type { SessionAgents } from '@halting/agent'
import type { Plugins } from '@halting/agent/instructions'
import { oneLine, told } from '../io/figures.ts'
import type { Program } from '../program.ts'
import { briefingOf } from './briefing.ts'
import { placesOf } from './briefing-places.ts'
import type { MoreTools } from './more-tools.ts'
import { pluginsOf, problemLine } from './plugins.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** What people wrote for agents, as a session has it now. */
export interface Written {
  /** Undefined where there was nothing to read. */
  briefing: Briefing | undefined
  readonly agents: SessionAgents | undefined
  plugins: Plugins
}

export interface Reading {
  readonly run: RunSettings
  readonly program: Pick<Program, 'cwd' | 'output'>
  readonly toolbox: Toolbox
  /** Names of the only skills that the model is shown. */
  readonly skills: readonly string[] | undefined
  /** Names of the tools in the options of the session. */
  readonly tools: readonly string[]
  readonly more: MoreTools
}

/** Reads commands, skills and agents anew, those of plugins too. The next request shows what is there (spec R-SKILL-2). */
export async function readAnew(written: Written, reading: Reading): Promise<void> {
  const { program, toolbox, skills, tools, more } = reading
  const plugins = await pluginsOf(reading.run.flags, program.cwd)
  const run = { ...reading.run, plugins }
  const places = placesOf(run, program.cwd)
  const { briefing, agents } = written
  const notes =
    briefing === undefined
      ? (written.briefing = await briefingOf(run, program, toolbox, skills))?.warnings
      : await briefing.prompts.read(places)
  const ofAgents = await agents?.read(places)
  written.plugins = plugins
  for (const note of [...plugins.problems.map(problemLine), ...(notes ?? []), ...(ofAgents ?? [])])
    program.output.err(told(oneLine(note, 500)))
  const prompts = written.briefing?.prompts
  const isNew = prompts !== undefined && prompts.skills.length > 0 && !tools.includes('Skill')
  more.show(isNew ? [prompts.tool] : [])
}
