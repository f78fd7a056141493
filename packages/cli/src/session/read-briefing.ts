import type { BriefingPlaces, MemoryPlace } from '@halting/agent'
import { type Briefing as AgentBriefing, type InstructionFile, readBriefing as read } from '@halting/agent/instructions'
import { counted, oneLine } from '../io/figures.ts'
import { type RunSettings, trustedBy } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** What a session is told that people wrote for agents, with what a person is told of it. */
export interface Briefing extends AgentBriefing {
  /** What was read, a line for each. */
  readonly read: readonly string[]
}

// Loaded where somebody wrote something for agents, and only there.

export async function readBriefing(
  { flags, env }: RunSettings,
  places: BriefingPlaces,
  { workspace, permissions }: Toolbox,
  memory: MemoryPlace | undefined,
  skills: readonly string[] | undefined,
): Promise<Briefing> {
  const showsSkills = wantsSkills(flags)
  const briefing = await read({
    places,
    workspace,
    permissions,
    trustedBy: trustedBy(flags, env),
    showsSkills,
    skills,
    memory,
  })
  return {
    ...briefing,
    read: [...briefing.files.map(readLine), ...(briefing.memory === undefined ? [] : [memoryLine(briefing.memory)])],
    warnings: briefing.warnings.map((line) => oneLine(line, 500)),
  }
}

function wantsSkills({ tools = ['default'] }: RunSettings['flags']): boolean {
  return tools.includes('default') || tools.includes('Skill')
}

function readLine({ path, text, importedBy }: InstructionFile): string {
  const by = importedBy === undefined ? '' : `, imported by ${oneLine(importedBy, 200)}`
  return `read ${oneLine(path, 200)} (${counted(text.length)} characters${by})`
}

function memoryLine({ path, text }: NonNullable<AgentBriefing['memory']>): string {
  return `read ${oneLine(path, 200)} and its topics (${counted(text.length)} characters)`
}
