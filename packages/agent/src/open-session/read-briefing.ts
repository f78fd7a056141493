import type { BriefingPlaces } from '../instructions/places.ts'
import type { MemoryPlace } from '../memory/places.ts'
import { type Briefing as AgentBriefing, readBriefing as read } from '../instructions/briefing.ts'
import type { InstructionFile } from '../instructions/instruction-files.ts'
import type { ToolProfile } from '@halting/policy/settings'
import type { SessionNotice } from './ports.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** The instructions of a session, with notices about what was read. */
export interface Briefing extends AgentBriefing {
  /** What was read. */
  readonly read: readonly SessionNotice[]
}

// Loaded only if there are instructions.

export async function readBriefing(
  { choices, settings, trustedBy }: RunSettings,
  places: BriefingPlaces,
  { workspace, permissions }: Toolbox,
  memory: MemoryPlace | undefined,
  skills: readonly string[] | undefined,
): Promise<Briefing> {
  const showsSkills = wantsSkills(choices, settings.toolProfile)
  const briefing = await read({
    places,
    workspace,
    permissions,
    trustedBy,
    showsSkills,
    skills,
    memory,
  })
  return {
    ...briefing,
    read: [...briefing.files.map(fileRead), ...(briefing.memory === undefined ? [] : [memoryRead(briefing.memory)])],
  }
}

function wantsSkills({ tools = ['default'] }: RunSettings['choices'], profile: ToolProfile | undefined): boolean {
  return (profile !== 'small' && tools.includes('default')) || tools.includes('Skill')
}

function fileRead({ path, text, importedBy }: InstructionFile): SessionNotice {
  return { kind: 'instructions_read', path, characters: text.length, importedBy }
}

function memoryRead({ path, text }: NonNullable<AgentBriefing['memory']>): SessionNotice {
  return { kind: 'memory_read', path, characters: text.length }
}
