import type { SessionPorts } from './ports.ts'
import { hasBriefing } from '../instructions/places.ts'
import { memoryOf } from '../memory/places.ts'
import { placesOf } from './briefing-places.ts'
import type { Briefing } from './read-briefing.ts'
import type { RunSettings } from './run-settings.ts'
import type { Toolbox } from './toolbox.ts'

/** Returns undefined if there are no instructions; then nothing is loaded. */
export async function briefingOf(
  run: RunSettings,
  { cwd }: Pick<SessionPorts, 'cwd'>,
  toolbox: Toolbox,
  /** Names of the skills to offer (default: all). */
  skills?: readonly string[],
): Promise<Briefing | undefined> {
  const places = placesOf(run, cwd)
  const memory = memoryOf(places, run.settings)
  if (!hasBriefing(places) && memory === undefined) return undefined
  const { readBriefing } = await import('./read-briefing.ts')
  return readBriefing(run, places, toolbox, memory, skills)
}
