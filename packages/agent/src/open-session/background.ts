import type { SessionChoices } from './choices.ts'
import type { SessionPorts } from './ports.ts'
import type { BackgroundOptions } from '../tools/background.ts'
import type { Settings } from '@halting/policy/settings'
import { countFrom } from './limits.ts'

/** What becomes of commands that still run when the run would end. The flag goes first, then the settings; where nobody is there, they are waited for. */
export function backgroundOptions(
  { background }: SessionChoices,
  settings: Settings,
  env: SessionPorts['env'],
  otherwise: NonNullable<BackgroundOptions['atEnd']> = 'wait',
): Pick<BackgroundOptions, 'atEnd' | 'waitMs'> {
  const waitMs = countFrom(env, 'HALTING_BACKGROUND_WAIT_MS', 1)
  return { atEnd: background ?? settings.background ?? otherwise, ...(waitMs !== undefined && { waitMs }) }
}
